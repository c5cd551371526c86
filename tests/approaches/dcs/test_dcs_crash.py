"""Thyme-DCS when many devices crash in one instant, in the middle of insertions, over a lossy radio."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import Run
from thyme.sim.scenario import Scenario, scenario_of

CRASH_S = 60.0
NODES = 24
TAGS = [f"tag{i}" for i in range(20)]


def crash_of_a_third(seed: int, **settings: Any) -> Scenario:
    given = {
        "nodes": NODES,
        "seed": seed,
        "approach": "dcs",
        "settings": {"past_matches": 1000, **settings},
        "radio": {"model": "disc", "range_m": 113.0, "loss": 0.2},
        "churn": {"model": "crash", "fraction": 0.3, "keep_cells": True, "from_s": CRASH_S},
        "time": {"join_from_s": 2.0, "join_to_s": 10.0, "until_s": 120.0},
    }
    return scenario_of(given, "test")


def insertions_until_the_crash(draws: Random) -> list[Operation]:
    operations: list[Operation] = []
    at_s = CRASH_S - 20.0 + draws.expovariate(20.0)
    while at_s < CRASH_S:
        number = len(operations)
        tags = tuple(sorted(draws.sample(TAGS, 2)))
        node = NodeId(draws.randrange(NODES))
        kind = OperationKind.INSERT
        operations.append(Operation(number, at_s, node, kind, oid=f"o{number}", tags=tags, text=f"text {number}"))
        at_s += draws.expovariate(20.0)
    return operations


def searches_after_the_crash(first: int, survivors: list[int], draws: Random) -> list[Operation]:
    """A survivor asks for all that was published under each tag, and retrieves it."""
    return [
        Operation(
            first + i,
            CRASH_S + 15.0 + i,
            NodeId(draws.choice(survivors)),
            OperationKind.SUBSCRIBE,
            sid=100 + i,
            query=tag,
            start_s=0.0,
            end_s=1000.0,
        )
        for i, tag in enumerate(TAGS)
    ]


def acknowledged_and_retrieved(seed: int, **settings: Any) -> tuple[set[str], set[str]]:
    """The objects whose insertion was acknowledged before the crash, and those that survivors could retrieve."""
    draws = Random(seed)
    scenario = crash_of_a_third(seed, **settings)
    gone = {change.node for change in Run(scenario).churn.changes}
    assert len(gone) == pytest.approx(0.3 * NODES, abs=1)
    insertions = insertions_until_the_crash(draws)
    survivors = [node for node in range(NODES) if node not in gone]
    searches = searches_after_the_crash(len(insertions), survivors, draws)
    rows = Run(scenario, [*insertions, *searches]).go().events.to_pylist()
    issued = {row["operation"]: row["object"] for row in rows if row["kind"] == "issued"}
    acknowledged: set[str] = set()
    retrieved: set[str] = set()
    for row in rows:
        if row["kind"] == "succeeded" and row["name"] == "insert" and row["at_s"] <= CRASH_S:
            acknowledged.add(str(insertions[row["operation"]].object_key))
        if row["kind"] == "succeeded" and row["name"] == "retrieve":
            retrieved.add(issued[row["operation"]])
    return acknowledged, retrieved


SEEDS = (0, 1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_acknowledged_object_is_lost_while_every_cell_keeps_a_member(seed: int) -> None:
    acknowledged, retrieved = acknowledged_and_retrieved(seed)
    assert len(acknowledged) > 300
    assert acknowledged <= retrieved


def test_without_acknowledged_copies_and_repair_some_objects_are_lost() -> None:
    acknowledged, retrieved = acknowledged_and_retrieved(0, paper=True)
    assert acknowledged - retrieved
