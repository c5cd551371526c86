"""The table of neighbours: who was heard when, and whose beacons need no handling."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.ids import CellId, NodeId
from thyme.routing.broadcasts import NodeTables, Receivers, SharedNumber
from thyme.routing.cells.neighbour_table import KnownNotes, NeighbourTable, content, content_with_sum
from thyme.routing.layouts import LIKELY, NEW, NEW_BUT_NOTES, NOTE_ROWS, NOTES_PER_ROW
from thyme.wire.routing import NOTE, Beacon

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=120)


@given(STEPS)
def test_the_table_keeps_the_last_time_of_each_whoever_comes_and_goes(steps: list[tuple[bool, int]]) -> None:
    table, plain = NeighbourTable(256), dict[NodeId, float]()
    for second, (comes, number) in enumerate(steps):
        node = NodeId(number)
        if comes:
            table.note(node, float(second))
            plain[node] = float(second)
        elif plain.pop(node, None) is not None:
            table.remove(node)
        silent = sorted(node for node, at_s in plain.items() if at_s <= second / 2)
        others_s = [at_s for node, at_s in plain.items() if node not in silent]
        assert table.silent_since(second / 2) == (silent, min(others_s, default=inf))


def quiet_table(max_digest_bytes: int = 256) -> NeighbourTable:
    """Node 9 was heard, in cell 3, and nobody wants to hear the same again."""
    table = NeighbourTable(max_digest_bytes)
    table.set_quiet(table.note(NodeId(9), 1.0), content(3, True))
    return table


def called(tables: list[NeighbourTable], beacon: Beacon, now_s: float) -> list[int]:
    """For whom a beacon of node 9 is more than a sign of life."""
    return [place for place, what in enumerate(heard(tables, beacon, now_s)) if what]


def heard(tables: list[NeighbourTable], beacon: Beacon, now_s: float) -> list[int]:
    """What it is to each."""
    receivers = Receivers(len(tables))
    receivers.count = len(tables)
    receivers.nodes[:] = np.arange(len(tables))
    receivers.now_s[:] = now_s
    count = NeighbourTable.receive_all(receivers, NodeTables.of(tables), NodeId(9), beacon)
    results: list[int] = receivers.results.tolist()
    assert count == sum(what != 0 for what in results)
    return results


@pytest.mark.compiled
def test_only_who_has_heard_the_same_and_can_do_without_is_passed_over() -> None:
    stranger, quiet, handled = NeighbourTable(4), quiet_table(4), quiet_table(4)
    handled.handle_next(NodeId(9))
    tables = [stranger, quiet, handled]
    same = Beacon(CellId(3), True, b"1234")
    assert called(tables, same, 4.0) == [0, 2]
    assert quiet.heard_s(NodeId(9)) == 4.0
    assert handled.heard_s(NodeId(9)) == 1.0
    assert heard(tables, same, 5.0) == [NEW, 0, NEW]
    assert called(tables, Beacon(CellId(4), True), 4.0) == called(tables, Beacon(CellId(3), False), 4.0) == [0, 1, 2]
    assert called(tables, Beacon(CellId(3), True, b"12345"), 4.0) == [0, 1, 2]
    assert called(tables, Beacon(CellId(3), True, NOTE.pack(1, 2)), 4.0) == [0, 1, 2]


@pytest.mark.compiled
def test_a_neighbour_is_found_whoever_else_came_and_went() -> None:
    """Numbers that are the same modulo a power of two, rows that have moved, and more than there was room for."""
    table = NeighbourTable(4)
    crowd = [NodeId(9 + LIKELY * (i % 4) + i // 4) for i in range(100)]
    for node in crowd:
        table.set_quiet(table.note(node, 1.0), content(3, True))
    for node in crowd[1::3]:
        table.remove(node)
    assert called([table], Beacon(CellId(3), True), 2.0) == []
    assert table.heard_s(NodeId(9)) == 2.0
    table.remove(NodeId(9))
    assert called([table], Beacon(CellId(3), True), 3.0) == [0]
    assert table.silent_since(0.0) == ([], 1.0)


@pytest.mark.compiled
def test_who_is_quiet_while_alike_is_passed_over_only_while_its_sum_is_the_same_and_the_hearers_own() -> None:
    own = SharedNumber(0x31323334)
    comparing, without = NeighbourTable(4), NeighbourTable(4)
    comparing.compare_with(own, None)
    for table in (comparing, without):
        table.set_quiet(table.note(NodeId(9), 1.0), content_with_sum(content(3, True), b"1234"))
    tables = [comparing, without]
    same = Beacon(CellId(3), True, b"1234")
    assert called(tables, same, 2.0) == [1]
    assert (
        called(tables, Beacon(CellId(3), True, b"1235"), 2.0) == called(tables, Beacon(CellId(3), True), 2.0) == [0, 1]
    )
    assert called(tables, Beacon(CellId(4), True, b"1234"), 2.0) == [0, 1]
    own.value += 1
    assert called(tables, same, 2.0) == called(tables, Beacon(CellId(3), True, b"1235"), 2.0) == [0, 1]


def test_what_has_no_sum_or_comes_from_nowhere_is_news() -> None:
    assert content_with_sum(content(3, True), b"") == content_with_sum(content(1 << 60, True), b"1234") < 0


@pytest.mark.compiled
def test_notes_are_news_until_they_are_known() -> None:
    table, known = quiet_table(), KnownNotes()
    table.compare_with(None, known)
    both = Beacon(CellId(3), True, b"1234" + NOTE.pack(2**32 - 1, 7) + NOTE.pack(5, 2**16 - 1))
    assert called([table], both, 2.0) == [0]
    known.add(2**32 - 1, 7)
    assert called([table], both, 2.0) == [0]
    known.add(5, 2**16 - 1)
    assert called([table], both, 2.0) == []
    known.forget(5, 1)
    assert called([table], both, 2.0) == []
    known.forget(5, 2**16 - 1)
    assert called([table], both, 2.0) == [0]


@pytest.mark.compiled
def test_of_what_else_is_news_known_notes_are_not() -> None:
    table, known = quiet_table(), KnownNotes()
    table.compare_with(None, known)
    known.add(5, 7)
    elsewhere = CellId(4)
    assert heard([table], Beacon(elsewhere, True, b"1234" + NOTE.pack(5, 7)), 2.0) == [NEW_BUT_NOTES]
    assert heard([table], Beacon(elsewhere, True, b"1234" + NOTE.pack(5, 8)), 2.0) == [NEW]
    assert heard([table], Beacon(elsewhere, True, b"1234" + NOTE.pack(5, 7) + b"?"), 2.0) == [NEW]
    assert heard([table], Beacon(elsewhere, True, b"1234"), 2.0) == [NEW]


@pytest.mark.compiled
def test_several_notes_that_belong_in_one_row_are_known_and_the_first_makes_room() -> None:
    table, known = quiet_table(), KnownNotes()
    table.compare_with(None, known)
    same_row = [(NOTE_ROWS * i, 7) for i in range(NOTES_PER_ROW + 1)]
    for note in same_row:
        known.add(*note)
    beacons = [Beacon(CellId(3), True, b"1234" + NOTE.pack(*note)) for note in same_row]
    assert [called([table], beacon, 2.0) for beacon in beacons] == [[0], *[[]] * NOTES_PER_ROW]
