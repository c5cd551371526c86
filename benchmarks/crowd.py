"""The benchmark of large Thyme-DCS crowds: what one device sends as the crowd grows, and what simulating it costs.

There are two nodes per cell, on the 802.11g radio. The load per node is the same at every size: each inserts an object
with two tags a minute, on average, and every second node subscribes to a tag, past and future. There are half as many
tags as nodes, so the matches of a subscription do not grow with the crowd; what grows is the distance between cells.
Every notified object is retrieved. Recall is checked against the matching index. Each size runs in a process of its
own, which reports its CPU time and peak memory.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from random import Random

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.printing import table_console
from thyme.model.frames import TimeFrame
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.matching import MatchingIndex
from thyme.model.objects import Metadata
from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.grid import Grid
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of

SIZES = (196, 500, 1_000, 2_000)
JOINED_S = 30.0
ASKED_S = 60.0
"""How long users are at work."""
SETTLED_S = 30.0
"""How long the run continues after the last operation."""
INSERT_EVERY_S = 60.0
WALKING = {
    "model": "waypoint",
    "min_speed_mps": 1.0,
    "max_speed_mps": 1.0,
    "min_pause_s": 30.0,
    "max_pause_s": 120.0,
}
"""All nodes walk to a random place at 1 m/s, pause, and walk on."""
_TEXT = "a line of some forty letters, as posts are. "


class CrowdRow(msgspec.Struct, frozen=True):
    """One crowd: what it did, what each node sent, and what it cost to simulate."""

    nodes: int
    simulated_s: float
    operations: int
    succeeded: float
    """Share of operations, retrievals among them, that succeeded."""
    recall: float
    frames: int
    sent_bytes_per_s: float
    """What a node puts on the air in a second, on average, headers and acknowledgements included."""
    busiest: float
    """The most that one node sent, over the mean."""
    busiest_cell: float
    """The most that the nodes of one cell sent, over the mean of all cells in which there are nodes; by where they were
    in the middle of the run."""
    cpu_s: float
    peak_mb: float


def bench_crowd(
    sizes: Sequence[int] = SIZES, seed: int = 1, tell: Callable[[int], None] = lambda nodes: None, walking: bool = False
) -> list[CrowdRow]:
    """Measure every size, smallest first."""
    rows = []
    for nodes in sorted(sizes):
        tell(nodes)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows.append(pool.submit(measure, nodes, seed, walking).result())
    return rows


def measure(nodes: int, seed: int, walking: bool = False) -> CrowdRow:
    until_s = JOINED_S + ASKED_S + SETTLED_S
    scenario = scenario_of(
        {
            "nodes": nodes,
            "seed": seed,
            "approach": "dcs",
            "radio": {"model": "wifi"},
            "movement": WALKING if walking else {"model": "static"},
            "time": {"join_from_s": 0.0, "join_to_s": JOINED_S / 2, "until_s": until_s},
        },
        "crowd",
    )
    operations = load(nodes, seed)
    run = Run(scenario, operations)
    began_s = time.process_time()
    events = run.go().events
    cpu_s = time.process_time() - began_s
    kinds = Counter(events["kind"].to_pylist())
    sent = events.filter(pc.equal(events["kind"], str(TrafficKind.PHY_SENT)))
    sums = sent.group_by("node").aggregate([("size_bytes", "sum")])
    by_node, by_cell = sums["size_bytes_sum"].to_pylist(), _by_cell(run, sums)
    return CrowdRow(
        nodes,
        until_s,
        kinds["issued"],
        kinds["succeeded"] / max(1, kinds["issued"]),
        _recall(operations, events),
        int(pc.sum(sent["count"]).as_py() or 0),
        sum(by_node) / nodes / until_s,
        max(by_node) * nodes / sum(by_node),
        max(by_cell) * len(by_cell) / sum(by_cell),
        cpu_s,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _by_cell(run: Run, sums: pa.Table) -> list[int]:
    """What was sent in each cell."""
    area = run.scenario.area()
    grid = Grid(area.width_m, area.height_m, area.cell_m)
    places = run.movement.positions(run.scenario.time.until_s / 2.0).tolist()
    by_cell: Counter[int] = Counter()
    for node, size_bytes in zip(sums["node"].to_pylist(), sums["size_bytes_sum"].to_pylist(), strict=True):
        by_cell[grid.cell_of(Point(*places[node]))] += size_bytes
    return list(by_cell.values())


def load(nodes: int, seed: int) -> list[Operation]:
    draws = Random(seed)
    tags = [f"tag{i}" for i in range(max(2, nodes // 2))]
    asked: list[tuple[float, int, str]] = []
    for node in range(nodes):
        if node % 2 == 0:
            asked.append((JOINED_S + draws.uniform(0.0, ASKED_S), node, "subscribe"))
        at_s = draws.expovariate(1.0 / INSERT_EVERY_S)
        while at_s < ASKED_S:
            asked.append((JOINED_S + at_s, node, "insert"))
            at_s += draws.expovariate(1.0 / INSERT_EVERY_S)
    operations = []
    for number, (at_s, node, kind) in enumerate(sorted(asked)):
        by = NodeId(node)
        if kind == "insert":
            under = tuple(sorted(draws.sample(tags, 2)))
            new = Operation(number, at_s, by, OperationKind.INSERT, oid=f"o{number}", tags=under, text=_TEXT)
        else:
            new = Operation(
                number, at_s, by, OperationKind.SUBSCRIBE, sid=number, query=draws.choice(tags), start_s=0.0
            )
        operations.append(new)
    return operations


def _recall(operations: Sequence[Operation], events: pa.Table) -> float:
    index = MatchingIndex()
    wanted: set[tuple[str, str]] = set()
    for operation in operations:
        if operation.kind is OperationKind.INSERT:
            metadata = Metadata(operation.object_key, operation.tags, b"", operation.at_s, len(_TEXT))
            wanted |= {(str(found.key), str(metadata.key)) for found in index.insert(metadata)}
        else:
            frame = TimeFrame(operation.start_s, operation.end_s)
            subscription = Subscription(operation.subscription_key, parse_query(operation.query).dnf(), frame)
            batch = index.subscribe(subscription, len(operations))
            wanted |= {(str(subscription.key), str(match.key)) for match in batch.matches}
    told = events.filter(pc.equal(events["kind"], "notified"))
    got = set(zip(told["subscription"].to_pylist(), told["object"].to_pylist(), strict=True))
    return len(got & wanted) / max(1, len(wanted))


def render(rows: Sequence[CrowdRow], console: Console | None = None) -> None:
    """Print the table."""
    table = Table(
        title="Thyme-DCS crowds, two nodes per cell, 802.11g",
        caption=f"{JOINED_S + ASKED_S + SETTLED_S:g} s simulated; B/s: all that a node puts on the air; "
        "node, cell: the busiest, over the mean",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("nodes", "ops", "ok", "recall", "frames", "B/s", "node", "cell", "CPU s", "peak MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            f"{row.nodes:,}",
            f"{row.operations:,}",
            f"{row.succeeded:.4f}",
            f"{row.recall:.4f}",
            f"{row.frames:,}",
            f"{row.sent_bytes_per_s:,.0f}",
            f"{row.busiest:.1f}×",
            f"{row.busiest_cell:.1f}×",
            f"{row.cpu_s:.0f}",
            f"{row.peak_mb:,.0f}",
        )
    (console or table_console()).print(table)
