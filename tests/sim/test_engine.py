from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.sim.engine import Engine


def drain(engine: Engine) -> None:
    while engine.next_s() != float("inf"):
        engine.step()


@given(st.lists(st.integers(0, 5), max_size=40))
def test_actions_run_in_order_of_time_then_of_asking(times: list[int]) -> None:
    engine = Engine()
    ran: list[tuple[float, int]] = []
    for order, time_s in enumerate(times):
        engine.at(float(time_s), lambda t=time_s, o=order: ran.append((t, o)))  # type: ignore[misc]
    drain(engine)
    assert ran == sorted((t, o) for o, t in enumerate(times))


def test_a_cancelled_timer_never_runs_and_cancelling_again_is_harmless() -> None:
    engine = Engine()
    ran: list[str] = []
    timer = engine.after(1.0, lambda: ran.append("cancelled"))
    engine.after(2.0, lambda: ran.append("kept"))
    timer.cancel()
    timer.cancel()
    drain(engine)
    assert ran == ["kept"]
    assert engine.now_s == 2.0


def test_an_action_may_ask_for_another_at_the_same_instant() -> None:
    engine = Engine()
    ran: list[float] = []

    def ask_again() -> None:
        engine.after(0.0, lambda: ran.append(engine.now_s))

    engine.at(1.0, ask_again)
    drain(engine)
    assert ran == [1.0]


def test_time_does_not_run_backwards() -> None:
    engine = Engine()
    engine.at(2.0, lambda: None)
    engine.step()
    with pytest.raises(ValueError, match="backwards"):
        engine.at(1.0, lambda: None)
