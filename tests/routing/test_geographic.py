"""Geographic routing on small crowds: voids, proxies, NACKs, aggregation and mobility."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from net import FakeHost, Net, total

from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId
from thyme.model.records import TrafficKind
from thyme.routing.cells.addresses import Arrival, Destination, Form, GeographicOptions
from thyme.routing.cells.beacons import Beacons
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.beacons import Beacon
from thyme.wire.codec import encode
from thyme.wire.flooding import Flooded
from thyme.wire.geographic import ANY_NODE, CellPacket, Detour, Heading, NodeAbsent
from thyme.wire.message import Message

CELL_M = 40.0
WARM_S = 4.0


def letter(number: int = 1) -> Message:
    return Flooded(NodeId(0), number, 0, b"letter")


class Person:
    """A node with beacons and geographic routing, and what has arrived at it."""

    def __init__(self, host: FakeHost, grid: Grid, options: GeographicOptions | None) -> None:
        self.host = host
        self.arrivals: list[Arrival] = []
        self.refusals: list[tuple[NodeId, CellId, int]] = []
        self.beacons = Beacons(host, grid)
        self.router = GeographicRouter(host, grid, self.beacons, self.arrivals.append, self._refused, options)
        host.layers += [self.beacons, self.router]
        self.beacons.start()
        self.router.start()

    def _refused(self, node: NodeId, cell: CellId, number: int) -> None:
        self.refusals.append((node, cell, number))


class Crowd:
    """People in the middle of the given cells (column, row), numbered from 0 in that order."""

    def __init__(
        self,
        columns: int,
        rows: int,
        places: Iterable[tuple[int, int]],
        options: GeographicOptions | None = None,
        seed: int = 1,
    ) -> None:
        self.net = Net(seed=seed)
        self.grid = Grid(columns * CELL_M, rows * CELL_M, CELL_M)
        self.people = [
            Person(self.net.add(i, (c + 0.5) * CELL_M, (r + 0.5) * CELL_M), self.grid, options)
            for i, (c, r) in enumerate(places)
        ]

    def warm(self) -> Crowd:
        self.net.run(self.net.now_s + WARM_S)
        self.net.frames.clear()
        return self

    def settle(self, wait_s: float = 0.9) -> None:
        self.net.run(self.net.now_s + wait_s)

    def packets(self) -> list[CellPacket]:
        return [frame for _, _, frame in self.net.frames if isinstance(frame, CellPacket)]

    def holders(self) -> list[int]:
        return [i for i, person in enumerate(self.people) for _ in person.arrivals]


U_SHAPE = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (3, 3), (4, 3), (4, 2), (4, 1), (4, 0)]


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
    for options in (GeographicOptions(), GeographicOptions.paper()):
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


def test_a_message_to_ones_own_cell_arrives_at_oneself() -> None:
    crowd = Crowd(2, 1, [(0, 0), (1, 0)]).warm()
    crowd.people[0].router.send_to_cell(crowd.grid.at(0, 0), letter())
    assert crowd.holders() == []
    crowd.settle()
    assert crowd.holders() == [0]
    assert not crowd.packets()


def test_one_random_node_of_the_cell_gets_the_message() -> None:
    crowd = Crowd(2, 1, [(0, 0), (1, 0), (1, 0), (1, 0)]).warm()
    for _ in range(40):
        crowd.people[0].router.send_to_cell(crowd.grid.at(1, 0), letter())
    crowd.settle()
    holders = crowd.holders()
    assert len(holders) == 40
    assert set(holders) == {1, 2, 3}


def test_a_broadcast_reaches_the_cell_and_nobody_else() -> None:
    crowd = Crowd(2, 1, [(0, 0), (0, 0), (0, 0), (1, 0)]).warm()
    crowd.people[0].router.broadcast_in_cell(letter())
    crowd.settle()
    assert crowd.holders() == [1, 2]
    assert crowd.people[1].arrivals[0].form is Form.BROADCAST


def test_members_that_are_not_heard_can_be_told_too_and_nobody_hears_of_it_if_they_are_gone() -> None:
    crowd = Crowd(2, 1, [(0, 0), (0, 0), (0, 0)])
    teller = crowd.people[0]
    crowd.people[2].host.on = False
    teller.router.tell_each_in_cell(letter(), most=4, silent=[NodeId(1), NodeId(2)])
    crowd.settle(0.3)
    assert crowd.holders() == [1]
    assert teller.refusals == []


def test_a_message_reaches_its_node_in_a_shared_cell() -> None:
    crowd = Crowd(6, 1, [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, 0), (5, 0)]).warm()
    crowd.people[0].router.send_to_node(NodeId(6), crowd.grid.at(5, 0), letter())
    crowd.settle()
    assert crowd.holders() == [6]
    assert crowd.people[6].arrivals[0].form is Form.NODE


@pytest.mark.parametrize("target", [(5, 0), (5, 1)], ids=["populated cell", "empty cell"])
def test_an_absent_node_is_reported_to_the_sender(target: tuple[int, int]) -> None:
    crowd = Crowd(6, 2, [(i, 0) for i in range(6)]).warm()
    cell = crowd.grid.at(*target)
    number = crowd.people[0].router.send_to_node(NodeId(99), cell, letter())
    crowd.settle()
    assert crowd.holders() == []
    assert crowd.people[0].refusals == [(99, cell, number)]


def test_the_report_of_an_absent_node_is_never_answered_itself() -> None:
    crowd = Crowd(6, 1, [(i, 0) for i in range(6)]).warm()
    crowd.people[0].router.send_to_node(NodeId(99), crowd.grid.at(5, 0), letter())
    crowd.net.run(crowd.net.now_s + 0.001)
    crowd.people[0].host.on = False
    crowd.settle(20.0)
    assert all(person.refusals == [] for person in crowd.people)
    assert sum(b"letter" not in packet.payload for packet in crowd.packets()) < 40


def test_a_node_that_crashed_is_reported_after_the_link_gave_up() -> None:
    crowd = Crowd(3, 1, [(0, 0), (1, 0), (2, 0)]).warm()
    crowd.people[2].host.on = False
    number = crowd.people[0].router.send_to_node(NodeId(2), crowd.grid.at(2, 0), letter())
    crowd.settle()
    assert crowd.people[0].refusals == [(2, crowd.grid.at(2, 0), number)]


def test_a_failed_link_falls_back_to_another_node_of_the_cell() -> None:
    crowd = Crowd(4, 1, [(0, 0), (1, 0), (1, 0), (2, 0), (3, 0)]).warm()
    crowd.people[1].host.on = False
    for _ in range(10):
        crowd.people[0].router.send_to_cell(crowd.grid.at(3, 0), letter())
    crowd.settle()
    assert crowd.holders() == [4] * 10


def test_a_failed_cell_falls_back_to_another_cell() -> None:
    crowd = Crowd(3, 2, [(0, 0), (1, 0), (1, 1), (2, 0)]).warm()
    crowd.people[1].host.on = False
    crowd.people[0].router.send_to_cell(crowd.grid.at(2, 0), letter())
    crowd.settle()
    assert crowd.holders() == [3]


def test_tries_are_bounded_when_all_links_fail() -> None:
    options = GeographicOptions(node_tries=2, cell_tries=2)
    crowd = Crowd(3, 2, [(0, 0)] + [(1, 0)] * 4 + [(0, 1)] * 4 + [(1, 1)] * 4, options).warm()
    for person in crowd.people[1:]:
        person.host.on = False
    crowd.people[0].router.send_to_cell(crowd.grid.at(2, 0), letter())
    crowd.settle()
    assert len(crowd.packets()) == 4
    assert [r.reason for r in crowd.people[0].host.counted(TrafficKind.DROPPED)] == ["no link"]


def test_aggregation_splits_only_where_next_hops_differ() -> None:
    trunk = [(i, 2) for i in range(6)]
    branches = [(6, 3), (7, 4), (6, 1), (7, 0)]
    crowd = Crowd(8, 5, trunk + branches).warm()
    targets = [Destination(crowd.grid.at(7, 4)), Destination(crowd.grid.at(7, 0)), Destination(crowd.grid.at(5, 2))]
    crowd.people[0].router.send_to_many(targets, letter())
    crowd.settle()
    assert sorted(crowd.holders()) == [5, 7, 9]
    assert len(crowd.packets()) == 5 + 2 + 2
    assert [len(packet.headings) for packet in crowd.packets()][:5] == [3] * 5
    together = len(crowd.packets())
    crowd.net.frames.clear()
    for target in targets:
        crowd.people[0].router.send_to_cell(target.cell, letter(2))
    crowd.settle()
    assert len(crowd.packets()) == 7 + 7 + 5 > together


def test_one_packet_serves_a_node_and_its_cell() -> None:
    crowd = Crowd(3, 1, [(0, 0), (1, 0), (2, 0), (2, 0), (2, 0)]).warm()
    cell = crowd.grid.at(2, 0)
    crowd.people[0].router.send_to_many([Destination(cell), Destination(cell, NodeId(3))], letter())
    crowd.settle()
    assert crowd.holders() == [3, 3]
    assert len(crowd.packets()) == 2


def test_repeated_destinations_are_served_once_and_many_are_sent_in_parts() -> None:
    crowd = Crowd(5, 1, [(i, 0) for i in range(5)], GeographicOptions(max_headings=2)).warm()
    targets = [Destination(crowd.grid.at(i, 0)) for i in (1, 2, 3, 4, 1)]
    crowd.people[0].router.send_to_many(targets, letter())
    crowd.settle()
    assert crowd.holders() == [1, 2, 3, 4]
    assert all(len(packet.headings) <= 2 for packet in crowd.packets())


def test_moving_nodes_do_not_route() -> None:
    crowd = Crowd(4, 2, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 1), (2, 1)])
    crowd.people[1].host.walks = crowd.people[2].host.walks = True
    crowd.warm()
    for _ in range(10):
        crowd.people[0].router.send_to_cell(crowd.grid.at(3, 0), letter())
    crowd.settle()
    assert crowd.holders() == [3] * 10
    assert not crowd.people[1].host.counted(TrafficKind.FORWARDED)
    assert not crowd.people[2].host.counted(TrafficKind.FORWARDED)


def test_moving_nodes_send_and_receive_over_their_neighbours() -> None:
    crowd = Crowd(5, 1, [(0, 0), (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 0)])
    crowd.people[0].host.walks = crowd.people[6].host.walks = True
    crowd.warm()
    crowd.people[0].router.send_to_node(NodeId(6), crowd.grid.at(4, 0), letter())
    crowd.people[0].router.send_to_cell(crowd.grid.at(4, 0), letter(2))
    crowd.settle()
    assert sorted(crowd.holders()) == [5, 6]
    assert crowd.people[6].arrivals[0].message == letter()


def test_a_node_that_began_to_move_hands_over_what_it_gets() -> None:
    crowd = Crowd(5, 1, [(0, 0), (1, 0), (2, 0), (2, 0), (3, 0), (4, 0)]).warm()
    crowd.people[2].host.walks = crowd.people[3].host.walks = True
    crowd.people[0].router.send_to_cell(crowd.grid.at(4, 0), letter())
    crowd.settle(0.05)
    assert crowd.holders() == [5]


def test_a_moving_node_alone_drops_and_says_so() -> None:
    crowd = Crowd(2, 1, [(0, 0)])
    crowd.people[0].host.walks = True
    crowd.warm()
    crowd.people[0].router.send_to_cell(crowd.grid.at(1, 0), letter())
    number = crowd.people[0].router.send_to_node(NodeId(5), crowd.grid.at(1, 0), letter())
    crowd.settle()
    assert [r.reason for r in crowd.people[0].host.counted(TrafficKind.DROPPED)] == ["nobody in reach"]
    assert crowd.people[0].refusals == [(5, crowd.grid.at(1, 0), number)]


def test_greedy_hops_may_skip_a_cell() -> None:
    hops = []
    for reach_cells in (1, 2):
        crowd = Crowd(9, 1, [(i, 0) for i in range(9)], GeographicOptions(reach_cells=reach_cells)).warm()
        crowd.people[0].router.send_to_cell(crowd.grid.at(8, 0), letter())
        crowd.settle()
        hops.append(crowd.people[8].arrivals[0].hops)
    assert hops == [8, 4]


def test_a_large_area_allows_tours_as_long_as_its_border() -> None:
    few, many = Grid(560.0, 280.0, 40.0), Grid(4000.0, 2000.0, 40.0)
    assert [GeographicOptions().hops_within(grid) for grid in (few, many)] == [200, 900]
    assert GeographicOptions(hop_limit=3).hops_within(many) == 3


def test_hops_are_bounded() -> None:
    crowd = Crowd(6, 1, [(i, 0) for i in range(6)], GeographicOptions(hop_limit=3)).warm()
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
    lost = Detour(grid.at(4, 1), grid.at(3, 1), grid.at(0, 1))
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


def test_a_packet_received_twice_arrives_once() -> None:
    crowd = Crowd(2, 1, [(0, 0), (1, 0)]).warm()
    crowd.people[0].router.send_to_cell(crowd.grid.at(1, 0), letter())
    crowd.settle()
    assert crowd.people[1].router.receive(NodeId(0), crowd.packets()[0])
    assert crowd.holders() == [1]


@pytest.mark.parametrize("headings", [(), (Heading(CellId(77)),)], ids=["none", "no such cell"])
def test_nonsense_from_others_is_counted_and_dropped(headings: tuple[Heading, ...]) -> None:
    crowd = Crowd(2, 1, [(0, 0), (1, 0)]).warm()
    packet = CellPacket(NodeId(1), CellId(1), 1, headings, 0, True, b"?")
    assert crowd.people[0].router.receive(NodeId(1), packet)
    assert [r.reason for r in crowd.people[0].host.counted(TrafficKind.DROPPED)] == ["nonsense"]


def test_an_unreadable_payload_is_dropped_and_other_frames_are_left_alone() -> None:
    crowd = Crowd(2, 1, [(0, 0), (1, 0)]).warm()
    router = crowd.people[0].router
    assert router.receive(NodeId(1), CellPacket(NodeId(1), CellId(1), 1, (Heading(CellId(0)),), 0, True, b"?"))
    assert [r.reason for r in crowd.people[0].host.counted(TrafficKind.DROPPED)] == ["unreadable"]
    assert not router.receive(NodeId(1), NodeAbsent(1, NodeId(2), CellId(0)))
    assert not router.receive(NodeId(1), Beacon(CellId(0), True))


def test_a_cell_outside_the_grid_is_refused() -> None:
    crowd = Crowd(2, 1, [(0, 0), (1, 0)]).warm()
    with pytest.raises(InputError, match="there is no cell 7"):
        crowd.people[0].router.send_to_cell(CellId(7), letter())
    with pytest.raises(InputError, match="hop_limit"):
        GeographicOptions(hop_limit=-1)


@settings(max_examples=15)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=16), st.integers(0, 99))
def test_all_of_a_crowd_agree_on_where_each_cell_is_kept(places: set[tuple[int, int]], seed: int) -> None:
    graph: nx.Graph[tuple[int, int]] = nx.Graph()
    graph.add_nodes_from(sorted(places))
    graph.add_edges_from((a, b) for a in places for b in places if max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1)
    components = [sorted(component) for component in nx.connected_components(graph)]
    together = max(components, key=lambda component: (len(component), component))
    crowd = Crowd(6, 4, together, GeographicOptions.paper(), seed).warm()
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
