"""A whole seeded run of the walks' protocol through the simulator's scenario: five walks meet, all is notified."""

from __future__ import annotations

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import Result, Run
from thyme.sim.scenario import scenario_of


def play() -> Result:
    given = {
        "nodes": 80,
        "approach": "walks",
        "venue": {"width_m": 600.0, "height_m": 600.0},
        "movement": {"model": "static"},
        "radio": {"range_m": 120.0},
        "time": {"join_from_s": 0.0, "join_to_s": 1.0, "until_s": 120.0},
        "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
    }
    asks = [
        Operation(i, 5.0 + 1.0 * i, NodeId(5 * i), OperationKind.SUBSCRIBE, sid=0, query="goal", start_s=5.0)
        for i in range(6)
    ]
    says = [
        Operation(6 + i, 60.0 + 2.0 * i, NodeId(3 + 7 * i), OperationKind.INSERT, oid=f"o{i}", tags=("goal",), text="1")
        for i in range(5)
    ]
    return Run(scenario_of(given, "test"), [*asks, *says]).go()


def test_golden_run() -> None:
    result = play()
    events = result.events.to_pandas()
    kinds = events["kind"].tolist()
    sent = events[events["kind"] == "sent"].groupby("name")["count"].sum()
    found = {kind: kinds.count(kind) for kind in ("issued", "succeeded", "failed", "notified")}
    assert (found, {str(name): int(many) for name, many in sent.items()}) == GOLDEN
    assert result.events.equals(play().events)


GOLDEN = (
    {"issued": 11, "succeeded": 11, "failed": 0, "notified": 30},
    {
        "Advertised": 133,
        "Anchored": 5,
        "Event": 111,
        "Offer": 279,
        "Present": 199,
        "Probe": 36,
        "Rested": 29,
        "WalkerMoved": 29,
        "WalkerReturned": 1,
        "WalksMet": 5,
    },
)
