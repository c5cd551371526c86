"""Thyme-ES: a server that fails, alone or with another beside it (FGCS §8, §9.3.2)."""

from __future__ import annotations

from typing import Any

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of

NODES = 9
FIRST_SERVER = NODES


def play(servers: int, **churn: Any) -> list[dict[str, Any]]:
    """One insertion before 100 s and one after, each with a subscription for it; what the first server does between
    is the churn's."""
    given = {
        "nodes": NODES,
        "approach": "es",
        "settings": {"routing": "ondemand"},
        "servers": servers,
        "radio": {"model": "disc"},
        "churn": {"nodes": [FIRST_SERVER], **churn},
        "time": {"join_from_s": 1.0, "join_to_s": 5.0, "until_s": 300.0},
    }
    operations = [
        Operation(0, 50.0, NodeId(1), OperationKind.INSERT, oid="before", tags=("goal",), text="one"),
        Operation(1, 150.0, NodeId(2), OperationKind.SUBSCRIBE, sid=1, query="goal", start_s=0.0, end_s=1000.0),
        Operation(2, 200.0, NodeId(3), OperationKind.INSERT, oid="after", tags=("goal",), text="two"),
    ]
    rows: list[dict[str, Any]] = simulate(scenario_of(given, "test"), operations).events.to_pylist()
    return rows


def outcomes(rows: list[dict[str, Any]]) -> dict[int, str]:
    ended = [row for row in rows if row["kind"] in {"succeeded", "failed"} and row["operation"] < 3]
    return {row["operation"]: row["reason"] or row["kind"] for row in ended}


def notified(rows: list[dict[str, Any]]) -> set[str]:
    return {row["object"] for row in rows if row["kind"] == "notified"}


def test_without_its_only_server_every_operation_times_out() -> None:
    rows = play(1, model="crash", from_s=100.0)
    assert outcomes(rows) == {0: "succeeded", 1: "timeout", 2: "timeout"}
    assert notified(rows) == set()


def test_a_second_server_carries_on_with_all_that_the_first_one_knew() -> None:
    rows = play(2, model="crash", from_s=100.0)
    assert outcomes(rows) == {0: "succeeded", 1: "succeeded", 2: "succeeded"}
    assert notified(rows) == {"before@1", "after@3"}


def test_a_server_that_was_switched_off_finds_its_store_again() -> None:
    alternation = {"on_s": 60.0, "off_s": 60.0, "change_probability": 1.0, "spread": False}
    rows = play(1, model="alternate", **alternation)
    # Off from 65 to 125 s and from 185 to 245 s: the second insertion meets a server that is off.
    assert outcomes(rows) == {0: "succeeded", 1: "succeeded", 2: "timeout"}
    assert notified(rows) == {"before@1"}
