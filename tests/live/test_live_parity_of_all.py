"""Parity of all approaches: one trace, in the simulator and on live nodes, notifies the same pairs in both lives."""

from __future__ import annotations

from math import hypot
from pathlib import Path
from typing import Any

import pytest
from crowds import Crowd

from thyme.approaches.registry import find_approach
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of

RANGE_M = 100.0
NODES = 5
CROWDS = {"drip": 7}
"""Brokers of DRIP are 0, 3 and 6: so nobody is as near to one as to another, or chance would decide who is a bridge."""
UNTIL_S = 160.0
STEP_M = {"dcs": 40.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "es": {"routing": "ondemand"},
    "dcs": {},
    "drip": {"brokers": 3, "likely_brokers": 1, "copies": 1},
    "socialcast": {"routing": "epidemic", "period_s": 5.0},
    "walks": {},
}


def places(approach: str) -> dict[int, Point]:
    """All in a row, and an ES server in their midst, where the simulator puts it."""
    step_m = STEP_M.get(approach, 80.0)
    found = {node: Point(node * step_m + 1.0, 20.0) for node in range(nodes(approach))}
    if find_approach(approach).capabilities.needs_server:
        found[nodes(approach)] = Point(width_m(approach) / 2.0, 20.0)
    return found


def nodes(approach: str) -> int:
    return CROWDS.get(approach, NODES)


def width_m(approach: str) -> float:
    return STEP_M.get(approach, 80.0) * nodes(approach)


def trace(approach: str) -> list[Operation]:
    can = find_approach(approach).capabilities
    operations: list[Operation] = []

    def add(node: int, kind: OperationKind, **more: Any) -> None:
        number = len(operations)
        operations.append(Operation(number, 60.0 + 6.0 * number, NodeId(node), kind, **more))

    def insert(node: int, oid: str, *tags: str) -> None:
        add(node, OperationKind.INSERT, oid=oid, tags=tags, text=oid)

    add(0, OperationKind.SUBSCRIBE, sid=0, query="goal & !replay", start_s=60.0)
    add(3, OperationKind.SUBSCRIBE, sid=0, query="goal | foul", start_s=60.0)
    insert(4, "first", "goal", "portugal")
    insert(1, "again", "goal", "replay")
    insert(2, "kick", "foul")
    if can.deletes:
        add(1, OperationKind.DELETE, oid="again")
    if can.answers_past:
        add(2, OperationKind.SUBSCRIBE, sid=0, query="goal", end_s=90.0)
    add(3, OperationKind.UNSUBSCRIBE, sid=0)
    insert(0, "second", "goal", "portugal")
    insert(2, "late", "foul")
    return operations


def expected(approach: str) -> set[tuple[str, str]]:
    can = find_approach(approach).capabilities
    found = {("0@0", "first@4"), ("0@0", "second@0"), ("0@3", "first@4"), ("0@3", "again@1"), ("0@3", "kick@2")}
    if can.answers_past:
        found.add(("0@2", "first@4"))
        if not can.deletes:
            found.add(("0@2", "again@1"))
    return found


def pairs(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["subscription"], row["object"]) for row in rows if row["kind"] == "notified"]


def simulated(approach: str, folder: Path) -> list[tuple[str, str]]:
    topology = folder / "topology.csv"
    lines = [f"{node},{place.x_m},{place.y_m}\n" for node, place in places(approach).items() if node < nodes(approach)]
    topology.write_text("node,x_m,y_m\n" + "".join(lines))
    scenario = scenario_of(
        {
            "nodes": nodes(approach),
            "approach": approach,
            "settings": SETTINGS[approach],
            "venue": {"width_m": width_m(approach), "height_m": 40.0},
            "movement": {"model": "file", "file": str(topology)},
            "radio": {"model": "disc", "range_m": RANGE_M, "loss": 0.0},
            "time": {"until_s": UNTIL_S},
        },
        "parity",
    )
    return pairs(simulate(scenario, trace(approach)).events.to_pylist())


def live(approach: str) -> list[tuple[str, str]]:
    where = places(approach)
    neighbours = {
        i: [j for j, b in where.items() if i != j and hypot(a.x_m - b.x_m, a.y_m - b.y_m) <= RANGE_M]
        for i, a in where.items()
    }
    settings = dict(SETTINGS[approach])
    if approach == "dcs":
        settings["grid"] = {"width_m": width_m(approach), "height_m": 40.0}
    if find_approach(approach).capabilities.needs_server:
        settings["servers"] = [nodes(approach)]
    return pairs(Crowd(neighbours, approach, settings, where).play(trace(approach), UNTIL_S))


@pytest.mark.parametrize("approach", SETTINGS)
def test_both_lives_notify_the_same_pairs_each_once(approach: str, tmp_path: Path) -> None:
    in_simulator, on_nodes = simulated(approach, tmp_path), live(approach)
    assert set(in_simulator) == expected(approach)
    assert set(on_nodes) == expected(approach)
    assert len(in_simulator) == len(on_nodes) == len(expected(approach))
