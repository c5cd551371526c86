"""Whole live nodes in the simulator's 802.11g channel beside the plain simulation of the same scene.

20 nodes in 80 × 80 m, all in range of each other, subscribe to one tag, and insert objects of 300 bytes. Both sides
have the same places, operations and settings, those of live nodes; the plain simulation charges messages the size of
signed ones. What live nodes add is sealing, sessions, greetings, acknowledgements above those of the radio, and a disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.printing import table_console
from thyme.approaches.entry import with_defaults
from thyme.approaches.registry import find_approach
from thyme.fuzz.live.histories import AREA_M, CELL_M, History, Insert, Start, Step, Subscribe
from thyme.fuzz.live.playing import Player
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind, TrafficKind
from thyme.sim.radios.radio import RadioTotals
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of
from thyme.world.mobility.placement import write_topology

APPROACHES = ("ls", "dcs")
RATES = (0.5, 2.0, 8.0)
"""Insertions a second, of all nodes together."""
NODES = 20
SUBSCRIBE_S, INSERT_S, STOP_S, UNTIL_S = 20.0, 30.0, 60.0, 90.0
CONTENT_BYTES = 300
TAG = "a"


class ChannelRow(msgspec.Struct, frozen=True):
    approach: str
    stack: str
    per_s: float
    notified: float
    """Share of the notifications that a perfect crowd would have given."""
    median_s: float
    late_s: float
    """95 % of those that came took less."""
    frames: int
    """That the radios sent, acknowledgements and repetitions included."""
    sent_bytes: int
    collided: int
    """Receptions that failed for noise or another frame."""


def bench_channel(approaches: Sequence[str] = APPROACHES, rates: Sequence[float] = RATES) -> list[ChannelRow]:
    return [play(approach, per_s) for approach in approaches for per_s in rates for play in (_live, _plain)]


def render(rows: Sequence[ChannelRow], console: Console | None = None) -> None:
    table = Table(
        title="Live nodes in a simulated 802.11g channel",
        caption=f"{NODES} nodes in range of each other; {STOP_S - INSERT_S:g} s of insertions of {CONTENT_BYTES} bytes",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("approach", "stack"):
        table.add_column(heading, no_wrap=True)
    for heading in ("inserted/s", "notified", "median s", "95 % s", "frames", "MB", "lost receptions"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.approach,
            row.stack,
            f"{row.per_s:g}",
            f"{100 * row.notified:.1f} %",
            f"{row.median_s:.3f}",
            f"{row.late_s:.3f}",
            f"{row.frames:,}",
            f"{row.sent_bytes / 1e6:.2f}",
            f"{row.collided:,}",
        )
    (console or table_console()).print(table)


def _places() -> tuple[tuple[float, float], ...]:
    draw = Random("places")
    return tuple((draw.uniform(0.0, AREA_M), draw.uniform(0.0, AREA_M)) for _ in range(NODES))


def _insertions(per_s: float) -> list[tuple[float, int, str]]:
    """When, where and what."""
    draw = Random(f"insertions/{per_s}")
    count = int((STOP_S - INSERT_S) * per_s)
    return [(draw.uniform(INSERT_S, STOP_S), draw.randrange(NODES), f"o{i}") for i in range(count)]


def _row(
    approach: str, stack: str, per_s: float, delays_s: Sequence[float], totals: Sequence[RadioTotals]
) -> ChannelRow:
    sent = [one for one in totals if one.traffic is TrafficKind.PHY_SENT]
    lost = [one for one in totals if one.traffic is TrafficKind.PHY_LOST]
    return ChannelRow(
        approach,
        stack,
        per_s,
        len(delays_s) / (NODES * len(_insertions(per_s))),
        float(np.median(delays_s)),
        float(np.quantile(delays_s, 0.95)),
        sum(sum(one.counts) for one in sent),
        sum(sum(one.sizes_bytes) for one in sent),
        sum(sum(one.counts) for one in lost),
    )


def _live(approach: str, per_s: float) -> ChannelRow:
    inserted = _insertions(per_s)
    steps: list[Step] = [
        *(Start(0.5 * node, node) for node in range(NODES)),
        *(Subscribe(SUBSCRIBE_S + 0.1 * node, node, 0) for node in range(NODES)),
        *(Insert(at_s, node, oid, (TAG,), CONTENT_BYTES) for at_s, node, oid in inserted),
    ]
    ordered = tuple(sorted(steps, key=lambda step: step.at_s))
    player = Player(History(approach, 1, NODES, False, ordered, places=_places(), radio=True))
    player.begin()
    player.machines.run(UNTIL_S)
    player.machines.close()
    at_s = {(oid, node): at_s for at_s, node, oid in inserted}
    delays_s = [told_s - at_s[oid, owner] for (_, _, oid, owner), told_s in player.told_s.items()]
    assert player.channel is not None
    return _row(approach, "live", per_s, delays_s, player.channel.traffic())


def _plain(approach: str, per_s: float) -> ChannelRow:
    subscribed = [
        Operation(node, SUBSCRIBE_S + 0.1 * node, NodeId(node), OperationKind.SUBSCRIBE, sid=node, query=TAG)
        for node in range(NODES)
    ]
    inserted = [
        Operation(
            NODES + number, at_s, NodeId(node), OperationKind.INSERT, oid=oid, tags=(TAG,), text="." * CONTENT_BYTES
        )
        for number, (at_s, node, oid) in enumerate(sorted(_insertions(per_s)))
    ]
    settings = with_defaults({}, find_approach(approach).entry.live_defaults)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "places.csv"
        write_topology(file, np.array(_places()))
        given = {
            "nodes": NODES,
            "approach": approach,
            "settings": settings,
            "signed": True,
            "venue": {"width_m": AREA_M, "height_m": AREA_M, "cell_m": CELL_M},
            "movement": {"model": "file", "file": str(file)},
            "radio": {"model": "wifi"},
            "disk": {"commit_s": 0.005},
            "time": {"join_from_s": 0.0, "join_to_s": 0.5 * NODES, "until_s": UNTIL_S},
            "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
        }
        run = Run(scenario_of(given, "benchmark"), [*subscribed, *inserted])
        result = run.go()
    kinds, values = (result.events[name].to_pylist() for name in ("kind", "value"))
    delays_s = [value for kind, value in zip(kinds, values, strict=True) if kind == "notified"]
    return _row(approach, "plain", per_s, delays_s, run.world.radio.traffic())
