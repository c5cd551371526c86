"""Crowds of hundreds of live nodes in one network, on a virtual clock: what an idle node sends, and who is notified.

Whole, unmodified nodes listen to all their addresses, as devices do by default; all are in one network, and in one cell
of Thyme-DCS. They start within a minute, each subscribes to one of two tags, some insert small objects, and then nobody
does anything.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.printing import table_console
from thyme.fuzz.live.histories import QUERIES, TAGS, History, Insert, Start, Step, Subscribe
from thyme.fuzz.live.machines import Weather
from thyme.fuzz.live.playing import Player

SIZES = (40, 100, 300)
APPROACHES = ("ls", "dcs")
STARTS_S, SUBSCRIBE_S, INSERT_S, INSERTS_S = 60.0, 90.0, 110.0, 10.0
IDLE_FROM_S = 150.0
"""Nobody has asked for anything for 30 s."""
LEAST_S = 180.0
INSERTED = 30
CONTENT_BYTES = 100
SLICE_S = 5.0
Tell = Callable[[str], None]


class CrowdRow(msgspec.Struct, frozen=True):
    approach: str
    nodes: int
    multicast: bool
    seconds: float
    peers: int
    """Of the node with the fewest."""
    idle_frames: float
    """A node and second, of all nodes; …"""
    idle_most: float
    """… and of the one that sent most."""
    frames: float
    """A node, from its start until the idle time."""
    expected: int
    notified: int
    late_s: float
    """95 % of the notifications came within this time."""
    cpu_s: float
    """Of this process, for all nodes together."""


def bench_crowds(
    sizes: Sequence[int], approaches: Sequence[str], seconds: float, *, multicast: bool = True, tell: Tell = print
) -> list[CrowdRow]:
    return [play(approach, nodes, seconds, multicast, tell) for nodes in sizes for approach in approaches]


def history_of(approach: str, nodes: int) -> History:
    draw = Random(f"crowd/{nodes}")
    steps: list[Step] = [Start(draw.uniform(0.0, STARTS_S), node) for node in range(nodes)]
    steps += [Subscribe(draw.uniform(SUBSCRIBE_S, INSERT_S - 10.0), node, node % 2) for node in range(nodes)]
    for number in range(INSERTED):
        at_s, tag = INSERT_S + draw.uniform(0.0, INSERTS_S), draw.choice(TAGS[:2])
        steps.append(Insert(at_s, draw.randrange(nodes), f"o{number}", (tag,), CONTENT_BYTES))
    return History(approach, 1, nodes, True, tuple(sorted(steps, key=lambda step: step.at_s)))


def play(approach: str, nodes: int, seconds: float, multicast: bool, tell: Tell) -> CrowdRow:
    began_s = time.process_time()
    history = history_of(approach, nodes)
    player = Player(history)
    machines = player.machines
    machines.calm = machines.weather = Weather(multicast=multicast)
    player.begin()

    def run(until_s: float) -> None:
        while machines.now_s < until_s:
            machines.run(min(until_s, machines.now_s + SLICE_S))
            spent_s = time.process_time() - began_s
            tell(f"{approach}, {nodes} nodes: {machines.now_s:.0f} s, {spent_s:.0f} s of CPU time")

    run(IDLE_FROM_S)
    before = Counter(machines.counts)
    run(max(seconds, LEAST_S))
    idle_s = machines.now_s - IDLE_FROM_S
    idle = [(machines.counts[name] - before[name]) / idle_s for name in machines.counts if name.startswith("sent by")]
    wanted = [QUERIES[one.query][1][0][0] for one in player.evidence.subscriptions]
    objects = player.evidence.objects
    expected = sum(tag in made.tags for tag in wanted for made in objects.values() if made.acknowledged_s is not None)
    inserted_s = {(step.name, step.node): step.at_s for step in history.steps if isinstance(step, Insert)}
    late_s = sorted(at_s - inserted_s[name, owner] for (_, _, name, owner), at_s in player.evidence.first_s.items())
    row = CrowdRow(
        approach,
        nodes,
        multicast,
        machines.now_s,
        min(len(device.node.device.neighbours()) if device.node else 0 for device in player.devices),
        sum(idle) / nodes,
        max(idle),
        before["sent"] / nodes,
        expected,
        len(late_s),
        late_s[int(0.95 * len(late_s))] if late_s else 0.0,
        time.process_time() - began_s,
    )
    machines.close()
    return row


def render(rows: Sequence[CrowdRow], console: Console | None = None) -> None:
    table = Table(
        title="Crowds of live nodes in one network, on a virtual clock", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for heading in ("approach", "broadcasts"):
        table.add_column(heading, no_wrap=True)
    headings = (
        "nodes",
        "seconds",
        "least peers",
        "idle frames/s",
        "most",
        "frames before",
        "notified",
        "95 % s",
        "CPU s",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.approach,
            "multicast" if row.multicast else "unicast",
            f"{row.nodes:,}",
            f"{row.seconds:,.0f}",
            f"{row.peers:,}",
            f"{row.idle_frames:.2f}",
            f"{row.idle_most:.2f}",
            f"{row.frames:,.0f}",
            f"{row.notified:,} of {row.expected:,}",
            f"{row.late_s:.2f}",
            f"{row.cpu_s:,.0f}",
        )
    (console or table_console()).print(table)
