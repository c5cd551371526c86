"""DSDV's updates are played without Python, and nothing else is different."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.compiled import tried
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import Result, Run
from thyme.sim.scenario import scenario_of
from thyme.sim.updates import player
from thyme.sim.updates.mersenne import draw, state_address

pytestmark = pytest.mark.compiled

CHURN = {"model": "alternate", "fraction": 0.3}
WALKING = {"model": "waypoint", "min_speed_mps": 1.0, "max_speed_mps": 3.0, "min_pause_s": 5.0, "max_pause_s": 9.0}


def world(approach: str, **more: Any) -> Run:
    times = {"until_s": 60.0, "join_from_s": 5.0, "join_to_s": 10.0}
    given: dict[str, Any] = {"nodes": 20, "approach": approach, "time": times, "clock_skew_s": 0.2, **more}
    given["radio"] = {"model": "wifi"}
    kinds = (OperationKind.INSERT, OperationKind.SUBSCRIBE)
    operations = [
        Operation(i, 15.0 + i, NodeId(i % 20), kinds[i % 2], sid=i, oid=f"o{i}", query="a", tags=("a",), text="t")
        for i in range(30)
    ]
    return Run(scenario_of(given, "test"), operations)


def without_player(run: Run, monkeypatch: pytest.MonkeyPatch) -> Result:
    with monkeypatch.context() as changed:
        changed.setattr(player, "player_of", lambda *_: None)
        return run.go()


WORLDS: dict[str, dict[str, Any]] = {
    "on and off": {"churn": CHURN},
    "walking": {"movement": WALKING},
    "many small frames": {"settings": {"dsdv": {"max_entries": 2}}},
    "links never break": {"settings": {"dsdv": {"broken_after_failures": 0, "resends": 0, "remember_lost": False}}},
}


@pytest.mark.parametrize("more", WORLDS.values(), ids=WORLDS.keys())
@pytest.mark.parametrize("approach", ["ls", "es"])
def test_played_or_told_by_timers_is_the_same(
    approach: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world(approach, **more)
    played, told = run.go(), without_player(world(approach, **more), monkeypatch)
    assert run.world.played_updates > 100
    assert played.events.equals(told.events)
    assert played.actions == told.actions


def test_a_player_that_begins_with_little_room_gets_more(monkeypatch: pytest.MonkeyPatch) -> None:
    plenty = world("ls").go().events
    monkeypatch.setattr(player, "FRAMES", 1)
    monkeypatch.setattr(player, "ALARMS_PER_NODE", 1)
    assert world("ls").go().events.equals(plenty)


HELD_UP: dict[str, dict[str, Any]] = {"disk": {"disk": {"commit_s": 0.001}}, "fault": {"faults": [{"kind": "loss"}]}}


@pytest.mark.parametrize("more", HELD_UP.values(), ids=HELD_UP.keys())
def test_where_frames_may_be_held_up_nothing_is_played(more: dict[str, Any]) -> None:
    run = world("es", **more)
    run.go()
    assert run.world.played_updates == 0


@tried
def draw_some(address: int, numbers: Any) -> None:
    for i in range(len(numbers)):
        numbers[i] = draw(address)


@given(st.integers(), st.lists(st.integers(0, 700), max_size=5))
def test_compiled_code_and_python_draw_from_one_generator(seed: int, counts: list[int]) -> None:
    both, python = Random(seed), Random(seed)
    address = state_address(both)
    assert address is not None
    for count in counts:
        numbers = np.zeros(count)
        draw_some(address, numbers)
        assert numbers.tolist() == [python.random() for _ in range(count)]
        assert both.getrandbits(40) == python.getrandbits(40)
    assert both.getstate() == python.getstate()
