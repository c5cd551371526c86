"""Troubles of a scenario: clocks that differ, radio queues that are full, and people who are switched by a list."""

from __future__ import annotations

from typing import Any

import pytest
from presence import is_on

from thyme.model.errors import InputError
from thyme.sim.run import Run, simulate
from thyme.sim.scenario import scenario_of


def scenario(**changes: Any) -> dict[str, Any]:
    return {"nodes": 6, "approach": "ls", "time": {"join_from_s": 0.0, "join_to_s": 5.0, "until_s": 40.0}, **changes}


def test_clocks_are_ahead_by_constants_of_their_own() -> None:
    run = Run(scenario_of(scenario(clock_skew_s=2.0), "test"))
    ahead = [host.now() for host in run.world.hosts]
    assert all(0.0 < one < 2.0 for one in ahead)
    assert len(set(ahead)) == len(ahead)
    run.world.engine.now_s = 10.0
    assert [host.now() for host in run.world.hosts] == [10.0 + one for one in ahead]


def test_without_skew_all_clocks_agree() -> None:
    assert {host.now() for host in Run(scenario_of(scenario(), "test")).world.hosts} == {0.0}


def test_a_full_radio_queue_drops_what_comes_on_top() -> None:
    def dropped(queue_frames: int) -> int:
        radio = {"model": "disc", "queue_frames": queue_frames, "rate_bps": 20_000.0}
        events = simulate(scenario_of(scenario(radio=radio), "test")).events
        rows = zip(events["kind"].to_pylist(), events["reason"].to_pylist(), events["count"].to_pylist(), strict=True)
        return sum(count for kind, reason, count in rows if (kind, reason) == ("dropped", "radio queue full"))

    assert dropped(0) == 0
    assert dropped(1) > dropped(3)


def test_a_full_queue_empties_again() -> None:
    radio = {"model": "disc", "queue_frames": 1}
    run = Run(scenario_of(scenario(radio=radio), "test"))
    run.go()
    sent = sum(sum(totals.counts) for totals in run.radio.traffic() if totals.traffic == "phy sent")
    assert sent > 50, "a queue of one frame sends one after the other"


def test_listed_changes_switch_exactly_these_nodes() -> None:
    changes = [
        {"at_s": 20.0, "node": 2, "on": True},
        {"at_s": 10.0, "node": 2, "on": False, "keeps_store": True},
        {"at_s": 15.0, "node": 4, "on": False},
    ]
    result = simulate(scenario_of(scenario(churn={"model": "listed", "changes": changes}), "test"))
    left = [
        (at_s, node, reason)
        for at_s, node, kind, reason in zip(
            *(result.events[name].to_pylist() for name in ("at_s", "node", "kind", "reason")), strict=True
        )
        if kind == "left"
    ]
    assert left == [(10.0, 2, "off"), (15.0, 4, "crashed")]
    assert [is_on(result.churn, 2, at_s) for at_s in (5.0, 12.0, 25.0)] == [True, False, True]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clock_skew_s": -1.0}, "clock_skew_s"),
        ({"radio": {"model": "disc", "queue_frames": -1}}, "queue_frames"),
        ({"churn": {"model": "listed", "changes": [{"at_s": 1.0, "node": 9, "on": False}]}}, "there is no node 9"),
    ],
)
def test_troubles_out_of_bounds_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        scenario_of(scenario(**changes), "test")
