"""The roll of neighbours: who was heard when, and whose beacons need not be told of."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.notes import PLACES, ROWS, KnownNotes
from thyme.routing.cells.roll import LIKELY, NEWS, NEWS_BUT_NOTES, WAKES, Roll, saying, saying_all
from thyme.routing.hearing import Hearing
from thyme.wire.beacons import NOTE, Beacon

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=120)


@pytest.mark.compiled
@pytest.mark.parametrize("compiled", [False, True])
@given(STEPS)
def test_the_roll_keeps_the_last_time_of_each_whoever_comes_and_goes(
    compiled: bool, steps: list[tuple[bool, int]]
) -> None:
    from thyme.routing.cells.rollcall import find_silent

    roll, plain = Roll(256), dict[NodeId, float]()
    roll.find_silent = find_silent if compiled else None
    for second, (comes, number) in enumerate(steps):
        node = NodeId(number)
        if comes:
            roll.note(node, float(second))
            plain[node] = float(second)
        elif plain.pop(node, None) is not None:
            roll.remove(node)
        silent = sorted(node for node, at_s in plain.items() if at_s <= second / 2)
        others_s = [at_s for node, at_s in plain.items() if node not in silent]
        assert roll.silent_since(second / 2) == (silent, min(others_s, default=inf))


def calm_roll(max_digest_bytes: int = 256) -> Roll:
    """Node 9 was heard, in cell 3, and nobody wants to hear the same again."""
    roll = Roll(max_digest_bytes)
    roll.wake(inf)
    roll.calm(roll.note(NodeId(9), 1.0), saying(3, True))
    return roll


def called(rolls: list[Roll], beacon: Beacon, now_s: float) -> list[int]:
    """For whom a beacon of node 9 is more than a sign of life."""
    return [place for place, what in enumerate(heard(rolls, beacon, now_s)) if what]


def heard(rolls: list[Roll], beacon: Beacon, now_s: float) -> list[int]:
    """What it is to each."""
    from thyme.routing.cells.rollcall import call_together

    desks = np.array([roll.address for roll in rolls])
    hearing = Hearing(len(rolls))
    hearing.count = len(rolls)
    hearing.nodes[:] = np.arange(len(rolls))
    hearing.now_s[:] = now_s
    count = call_together(hearing, desks.ctypes.data, NodeId(9), beacon)
    told: list[int] = hearing.told.tolist()
    assert count == sum(what != 0 for what in told)
    return told


@pytest.mark.compiled
def test_only_who_has_heard_the_same_and_can_do_without_is_passed_over() -> None:
    stranger, calm, restless, awake = Roll(4), calm_roll(4), calm_roll(4), calm_roll(4)
    stranger.wake(inf)
    restless.stir(NodeId(9))
    awake.wake(5.0)
    rolls = [stranger, calm, restless, awake]
    same = Beacon(CellId(3), True, b"1234")
    assert called(rolls, same, 4.0) == [0, 2]
    assert calm.heard_s(NodeId(9)) == awake.heard_s(NodeId(9)) == 4.0
    assert restless.heard_s(NodeId(9)) == 1.0
    assert heard(rolls, same, 5.0) == [NEWS, 0, NEWS, WAKES]
    assert awake.heard_s(NodeId(9)) == 5.0
    assert called(rolls, Beacon(CellId(4), True), 4.0) == called(rolls, Beacon(CellId(3), False), 4.0) == [0, 1, 2, 3]
    assert called(rolls, Beacon(CellId(3), True, b"12345"), 4.0) == [0, 1, 2, 3]
    assert called(rolls, Beacon(CellId(3), True, NOTE.pack(1, 2)), 4.0) == [0, 1, 2, 3]


@pytest.mark.compiled
def test_a_neighbour_is_found_whoever_else_came_and_went() -> None:
    """Numbers that are the same modulo a power of two, rows that have moved, and more than there was room for."""
    roll = Roll(4)
    roll.wake(inf)
    crowd = [NodeId(9 + LIKELY * (i % 4) + i // 4) for i in range(100)]
    for node in crowd:
        roll.calm(roll.note(node, 1.0), saying(3, True))
    for node in crowd[1::3]:
        roll.remove(node)
    assert called([roll], Beacon(CellId(3), True), 2.0) == []
    assert roll.heard_s(NodeId(9)) == 2.0
    roll.remove(NodeId(9))
    assert called([roll], Beacon(CellId(3), True), 3.0) == [0]
    assert roll.silent_since(0.0) == ([], 1.0)


@pytest.mark.compiled
def test_who_is_calm_while_alike_is_passed_over_only_while_its_sum_is_the_same_and_the_hearers_own() -> None:
    own = np.array([0x31323334])
    comparing, without = Roll(4), Roll(4)
    comparing.compare_with(own.ctypes.data, 0)
    for roll in (comparing, without):
        roll.wake(inf)
        roll.calm(roll.note(NodeId(9), 1.0), saying_all(saying(3, True), b"1234"))
    rolls = [comparing, without]
    same = Beacon(CellId(3), True, b"1234")
    assert called(rolls, same, 2.0) == [1]
    assert called(rolls, Beacon(CellId(3), True, b"1235"), 2.0) == called(rolls, Beacon(CellId(3), True), 2.0) == [0, 1]
    assert called(rolls, Beacon(CellId(4), True, b"1234"), 2.0) == [0, 1]
    own[0] += 1
    assert called(rolls, same, 2.0) == called(rolls, Beacon(CellId(3), True, b"1235"), 2.0) == [0, 1]


def test_what_has_no_sum_or_comes_from_nowhere_is_news() -> None:
    assert saying_all(saying(3, True), b"") == saying_all(saying(1 << 60, True), b"1234") < 0


@pytest.mark.compiled
def test_notes_are_news_until_they_are_known() -> None:
    roll, known = calm_roll(), KnownNotes()
    roll.compare_with(0, known.address)
    both = Beacon(CellId(3), True, b"1234" + NOTE.pack(2**32 - 1, 7) + NOTE.pack(5, 2**16 - 1))
    assert called([roll], both, 2.0) == [0]
    known.add(2**32 - 1, 7)
    assert called([roll], both, 2.0) == [0]
    known.add(5, 2**16 - 1)
    assert called([roll], both, 2.0) == []
    known.forget(5, 1)
    assert called([roll], both, 2.0) == []
    known.forget(5, 2**16 - 1)
    assert called([roll], both, 2.0) == [0]


@pytest.mark.compiled
def test_of_what_else_is_news_known_notes_are_not() -> None:
    roll, known = calm_roll(), KnownNotes()
    roll.compare_with(0, known.address)
    known.add(5, 7)
    elsewhere = CellId(4)
    assert heard([roll], Beacon(elsewhere, True, b"1234" + NOTE.pack(5, 7)), 2.0) == [NEWS_BUT_NOTES]
    assert heard([roll], Beacon(elsewhere, True, b"1234" + NOTE.pack(5, 8)), 2.0) == [NEWS]
    assert heard([roll], Beacon(elsewhere, True, b"1234" + NOTE.pack(5, 7) + b"?"), 2.0) == [NEWS]
    assert heard([roll], Beacon(elsewhere, True, b"1234"), 2.0) == [NEWS]


@pytest.mark.compiled
def test_several_notes_that_belong_in_one_row_are_known_and_the_first_makes_room() -> None:
    roll, known = calm_roll(), KnownNotes()
    roll.compare_with(0, known.address)
    same_row = [(ROWS * i, 7) for i in range(PLACES + 1)]
    for note in same_row:
        known.add(*note)
    beacons = [Beacon(CellId(3), True, b"1234" + NOTE.pack(*note)) for note in same_row]
    assert [called([roll], beacon, 2.0) for beacon in beacons] == [[0], *[[]] * PLACES]
