"""A scenario whose statements are signed sends more bytes and shares the same."""

from __future__ import annotations

import pytest

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of

SUBSCRIBE = Operation(0, 60.0, NodeId(1), OperationKind.SUBSCRIBE, sid=1, query="goal")
INSERT = Operation(1, 70.0, NodeId(2), OperationKind.INSERT, oid="first", tags=("goal",), text="one")
END = Operation(2, 80.0, NodeId(1), OperationKind.UNSUBSCRIBE, sid=1)
LATER = Operation(3, 90.0, NodeId(2), OperationKind.INSERT, oid="second", tags=("goal",), text="two")


DELETE = Operation(4, 100.0, NodeId(2), OperationKind.DELETE, oid="first")
SEARCH = Operation(5, 160.0, NodeId(3), OperationKind.SUBSCRIBE, sid=1, query="goal")


@pytest.mark.parametrize("approach", ["es", "ls", "dcs", "drip", "walks", "socialcast"])
def test_a_signed_deletion_is_believed_by_all(approach: str) -> None:
    given = {"nodes": 4, "approach": approach, "signed": True, "time": {"until_s": 300.0}}
    events = simulate(scenario_of(given, "test"), [INSERT, LATER, DELETE, SEARCH]).events.to_pylist()
    notified = [event["object"] for event in events if event["kind"] == "notified"]
    assert notified == ["second@2"]
    assert not [event for event in events if event["kind"] == "dropped" and event["reason"] == "forged"]


@pytest.mark.parametrize("approach", ["es", "ls", "dcs", "drip", "walks"])
def test_signed_statements_take_room_and_change_nothing_else(approach: str) -> None:
    notified, sent_bytes = {}, {}
    for signed in (False, True):
        given = {"nodes": 4, "approach": approach, "signed": signed, "time": {"until_s": 120.0}}
        events = simulate(scenario_of(given, "test"), [SUBSCRIBE, INSERT, END, LATER]).events.to_pylist()
        notified[signed] = [event["object"] for event in events if event["kind"] == "notified"]
        sent_bytes[signed] = sum(event["size_bytes"] for event in events if event["kind"] == "sent")
    assert notified[True] == notified[False] != []
    assert sent_bytes[True] > sent_bytes[False] + 96
