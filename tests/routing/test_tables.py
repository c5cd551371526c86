"""Tables of routing, filled by one frame at a time or for all receivers of a frame."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.ids import NodeId
from thyme.routing.broadcasts import NodeTables, Receivers
from thyme.routing.tables import HeardTable

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
def test_receivers_that_know_the_sender_note_it_together_and_the_others_one_by_one() -> None:
    tables = [HeardTable(MOST) for _ in range(3)]
    tables[0].note(NodeId(7), 1.0)
    tables[2].note(NodeId(7), 1.0)
    receivers = Receivers(3)
    receivers.count = 2
    receivers.nodes[:2], receivers.now_s[:2] = (1, 2), (5.0, 6.0)
    assert HeardTable.receive_all(receivers, NodeTables.of(tables), NodeId(7), None) == 1
    assert receivers.results[:2].tolist() == [1, 0]
    assert [table.count_since(2.0) for table in tables] == [0, 0, 1]
