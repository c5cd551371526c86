"""Geographic routing on small crowds: addresses, NACKs, aggregation and mobility."""

from __future__ import annotations

import pytest
from cell_crowd import Crowd, letter

from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId
from thyme.model.records import TrafficKind
from thyme.routing.cells.addresses import Destination, Form, GeographicOptions
from thyme.routing.cells.beacons import BeaconOptions
from thyme.wire.geographic import CellPacket, Heading, NodeAbsent
from thyme.wire.routing import Beacon


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


@pytest.mark.parametrize("heard_per_s", [0.0, 1.0])
def test_where_beacons_are_rare_a_node_that_was_not_heard_yet_is_tried(heard_per_s: float) -> None:
    crowd = Crowd(1, 1, [(0, 0)] * 12, beacons=BeaconOptions(heard_per_s=heard_per_s))
    crowd.net.cut(0, 5)
    crowd.people[6].host.on = False
    crowd.warm()
    crowd.net.mend(0, 5)
    assert crowd.people[0].beacons.rare is (heard_per_s > 0.0)
    crowd.people[0].router.send_to_node(NodeId(5), CellId(0), letter())
    crowd.people[0].router.send_to_node(NodeId(6), CellId(0), letter())
    crowd.net.run(crowd.net.now_s + 0.1)
    absent = [node for node, _, _ in crowd.people[0].refusals]
    assert (crowd.holders(), absent) == (([5], [6]) if heard_per_s else ([], [5, 6]))


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
    crowd = Crowd(8, 5, trunk + branches, GeographicOptions(leap_beyond=0)).warm()
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
    crowd = Crowd(3, 1, [(0, 0), (1, 0), (2, 0), (2, 0), (2, 0)], GeographicOptions(leap_beyond=0)).warm()
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
