"""A broadcast is received by many nodes with one call, and nothing else is different."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from thyme.approaches.interface import ReactiveStore
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind, TrafficKind
from thyme.sim.reception import BroadcastReception
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of

pytestmark = pytest.mark.compiled


def world(approach: str, **more: Any) -> Run:
    times = {"until_s": 60.0, "join_from_s": 5.0, "join_to_s": 10.0}
    given: dict[str, Any] = {"nodes": 16, "approach": approach, "time": times, "clock_skew_s": 0.2, **more}
    if approach in ("es", "ls"):
        given["settings"] = {"routing": "dsdv"}
    kinds = (OperationKind.INSERT, OperationKind.SUBSCRIBE)
    operations = [
        Operation(i, 15.0 + i, NodeId(i % 16), kinds[i % 2], sid=i, oid=f"o{i}", query="a", tags=("a",), text="t")
        for i in range(30)
    ]
    return Run(scenario_of(given, "test"), operations)


RADIOS = ({"loss": 0.1}, {"model": "wifi"})
CHURN = {"model": "alternate", "fraction": 0.3}


@pytest.mark.parametrize("radio", RADIOS, ids=("disc", "wifi"))
@pytest.mark.parametrize("approach", ["ls", "es", "dcs"])
def test_received_together_or_one_by_one_is_the_same(
    approach: str, radio: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    receive = BroadcastReception.receive

    def counted(reception: BroadcastReception, *told: Any) -> None:
        nonlocal calls
        calls += 1
        receive(reception, *told)

    monkeypatch.setattr(BroadcastReception, "receive", counted)
    together = world(approach, radio=radio, churn=CHURN).go().events
    assert calls > 50
    monkeypatch.setattr(BroadcastReception, "together", False)
    before = calls
    apart = world(approach, radio=radio, churn=CHURN).go().events
    assert calls == before
    assert together.equals(apart)


def received(events: pa.Table, name: str) -> int:
    rows = events.to_pylist()
    return sum(row["count"] for row in rows if row["kind"] == TrafficKind.RECEIVED and row["name"] == name)


def test_where_one_node_has_no_handlers_all_receive_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    run = world("ls")
    whole = world("ls").go().events

    def deaf(*_: Any) -> tuple[()]:
        return ()

    monkeypatch.setattr(BroadcastReception, "receive", None)
    host = run.world.hosts[3]
    store: ReactiveStore = run.stores[3]
    host.begin_life(store.receive, deaf)
    events = run.go().events
    assert received(events, "TableUpdate") == received(whole, "TableUpdate") > 0
