"""Whole seeded runs of DRIP through the simulator's scenario."""

from __future__ import annotations

from typing import Any

import pytest

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import Result, Run
from thyme.sim.scenario import scenario_of


def play(**settings: Any) -> Result:
    given = {
        "nodes": 40,
        "approach": "drip",
        "settings": {"brokers": 6, "likely_brokers": 2, "copies": 2, **settings},
        "venue": {"width_m": 450.0, "height_m": 450.0},
        "movement": {
            "model": "waypoint",
            "min_speed_mps": 10.0,
            "max_speed_mps": 20.0,
            "min_pause_s": 2.0,
            "max_pause_s": 4.0,
        },
        "radio": {"range_m": 120.0},
        "time": {"join_from_s": 0.0, "join_to_s": 1.0, "until_s": 90.0},
        "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
    }
    asks = [
        Operation(i, 12.0 + 0.1 * i, NodeId(2 * i), OperationKind.SUBSCRIBE, sid=0, query="goal", start_s=12.0)
        for i in range(20)
    ]
    says = [
        Operation(20 + i, 25.0 + 2.0 * i, NodeId(3 * i), OperationKind.INSERT, oid=f"o{i}", tags=("goal",), text="1")
        for i in range(12)
    ]
    return Run(scenario_of(given, "test"), [*asks, *says]).go()


def counts(result: Result) -> dict[str, int]:
    kinds = result.events["kind"].to_pylist()
    return {kind: kinds.count(kind) for kind in ("issued", "succeeded", "failed", "notified", "moved")}


@pytest.mark.parametrize("relay", ["mcmd", "sf"])
def test_a_moving_crowd_is_notified_and_the_run_repeats_itself(relay: str) -> None:
    result = play(relay=relay)
    found = counts(result)
    assert (found["issued"], found["succeeded"], found["failed"]) == (32, 32, 0)
    assert found["notified"] >= (228 if relay == "sf" else 200), "of 240"
    assert result.events.equals(play(relay=relay).events)


GOLDEN = {
    "mcmd": (620, 0.242151, {"Presence": 1872, "Relay": 432, "RegionEvent": 407, "Routed": 2317}),
    "mcmd, copies only": (598, 0.860357, {"Presence": 1861, "Relay": 430, "RegionEvent": 368, "Routed": 2152}),
    "sf": (607, 1.345782, {"Presence": 1862, "Relay": 153, "RegionEvent": 387, "Routed": 1725}),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden_run(case: str) -> None:
    moved, delay_s, frames = GOLDEN[case]
    result = play(relay=case.split(",")[0], passing="copies" if "copies" in case else "interested")
    events = result.events.to_pandas()
    sent = events[events["kind"] == "sent"].groupby("name")["count"].sum()
    assert counts(result) == {"issued": 32, "succeeded": 32, "failed": 0, "notified": 240, "moved": moved}
    assert round(float(events[events["kind"] == "notified"]["value"].mean()), 6) == delay_s
    assert {name: int(sent[name]) for name in frames} == frames
