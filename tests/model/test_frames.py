"""Time frames are half-open intervals, and behave as sets of instants."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame

INSTANTS = st.integers(-8, 8).map(float)
"""Few enough that ends and starts coincide often."""


@st.composite
def frames(draw: st.DrawFn) -> TimeFrame:
    start_s, end_s = draw(st.none() | INSTANTS), draw(st.none() | INSTANTS)
    if start_s is not None and end_s is not None:
        start_s, end_s = min(start_s, end_s), max(start_s, end_s)
    return TimeFrame(start_s, end_s)


def holds(frame: TimeFrame | None, at_s: float) -> bool:
    return frame is not None and frame.contains(at_s)


def test_past_future_and_always_divide_time_at_now() -> None:
    assert [TimeFrame.past(5.0).contains(at_s) for at_s in (-1e9, 4.9, 5.0, 6.0)] == [True, True, False, False]
    assert [TimeFrame.future(5.0).contains(at_s) for at_s in (4.9, 5.0, 1e9)] == [False, True, True]
    assert TimeFrame.always().contains(-1e9)
    assert TimeFrame.always() == TimeFrame(None, None)


def test_interval_holds_its_start_but_not_its_end() -> None:
    frame = TimeFrame(1.0, 2.0)
    assert frame.contains(1.0)
    assert not frame.contains(2.0)


@pytest.mark.parametrize("ends", [(2.0, 1.0), (float("nan"), None), (None, float("nan")), (None, float("inf"))])
def test_impossible_frames_are_refused(ends: tuple[float | None, float | None]) -> None:
    with pytest.raises(InputError, match="time frame"):
        TimeFrame(*ends)


def test_frames_from_the_wire_are_checked() -> None:
    with pytest.raises(msgspec.ValidationError, match="before it"):
        msgspec.msgpack.decode(msgspec.msgpack.encode((2.0, 1.0)), type=TimeFrame)


@given(frames())
def test_frames_survive_encoding(frame: TimeFrame) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(frame), type=TimeFrame) == frame


@given(frames(), INSTANTS, INSTANTS)
def test_parts_of_a_split_are_disjoint_and_make_up_the_whole(frame: TimeFrame, at_s: float, probe_s: float) -> None:
    before, since = frame.split(at_s)
    assert holds(before, probe_s) == (frame.contains(probe_s) and probe_s < at_s)
    assert holds(since, probe_s) == (frame.contains(probe_s) and probe_s >= at_s)
    if before is not None and since is not None:
        assert before.intersection(since) is None
        assert (before.start_s, since.end_s) == (frame.start_s, frame.end_s)


@given(frames(), frames(), INSTANTS)
def test_intersection_holds_what_both_hold(one: TimeFrame, other: TimeFrame, at_s: float) -> None:
    assert holds(one.intersection(other), at_s) == (one.contains(at_s) and other.contains(at_s))


@given(frames(), frames())
def test_intersection_commutes(one: TimeFrame, other: TimeFrame) -> None:
    assert one.intersection(other) == other.intersection(one)


@given(frames(), frames(), frames())
def test_intersection_is_associative(one: TimeFrame, two: TimeFrame, three: TimeFrame) -> None:
    left, right = one.intersection(two), two.intersection(three)
    assert (left and left.intersection(three)) == (right and one.intersection(right))


@given(frames())
def test_always_is_neutral_and_a_frame_its_own_intersection(frame: TimeFrame) -> None:
    empty = frame.start_s is not None and frame.start_s == frame.end_s
    expected = None if empty else frame
    assert frame.intersection(TimeFrame.always()) == expected
    assert frame.intersection(frame) == expected


@given(frames(), INSTANTS, st.integers(0, 20).map(float))
def test_nothing_happens_in_a_frame_after_it_has_ended(frame: TimeFrame, now_s: float, later_s: float) -> None:
    if frame.ended(now_s):
        assert not frame.contains(now_s + later_s)
    elif frame.end_s is not None:
        assert now_s < frame.end_s
