"""The compiled DSDV table does what the plain one does, whatever is said to both."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from dsdv_reference import Entry, Reference, pack, unpack
from hypothesis import given, settings
from hypothesis import strategies as st
from net import Net

from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.routing.dsdv.protocol import Dsdv
from thyme.routing.dsdv.routing_table import DsdvTable
from thyme.routing.layouts import READY, RESETTLED

OWN = NodeId(5)
NODES = st.sampled_from([NodeId(0), NodeId(1), NodeId(2), NodeId(3), OWN, NodeId(900), NodeId(2**32 - 1)])
HOPS = st.one_of(st.integers(1, 4), st.sampled_from([0, 999, 1000, 2**32 - 1]))
ENTRIES = st.builds(Entry, NODES, HOPS, st.integers(0, 9))
UPDATES = st.lists(ENTRIES, max_size=8).map(pack)
GAPS_S = st.sampled_from([0.0, 0.0, 0.001, 0.5, 2.0, 5.0, 20.0])
STEPS = st.one_of(
    st.tuples(st.just("read"), NODES, UPDATES),
    st.tuples(st.just("read"), NODES, UPDATES),
    st.tuples(st.just("tell"), st.integers(0, 20)),
    st.tuples(st.just("dump"), st.integers(0, 20)),
    st.tuples(st.just("settle"), st.integers(0, 20)),
    st.tuples(st.just("purge")),
    st.tuples(st.just("lose_over"), NODES),
)


def fields(routes: list[Any]) -> list[tuple[Any, ...]]:
    return [(r.destination, r.next_hop, r.hops, r.sequence, r.heard_s, r.settling_s) for r in routes]


def step(table: DsdvTable | Reference, what: tuple[Any, ...], now_s: float) -> object:
    match what:
        case ("read", sender, entries):
            table.read(sender, entries, now_s)
            return None
        case ("tell", sequence):
            return table.tell(sequence)
        case ("dump", sequence):
            return table.dump(sequence, now_s)
        case ("lose_over", neighbour):
            return table.lose_over(neighbour, now_s)
        case ("settle", sequence):
            return table.settle(sequence, now_s)
        case _:
            return table.purge(now_s)


@settings(max_examples=400)
@given(
    st.lists(st.tuples(GAPS_S, STEPS), max_size=40),
    st.sampled_from([None, 0.875]),
    st.booleans(),
    st.sampled_from([2, 100]),
)
def test_the_compiled_table_agrees_with_the_plain_one(
    steps: list[tuple[float, tuple[Any, ...]]], weight: float | None, remember_lost: bool, max_routes: int
) -> None:
    compiled = DsdvTable(OWN, 5.0, weight, 45.0, remember_lost, max_routes)
    plain = Reference(OWN, 5.0, weight, 45.0, remember_lost, max_routes)
    now_s = 0.0
    for gap_s, what in steps:
        now_s += gap_s
        assert step(compiled, what, now_s) == step(plain, what, now_s)
        assert compiled.due_s == plain.due_s
        assert fields(compiled.routes()) == fields(plain.routes())
        for route in plain.routes():
            assert compiled.next_hop(route.destination) == plain.next_hop(route.destination)


@settings(max_examples=200)
@given(st.lists(st.tuples(GAPS_S, NODES, UPDATES), max_size=30), st.booleans())
def test_a_read_says_that_there_is_something_to_tell(
    updates: list[tuple[float, NodeId, bytes]], remember_lost: bool
) -> None:
    compiled = DsdvTable(OWN, 5.0, 0.875, 45.0, remember_lost, 100)
    plain = Reference(OWN, 5.0, 0.875, 45.0, remember_lost, 100)
    now_s = 0.0
    for gap_s, sender, entries in updates:
        now_s += gap_s
        due_s, ready = plain.due_s, plain.ready
        told = compiled.read(sender, entries, now_s)
        plain.read(sender, entries, now_s)
        assert told & READY or ready or not plain.ready
        assert bool(told & RESETTLED) == (plain.due_s != due_s)


def test_a_table_grows_with_its_destinations_and_keeps_them_in_order() -> None:
    table = DsdvTable(OWN, 5.0, 0.875, 45.0, True, 10_000)
    nodes = [NodeId(number * 7919 % 1009) for number in range(1009)]
    for first in range(0, len(nodes), 50):
        table.read(NodeId(9), pack([Entry(node, 2, 10) for node in nodes[first : first + 50]]), 1.0)
    destinations = [route.destination for route in table.routes()]
    assert destinations == sorted(set(nodes) - {OWN})
    told = [entry.destination for entry in unpack(table.tell(2))]
    assert told == [OWN, *destinations]
    assert all(one < other for one, other in pairwise(destinations))


def test_forgotten_destinations_leave_no_rows_behind() -> None:
    table = DsdvTable(OWN, 5.0, 0.875, 45.0, True, 10_000)
    for second in range(0, 100_000, 100):
        entries = pack([Entry(NodeId(second + k + 100), 2, 10) for k in range(10)])
        table.read(NodeId(9), entries, float(second))
        table.dump(2, float(second))
    assert len(table.routes()) == 10
    assert table.capacity < 200


def test_the_number_of_a_node_must_fit_an_update() -> None:
    host = Net().add(2**32, 0.0, 0.0)
    with pytest.raises(InputError, match="4294967296"):
        Dsdv(host, lambda origin, message: None)
    assert DsdvTable(OWN, 5.0, 0.875, 45.0, True, 10).next_hop(NodeId(2**70)) is None


def test_a_route_is_a_record_of_plain_numbers() -> None:
    table = DsdvTable(OWN, 5.0, 0.875, 45.0, True, 10)
    table.read(NodeId(9), pack([Entry(NodeId(9), 1, 4)]), 1.0)
    route = table.route(NodeId(9))
    assert route is not None
    assert msgspec.to_builtins(route) == {
        "destination": 9,
        "next_hop": 9,
        "hops": 1,
        "sequence": 4,
        "heard_s": 1.0,
        "settling_s": 5.0,
    }
    assert table.route(NodeId(2**70)) is None
