"""The benchmark of whole runs: CPU seconds of the Thyme papers' approaches at the papers' sizes, on the 802.11g radio.

Nodes are placed as in the papers' static evaluation and join between 10 and 20 s; from 30 s on, an insertion or a
subscription comes every two seconds from a random node. Everything is drawn from one seed, so two versions of Thyme are
measured on the same load. A short run before the clock starts pays for compilation.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.printing import table_console
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind, TrafficKind
from thyme.sim.radios.models import WifiModel
from thyme.sim.run import Run, simulate
from thyme.sim.scenario import Scenario, TimeLine

APPROACHES = ("es", "ls", "dcs")
SIZES = (36, 64, 100, 196)
SIMULATED_S = 120.0
_FIRST_S = 30.0
_GAP_S = 2.0
_QUERIES = ("a", "b", "c & !a")


class SimulationRow(msgspec.Struct, frozen=True):
    """One run: what happened at the protocols in it, and what it cost."""

    approach: str
    nodes: int
    simulated_s: float
    frames: int
    receptions: int
    actions: int
    cpu_s: float

    @property
    def events_per_s(self) -> float:
        """Frames sent, frames received and timers that rang, per second of CPU time."""
        return (self.frames + self.receptions + self.actions) / self.cpu_s


def bench_simulation(
    approaches: Sequence[str] = APPROACHES,
    sizes: Sequence[int] = SIZES,
    simulated_s: float = SIMULATED_S,
    seed: int = 1,
) -> list[SimulationRow]:
    """Measure every approach at every size, smallest first."""
    rows = []
    for approach in approaches:
        simulate(_scenario(approach, 16, 25.0, seed))
        rows += [_measure(approach, nodes, simulated_s, seed) for nodes in sorted(sizes)]
    return rows


def render(rows: Sequence[SimulationRow], console: Console | None = None) -> None:
    """Print the table."""
    lengths = ", ".join(sorted({f"{row.simulated_s:g} s" for row in rows}))
    table = Table(
        title="Whole runs: CPU seconds",
        caption=f"{lengths} simulated, 802.11g; events: frames sent, frames received, timers",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("approach", no_wrap=True)
    for heading in ("nodes", "frames", "receptions", "timers", "CPU s", "events/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        counts = (f"{count:,}" for count in (row.nodes, row.frames, row.receptions, row.actions))
        table.add_row(row.approach, *counts, f"{row.cpu_s:.2f}", f"{row.events_per_s:,.0f}")
    (console or table_console()).print(table)


def _scenario(approach: str, nodes: int, until_s: float, seed: int) -> Scenario:
    times = TimeLine(join_from_s=10.0, join_to_s=20.0, until_s=until_s)
    return Scenario(nodes=nodes, approach=approach, seed=seed, radio=WifiModel(), time=times)


def _load(nodes: int, until_s: float, seed: int) -> list[Operation]:
    draws = random.Random(seed)
    operations = []
    for number in range(max(0, int((until_s - _FIRST_S) / _GAP_S))):
        at_s, node = _FIRST_S + _GAP_S * number, NodeId(draws.randrange(nodes))
        if draws.random() < 0.3:
            query = draws.choice(_QUERIES)
            operations.append(Operation(number, at_s, node, OperationKind.SUBSCRIBE, sid=number, query=query))
        else:
            tags = tuple(sorted(draws.sample("abcd", 2)))
            text = "a line of text " * 4
            operations.append(
                Operation(number, at_s, node, OperationKind.INSERT, oid=f"o{number}", tags=tags, text=text)
            )
    return operations


def _measure(approach: str, nodes: int, simulated_s: float, seed: int) -> SimulationRow:
    run = Run(_scenario(approach, nodes, simulated_s, seed), _load(nodes, simulated_s, seed))
    began_s = time.process_time()
    result = run.go()
    cpu_s = time.process_time() - began_s
    counts = dict.fromkeys((str(TrafficKind.SENT), str(TrafficKind.RECEIVED)), 0)
    for kind, count in zip(result.events["kind"].to_pylist(), result.events["count"].to_pylist(), strict=True):
        if kind in counts:
            counts[kind] += count
    frames, receptions = counts.values()
    return SimulationRow(approach, nodes, simulated_s, frames, receptions, result.actions, cpu_s)
