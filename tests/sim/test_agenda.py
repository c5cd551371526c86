from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from thyme.sim.agenda import Agenda
from thyme.sim.engine import Engine, EngineTimer

_NOBODY = type("Nobody", (), {"life": 0})()
TIMES = st.one_of(st.floats(0.0, 0.3), st.floats(0.0, 100.0), st.sampled_from([0.05, 0.1, 1e9, 2e12, inf]))


@given(st.data())
def test_what_is_taken_is_what_a_sorted_list_of_all_would_give(data: st.DataObject) -> None:
    agenda: Agenda[EngineTimer] = Agenda()
    there: list[tuple[float, int, EngineTimer]] = []
    now_s = 0.0
    for order in range(data.draw(st.integers(0, 60))):
        match data.draw(st.sampled_from(["put", "put", "cancel", "take"])):
            case "put":
                entry = (now_s + data.draw(TIMES), order, EngineTimer(lambda: None, _NOBODY))
                there.append(entry)
                agenda.put(*entry)
            case "cancel" if there:
                data.draw(st.sampled_from(there))[2].cancel()
            case "take":
                left = sorted((entry for entry in there if entry[2].action is not None), key=lambda entry: entry[:2])
                assert agenda.next() == (left[0][:2] if left else (inf, 0))
                if left:
                    now_s, timer = agenda.take()
                    assert (now_s, timer) == (left[0][0], left[0][2])
                    there.remove(left[0])


def test_an_action_far_off_does_not_keep_those_before_it_waiting() -> None:
    engine, ran = Engine(), []
    engine.at(1_000.0, lambda: ran.append("far"))
    assert engine.next_s() == 1_000.0  # its page is open now
    engine.at(1.0, lambda: ran.append("near"))
    engine.at(inf, lambda: ran.append("never"))
    while engine.next_s() < inf:
        engine.step()
    assert ran == ["near", "far"]
