"""Geographic routing where no straight way leads on: voids, proxies of empty cells, and bounds on hops."""

from __future__ import annotations

from collections import Counter

import networkx as nx
from cell_crowd import U_SHAPE, Crowd, letter
from hypothesis import given, settings
from hypothesis import strategies as st
from net import total

from thyme.model.ids import CellId, NodeId
from thyme.model.records import TrafficKind
from thyme.routing.cells.addresses import Form, GeographicOptions
from thyme.routing.cells.grid import Grid
from thyme.wire.codec import encode
from thyme.wire.geographic import ANY_NODE, CellPacket, Detour, Heading


def test_a_message_goes_round_a_void_to_its_cell() -> None:
    crowd = Crowd(5, 4, U_SHAPE).warm()
    number = crowd.people[0].router.send_to_cell(crowd.grid.at(4, 0), letter())
    crowd.settle()
    assert crowd.holders() == [10]
    arrival = crowd.people[10].arrivals[0]
    assert (arrival.origin, arrival.origin_cell) == (0, crowd.grid.at(0, 0))
    assert (arrival.message, arrival.number) == (letter(), number)
    assert (arrival.target, arrival.form, arrival.proxied) == (crowd.grid.at(4, 0), Form.CELL, False)
    assert arrival.hops == len(crowd.packets())
    assert total((p.host for p in crowd.people), TrafficKind.FORWARDED) == arrival.hops - 1


def test_messages_for_an_empty_cell_meet_at_one_proxy() -> None:
    crowd = Crowd(5, 4, U_SHAPE).warm()
    for person in crowd.people:
        person.router.send_to_cell(crowd.grid.at(2, 1), letter())
    crowd.settle()
    assert len(set(crowd.holders())) == 1
    arrivals = crowd.people[crowd.holders()[0]].arrivals
    assert len(arrivals) == len(crowd.people)
    assert all(arrival.proxied and arrival.target == crowd.grid.at(2, 1) for arrival in arrivals)


def test_a_proxy_that_remembers_saves_the_tour_and_the_paper_does_not() -> None:
    frames = []
    for options in (GeographicOptions(), GeographicOptions().as_in_the_paper()):
        crowd = Crowd(5, 4, U_SHAPE, options).warm()
        for _ in range(2):
            crowd.net.frames.clear()
            crowd.people[2].router.send_to_cell(crowd.grid.at(2, 1), letter())
            crowd.settle()
        frames.append(len(crowd.packets()))
        assert len(crowd.holders()) == 2
        assert len(set(crowd.holders())) == 1
    assert frames[0] < frames[1]


def test_a_node_can_be_told_that_its_cell_is_a_proxy() -> None:
    crowd = Crowd(4, 1, [(0, 0), (1, 0)]).warm()
    crowd.people[1].router.remember_proxy(crowd.grid.at(3, 0))
    crowd.people[1].router.send_to_cell(crowd.grid.at(3, 0), letter())
    crowd.settle()
    assert crowd.holders() == [1]
    assert crowd.people[1].arrivals[0].proxied
    assert not crowd.packets()


def test_what_is_known_of_a_proxy_ends_when_the_cells_around_change() -> None:
    crowd = Crowd(5, 1, [(0, 0), (1, 0), (4, 0)]).warm()
    crowd.people[1].router.remember_proxy(crowd.grid.at(3, 0))
    crowd.people[2].host.place = crowd.grid.centre(crowd.grid.at(2, 0))
    crowd.settle(2.0)
    crowd.people[1].router.send_to_cell(crowd.grid.at(3, 0), letter())
    crowd.settle()
    assert crowd.holders() == [2]


def test_the_proxy_of_a_populated_cell_can_be_addressed() -> None:
    crowd = Crowd(4, 1, [(0, 0), (1, 0), (2, 0), (3, 0)]).warm()
    crowd.people[2].router.send_to_proxy(crowd.grid.at(2, 0), letter())
    crowd.settle()
    closest = min((0, 1, 3), key=lambda i: crowd.grid.rank(crowd.grid.at(i, 0), crowd.grid.at(2, 0)))
    assert crowd.holders() == [closest]
    assert crowd.people[closest].arrivals[0].proxied


def test_a_large_area_allows_tours_as_long_as_its_border() -> None:
    few, many = Grid(560.0, 280.0, 40.0), Grid(4000.0, 2000.0, 40.0)
    assert [GeographicOptions().hops_within(grid) for grid in (few, many)] == [200, 900]
    assert GeographicOptions(hop_limit=3).hops_within(many) == 3


def test_hops_are_bounded() -> None:
    crowd = Crowd(6, 1, [(i, 0) for i in range(6)], GeographicOptions(hop_limit=3, leap_beyond=0)).warm()
    crowd.people[0].router.send_to_cell(crowd.grid.at(5, 0), letter())
    crowd.settle()
    assert crowd.holders() == []
    assert len(crowd.packets()) == 4
    assert [r.reason for r in crowd.people[4].host.counted(TrafficKind.DROPPED)] == ["hop limit"]


RING = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1)]


def test_a_packet_that_has_lost_its_way_goes_round_once_and_ends_near_where_it_set_out() -> None:
    """Its tour began in a cell that is not there any more: as if people had walked meanwhile."""
    crowd = Crowd(6, 3, RING).warm()
    grid, first = crowd.grid, crowd.people[0]
    entry = grid.at(4, 1)
    lost = Detour(entry, entry, grid.at(3, 1), grid.at(0, 1), entry)
    payload = encode(letter())
    for node in (ANY_NODE, NodeId(99)):
        crowd.net.frames.clear()
        heading = Heading(grid.at(5, 1), node, lost)
        first.router.receive(NodeId(7), CellPacket(NodeId(3), grid.at(2, 1), 5, (heading,), 1, True, payload))
        crowd.settle()
        assert len(crowd.packets()) <= 2 * len(RING)
    assert crowd.holders() == [3]
    assert crowd.people[3].arrivals[0].proxied
    assert crowd.people[3].refusals == [(99, grid.at(5, 1), 5)], "its sender is told that it was not found"


def test_what_comes_by_again_after_more_hops_than_any_straight_way_has_is_dropped() -> None:
    crowd = Crowd(4, 1, [(0, 0), (1, 0)]).warm()
    one, target, payload = crowd.people[0], crowd.grid.at(3, 0), encode(letter())
    for hops, forwarded in ((2, 1), (4, 1), (6, 1), (6, 1), (8, 0)):
        crowd.net.frames.clear()
        one.router.receive(NodeId(1), CellPacket(NodeId(5), target, 5, (Heading(target),), hops, True, payload))
        to_the_other = [frame for sender, _, frame in crowd.net.sent(CellPacket) if sender == 0]
        assert len(to_the_other) == forwarded, hops
    assert [r.reason for r in one.host.counted(TrafficKind.DROPPED)] == ["in circles"]


@settings(max_examples=15)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=16), st.integers(0, 99))
def test_all_of_a_crowd_agree_on_where_each_cell_is_kept(places: set[tuple[int, int]], seed: int) -> None:
    graph: nx.Graph[tuple[int, int]] = nx.Graph()
    graph.add_nodes_from(sorted(places))
    graph.add_edges_from((a, b) for a in places for b in places if max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1)
    components = [sorted(component) for component in nx.connected_components(graph)]
    together = max(components, key=lambda component: (len(component), component))
    crowd = Crowd(6, 4, together, GeographicOptions().as_in_the_paper(), seed).warm()
    cells = {crowd.grid.at(*place): i for i, place in enumerate(together)}
    for target in range(crowd.grid.size):
        for person in crowd.people:
            person.router.send_to_cell(CellId(target), letter())
    crowd.settle()
    expected = Counter(
        cells[min(cells, key=lambda cell: crowd.grid.rank(cell, CellId(target)))] for target in range(crowd.grid.size)
    )
    assert Counter(crowd.holders()) == {holder: count * len(together) for holder, count in expected.items()}
    arrivals = [arrival for person in crowd.people for arrival in person.arrivals]
    assert all(arrival.proxied == (arrival.target not in cells) for arrival in arrivals)
