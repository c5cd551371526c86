"""The benchmark of the walk kernels: networks and overlays per second of CPU time, and what §VI costs in all.

A sample of networks is drawn for each size, and on each of them every initiator count of the paper once, with
directional and with pure walks. The cost of the whole evaluation follows by counting: 100 networks per size,
ten draws of every count. Compilation happens before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.printing import table_console
from thyme.papers.walks.batch import (
    PAPER_DRAWS,
    PAPER_INITIATORS,
    PAPER_NETWORKS,
    BatchOptions,
    run_on_graph,
)
from thyme.papers.walks.graph import draw_graph
from thyme.papers.walks.readings import WalkOptions

WANTED_MINUTES = 30.0
SAMPLE_NETWORKS = 10


class WalksRow(msgspec.Struct, frozen=True):
    """One size and kind: rates per second of CPU time; a walk is one initiator's, an overlay one simulation."""

    nodes: int
    kind: str
    networks_per_s: float
    overlays_per_s: float
    walks_per_s: float
    evaluation_minutes: float


def bench_walks(networks: int = SAMPLE_NETWORKS, seed: int = 1) -> list[WalksRow]:
    rows = []
    for nodes, counts in PAPER_INITIATORS.items():
        run_on_graph(draw_graph(nodes, 0, seed), 0, (2,), 1)
        start_s = time.process_time()
        graphs = [draw_graph(nodes, network, seed) for network in range(networks)]
        graph_s = (time.process_time() - start_s) / networks
        for pure in (False, True):
            batch = BatchOptions(seed=seed, walk=WalkOptions(pure=pure))
            start_s = time.process_time()
            for network, graph in enumerate(graphs):
                run_on_graph(graph, network, counts, 1, batch)
            sweep_s = (time.process_time() - start_s) / networks
            rows.append(
                WalksRow(
                    nodes=nodes,
                    kind="PRW" if pure else "DRW",
                    networks_per_s=1.0 / graph_s,
                    overlays_per_s=len(counts) / sweep_s,
                    walks_per_s=sum(counts) / sweep_s,
                    evaluation_minutes=PAPER_NETWORKS * (graph_s / 2 + PAPER_DRAWS * sweep_s) / 60.0,
                )
            )
    return rows


def render(rows: Sequence[WalksRow], console: Console | None = None) -> None:
    """Print the table and the cost of the whole evaluation."""
    console = console or table_console()
    table = Table(
        title="Walks: rates per second of CPU time",
        caption="networks: connected graphs drawn; overlays: simulations; minutes: of the whole evaluation",
        box=SIMPLE_HEAD,
    )
    for heading in ("nodes", "kind", "networks/s", "overlays/s", "walks/s", "minutes"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            f"{row.nodes:,}",
            row.kind,
            f"{row.networks_per_s:,.0f}",
            f"{row.overlays_per_s:,.0f}",
            f"{row.walks_per_s:,.0f}",
            f"{row.evaluation_minutes:.2f}",
        )
    console.print(table)
    total = sum(row.evaluation_minutes for row in rows)
    console.print(f"all 126,000 overlays of the evaluation: {total:.1f} CPU minutes (wanted: {WANTED_MINUTES:.0f})")
