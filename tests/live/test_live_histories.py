"""Whole live nodes on a virtual clock: a fixed set of histories, and that a history is the same every time."""

from __future__ import annotations

import pytest

from thyme.fuzz.live.histories import History, Step, draw_history
from thyme.fuzz.live.machines import Weather
from thyme.fuzz.live.search import judge_history

LS_SEEDS = range(1, 21)
DCS_SEEDS = range(1, 16)


@pytest.mark.parametrize("seed", LS_SEEDS)
def test_ls_keeps_its_promises(seed: int) -> None:
    assert judge_history(draw_history("ls", seed)).broken == []


@pytest.mark.parametrize("seed", DCS_SEEDS)
def test_dcs_keeps_its_promises(seed: int) -> None:
    assert judge_history(draw_history("dcs", seed)).broken == []


def test_the_same_seed_gives_the_same_history() -> None:
    one, again = (judge_history(draw_history("dcs", 3)) for _ in range(2))
    assert one.timeline == again.timeline
    assert one.notices > 0


def history(approach: str, *faults: Step) -> History:
    """Three nodes, a subscription of each before the faults, and an object of each during and after them."""
    steps = [Step(0.5 * node, node, "start", 0.0) for node in range(3)]
    steps += [Step(10.0, node, "subscribe", 0) for node in range(3)]
    for at_s in range(15, 59, 4):
        steps += [Step(float(at_s), node, "insert", (f"o{at_s}", ("a",), 20)) for node in range(3)]
    return History(approach, 1, 3, True, tuple(sorted((*steps, *faults), key=lambda step: step.at_s)))


FAULTS = [
    Step(20.0, 0, "suspend", None, 20.0),
    Step(20.0, 1, "kill", None, 5.0),
    Step(20.0, 1, "move"),
    Step(20.0, 0, "part", 1, 4.0),
    Step(12.0, 0, "weather", Weather(0.002, 0.05, 0.2, 0.1, False), 45.0),
    Step(20.0, 0, "set clock", 60.0),
]


@pytest.mark.parametrize("approach", ["ls", "dcs"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda step: step.what)
def test_one_fault_loses_nothing(approach: str, fault: Step) -> None:
    assert judge_history(history(approach, fault)).broken == []
