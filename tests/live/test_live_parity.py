"""Parity: the same trace on the same lossless topology, in the simulator and on live nodes, notifies the same pairs."""

from __future__ import annotations

from math import hypot
from pathlib import Path
from typing import Any

import pytest
from crowds import Crowd

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of

RANGE_M = 100.0
UNTIL_S = 200.0
PLACES = ((0.0, 0.0), (90.0, 0.0), (180.0, 0.0), (180.0, 90.0), (270.0, 0.0))
"""A line of four with a branch: nodes 0 and 4 are three hops apart, node 3 hears node 2 alone."""
NEIGHBOURS = {
    i: [j for j, b in enumerate(PLACES) if i != j and hypot(a[0] - b[0], a[1] - b[1]) <= RANGE_M]
    for i, a in enumerate(PLACES)
}


def insert(number: int, at_s: float, node: int, oid: str, *tags: str, size_bytes: int = 0) -> Operation:
    kind = OperationKind.INSERT
    return Operation(number, at_s, NodeId(node), kind, oid=oid, tags=tags, text=oid, size_bytes=size_bytes)


def subscribe(
    number: int,
    at_s: float,
    node: int,
    sid: int,
    query: str,
    start_s: float | None = None,
    end_s: float | None = None,
) -> Operation:
    kind = OperationKind.SUBSCRIBE
    return Operation(number, at_s, NodeId(node), kind, sid=sid, query=query, start_s=start_s, end_s=end_s)


TRACE = (
    subscribe(0, 70.0, 0, 0, "goal & !replay", start_s=70.0),
    subscribe(1, 75.0, 3, 0, "goal | foul"),
    insert(2, 80.0, 4, "first", "goal", "portugal", size_bytes=5_000),
    insert(3, 85.0, 1, "again", "goal", "replay"),
    insert(4, 90.0, 4, "kick", "foul"),
    Operation(5, 95.0, NodeId(1), OperationKind.DELETE, oid="again"),
    subscribe(6, 100.0, 2, 0, "goal", end_s=100.0),
    subscribe(7, 105.0, 4, 0, "portugal & (goal | foul)"),
    Operation(8, 110.0, NodeId(3), OperationKind.UNSUBSCRIBE, sid=0),
    insert(9, 115.0, 0, "second", "goal", "portugal"),
    insert(10, 120.0, 2, "late", "foul"),
    subscribe(11, 125.0, 1, 0, "foul", start_s=85.0, end_s=118.0),
    *(insert(12 + i, 130.0 + 0.5 * i, 3, f"burst-{i}", "burst") for i in range(14)),
    subscribe(26, 140.0, 0, 1, "burst"),
)
"""Past, future, both and an interval; negation; deletion; unsubscription; more past matches than one batch holds."""

EXPECTED = {
    ("0@0", "first@4"),
    ("0@0", "second@0"),
    ("0@3", "first@4"),
    ("0@3", "again@1"),
    ("0@3", "kick@4"),
    ("0@2", "first@4"),
    ("0@4", "first@4"),
    ("0@4", "second@0"),
    ("0@1", "kick@4"),
    *(("1@0", f"burst-{i}@3") for i in range(14)),
}


Rows = list[dict[str, Any]]


def pairs(rows: Rows) -> list[tuple[str, str]]:
    return [(row["subscription"], row["object"]) for row in rows if row["kind"] == "notified"]


def failures(rows: Rows) -> Rows:
    return [row for row in rows if row["kind"] == "failed"]


def simulated(folder: Path, settings: dict[str, Any]) -> Rows:
    topology = folder / "topology.csv"
    lines = [f"{node},{x_m},{y_m}\n" for node, (x_m, y_m) in enumerate(PLACES)]
    topology.write_text("node,x_m,y_m\n" + "".join(lines))
    scenario = scenario_of(
        {
            "nodes": len(PLACES),
            "approach": "ls",
            "settings": settings,
            "venue": {"width_m": 300.0, "height_m": 100.0},
            "movement": {"model": "file", "file": str(topology)},
            "radio": {"model": "disc", "range_m": RANGE_M, "loss": 0.0},
            "time": {"until_s": UNTIL_S},
        },
        "parity",
    )
    rows: Rows = simulate(scenario, TRACE).events.to_pylist()
    return rows


@pytest.fixture(scope="module", params=["dsdv", "ondemand"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Rows]:
    """What happened in the simulator, and what happened on live nodes."""
    settings = {"routing": request.param}
    live = Crowd(NEIGHBOURS, "ls", settings).play(TRACE, UNTIL_S)
    return simulated(tmp_path_factory.mktemp("parity"), settings), live


def test_the_simulator_and_live_nodes_notify_the_same_pairs(both: tuple[Rows, Rows]) -> None:
    in_simulator, live = both
    assert set(pairs(in_simulator)) == EXPECTED
    assert set(pairs(live)) == EXPECTED
    assert len(pairs(live)) == len(EXPECTED), "nobody was notified twice"


def test_both_lives_record_the_same_operations(both: tuple[Rows, Rows]) -> None:
    def issued(rows: Rows) -> list[tuple[Any, ...]]:
        columns = ("operation", "node", "name", "object", "subscription", "size_bytes")
        found = [tuple(row[name] for name in columns) for row in rows if row["kind"] == "issued"]
        return sorted(row for row in found if row[2] not in ("more", "retrieve"))

    in_simulator, live = both
    assert issued(live) == issued(in_simulator)
    assert len(issued(live)) == len(TRACE)
    assert failures(live) == failures(in_simulator) == []


def test_live_users_fetch_what_they_are_notified_of(both: tuple[Rows, Rows]) -> None:
    _, live = both
    notified = {(int(subscription.partition("@")[2]), name) for subscription, name in EXPECTED}
    asked = {(row["node"], row["object"]) for row in live if row["kind"] == "issued" and row["name"] == "retrieve"}
    assert asked == notified
    fetched = [row for row in live if row["kind"] == "succeeded" and row["name"] == "retrieve"]
    assert len(fetched) == len(notified)
