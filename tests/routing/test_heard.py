"""Whom a node has heard: a bounded table that is written one by one or for a crowd."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.ids import NodeId
from thyme.routing.heard import HeardTable
from thyme.routing.hearing import Hearing

MOST = 20
HEARD = st.lists(st.tuples(st.integers(0, 40), st.floats(0.001, 5.0)), max_size=80)


@given(HEARD)
def test_the_latest_of_each_are_kept_and_those_not_heard_for_longest_go(heard: list[tuple[int, float]]) -> None:
    table, plain, now_s = HeardTable(MOST), dict[int, float](), 0.0
    for node, gap_s in heard:
        now_s += gap_s
        table.note(NodeId(node), now_s)
        plain[node] = now_s
        if len(plain) > MOST:
            del plain[min(plain, key=plain.__getitem__)]
    for since_s in (0.0, now_s / 2.0, now_s):
        assert table.count_since(since_s) == sum(at_s >= since_s for at_s in plain.values())


@pytest.mark.compiled
def test_a_crowd_notes_a_known_sender_at_once_and_leaves_strangers_to_each() -> None:
    from thyme.routing.noting import note_together

    tables = [HeardTable(MOST) for _ in range(3)]
    tables[0].note(NodeId(7), 1.0)
    tables[2].note(NodeId(7), 1.0)
    desks = np.array([table.address for table in tables])
    hearing = Hearing(3)
    hearing.count = 2
    hearing.nodes[:2], hearing.now_s[:2] = (1, 2), (5.0, 6.0)
    assert note_together(hearing, desks.ctypes.data, NodeId(7), None) == 1
    assert hearing.told[:2].tolist() == [1, 0]
    assert [table.count_since(2.0) for table in tables] == [0, 0, 1]
