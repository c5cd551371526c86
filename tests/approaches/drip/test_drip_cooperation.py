"""Bridges, relays and copies between brokers (DRIP §V-B), and wrong parameters."""

from __future__ import annotations

from typing import Any

import pytest
from drip_world import DripWorld, line, node_ids
from hypothesis import given
from hypothesis import strategies as st

from thyme.approaches.drip.bridges import BridgeTable
from thyme.approaches.drip.broker_memory import event_number
from thyme.approaches.drip.following import Following
from thyme.approaches.drip.options import BridgeOptions
from thyme.approaches.drip.spreading import EpidemicSpreading, MultiCopyMultiDestination
from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.wire.drip import NOBODY, BridgeStatus, Interest

EVENT = ObjectKey("e", NodeId(99))


def carrying(node: int) -> MultiCopyMultiDestination:
    return MultiCopyMultiDestination(NodeId(node), 1, 200, Following(lambda: 0.0, follow_s=60.0, settle_s=5.0))


def interest_of(subscriber: int, *brokers: int, moved_s: float = 1.0) -> Interest:
    return Interest(NodeId(subscriber), 1.0, moved_s, node_ids(*brokers), None)


def test_bridges_are_non_brokers_between_their_two_nearest_brokers_with_a_neighbour_across() -> None:
    world = DripWorld(line(9), (1, 4, 7), k=3)
    sides = {node: drip.bridge.other_side() for node, drip in world.nodes.items()}
    assert sides[2] == 4
    assert sides[3] == 1
    assert sides[5] == 7
    assert sides[6] == 4
    assert [sides[node] for node in (1, 4, 7)] == [NOBODY] * 3, "a broker is no bridge"
    assert sides[0] == NOBODY, "its second nearest broker is 4, but no neighbour of it is in 4's region"
    assert sides[8] == NOBODY


def test_a_node_whose_third_nearest_broker_is_across_the_border_is_no_bridge() -> None:
    # 2 is nearest to 1 and then to 3, and its neighbour 4 belongs to 5: the second condition fails for 5.
    places = [(0.0, 0.0), (60.0, 0.0), (120.0, 60.0), (60.0, 140.0), (200.0, 60.0), (280.0, 60.0)]
    world = DripWorld(places, (1, 3, 5), k=3, likely=1)
    nearest = [nearby.broker for nearby in world.nodes[2].regions.nearest]
    assert 5 not in nearest
    assert world.nodes[4].regions.local_broker == 5
    assert world.nodes[2].bridge.other_side() != 5


def test_brokers_of_touching_regions_can_talk_and_others_cannot() -> None:
    world = DripWorld(line(9), (1, 4, 7), k=3)
    peers = {}
    for node in (1, 4, 7):
        broker = world.nodes[node].broker
        assert broker is not None
        peers[node] = sorted(broker.cooperation.peers())
    assert peers == {1: [4], 4: [1, 7], 7: [4]}


def test_brokers_that_are_neighbours_need_no_bridge() -> None:
    world = DripWorld(line(3), (0, 1, 2), k=3)
    world.subscribe(2, "goal", wait_s=20.0)
    world.insert(1, "o", "goal")
    assert world.names() == ["o"]


def test_a_bridge_that_falls_silent_is_not_used() -> None:
    now = [0.0]
    table = BridgeTable(lambda: now[0], BridgeOptions(life_s=7.5))
    table.hear(NodeId(3), BridgeStatus(NodeId(7), 0.02))
    now[0] = 5.0
    table.hear(NodeId(4), BridgeStatus(NodeId(7), 0.05))
    table.hear(NodeId(5), BridgeStatus(NodeId(8), 0.01))
    assert list(table.reachable()) == node_ids_list(8, 7)
    assert table.best(NodeId(7)) == 4
    now[0] = 10.0
    assert table.best(NodeId(7)) == 4
    table.hear(NodeId(4), BridgeStatus(NodeId(8), 0.05))
    assert list(table.reachable()) == node_ids_list(8), "a bridge leads to one other broker only"
    table.lose(NodeId(8), NodeId(4))
    table.lose(NodeId(8), NodeId(5))
    assert table.best(NodeId(8)) == NOBODY


def test_a_relay_that_is_lost_is_repeated() -> None:
    world = DripWorld(line(9), (1, 4, 7), k=3)
    world.subscribe(5, "goal", wait_s=20.0)
    world.lose(message="RelayReceived")
    world.insert(0, "o", "goal", wait_s=3.0)
    assert world.names() == ["o"]
    world.simulation.rules = ()
    world.simulation.keep_frames()
    world.wait(15.0)
    assert world.sent("Relay"), "the source was not told that it arrived"
    broker = world.nodes[1].broker
    assert broker is not None
    assert broker.unfinished() == []
    assert world.names() == ["o"]


def test_a_source_gives_m_copies_to_carriers_and_the_event_to_destinations_it_meets() -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, node_ids(5, 6), copies=2)
    told: list[tuple[int, tuple[NodeId, ...]]] = []
    for peers in (node_ids(1, 2, 3), node_ids(1, 2, 3), node_ids(1, 2, 3), node_ids(5, 3), node_ids(6, 3)):
        handover = spreading.next(peers)
        if handover is not None:
            told.append((handover.peer, handover.destinations))
            spreading.handed_over(handover, ())
    assert told == [(1, node_ids(5, 6)), (2, node_ids(5, 6)), (5, ()), (6, ())]
    assert spreading.unfinished() == []


def test_a_nearby_broker_that_is_interested_itself_carries_the_event_on_to_the_others() -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, node_ids(1, 5), copies=1)
    handover = spreading.next(node_ids(1, 2))
    assert handover is not None
    assert (handover.peer, handover.copy, handover.destinations) == (1, True, node_ids(5))
    spreading.handed_over(handover, ())
    assert spreading.next(node_ids(1, 2)) is None


@given(
    st.lists(st.lists(st.integers(1, 15), max_size=6), max_size=30),
    st.lists(st.integers(1, 15), min_size=1, max_size=5, unique=True),
    st.integers(1, 4),
)
def test_never_more_than_m_carriers_and_only_destinations_besides(
    meetings: list[list[int]], destinations: list[int], copies: int
) -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, node_ids(*destinations), copies)
    carriers: list[int] = []
    delivered: list[int] = []
    for peers in meetings:
        handover = spreading.next(node_ids(*peers))
        if handover is None:
            continue
        spreading.handed_over(handover, ())
        (carriers if handover.copy else delivered).append(handover.peer)
    assert len(carriers) <= copies
    assert len(set(carriers + delivered)) == len(carriers) + len(delivered), "nobody gets it twice"
    assert set(delivered) <= set(destinations)


def test_a_carrier_brings_the_event_to_its_destinations_and_to_nobody_else() -> None:
    spreading = carrying(1)
    spreading.hold(EVENT, node_ids(1, 5), copies=0)
    assert spreading.next(node_ids(2, 3)) is None
    handover = spreading.next(node_ids(2, 5))
    assert handover is not None
    assert handover.peer == 5


def test_destinations_follow_a_subscriber_until_its_local_broker_has_the_event() -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, node_ids(5, 6), copies=0)
    spreading.follow(EVENT, [interest_of(30, 5, 6)], here=False)
    spreading.moved(interest_of(30, 7, 8))
    assert [served(spreading, peer) for peer in (5, 6, 7)] == [True, True, True]
    spreading.moved(interest_of(30, 9, 7, moved_s=6.0))
    assert not served(spreading, 9), "the event was at 7 while 30 was there"
    assert served(spreading, 8)


def test_a_subscriber_that_had_left_before_the_event_came_is_followed_on() -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, node_ids(5), copies=0)
    spreading.follow(EVENT, [interest_of(30, 5)], here=False)
    assert served(spreading, 5)
    spreading.moved(interest_of(30, 9, moved_s=2.0))
    spreading.moved(interest_of(30, 7, moved_s=40.0))
    assert served(spreading, 7), "and it never was where the event could reach it"


def test_a_subscriber_that_comes_to_a_broker_with_the_event_is_not_followed_further() -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, node_ids(5, 6), copies=0)
    spreading.follow(EVENT, [interest_of(30, 5, 6)], here=False)
    assert served(spreading, 6)
    spreading.moved(interest_of(30, 6, 7))
    spreading.moved(interest_of(30, 8, 7, moved_s=6.0))
    assert not served(spreading, 8)


def test_an_old_event_gets_no_new_destinations() -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, node_ids(5), copies=0)
    spreading.follow(EVENT, [interest_of(30, 5)], here=False)
    spreading.moved(interest_of(30, 7, moved_s=61.0))
    assert not served(spreading, 7)


def test_a_source_whose_member_left_gives_the_copies_that_it_had_no_use_for() -> None:
    spreading = carrying(0)
    spreading.hold(EVENT, (), copies=1)
    spreading.follow(EVENT, [interest_of(30, 0)], here=True)
    assert spreading.next(node_ids(1)) is None, "nobody elsewhere wants it"
    spreading.moved(interest_of(30, 9, moved_s=4.0))
    handover = spreading.next(node_ids(1))
    assert handover is not None
    assert (handover.peer, handover.copy, handover.destinations) == (1, True, node_ids(9))


def served(spreading: MultiCopyMultiDestination, peer: int) -> bool:
    handover = spreading.next(node_ids(peer))
    if handover is not None:
        spreading.handed_over(handover, ())
    return handover is not None


def test_a_broker_with_several_events_for_another_asks_first_which_of_them_it_lacks() -> None:
    spreading = carrying(0)
    keys = [ObjectKey(f"e{i}", NodeId(9)) for i in range(4)]
    for key in keys:
        spreading.hold(key, node_ids(1), 0)
    offer = spreading.next(node_ids(1))
    assert offer is not None
    assert offer.offers == tuple(event_number(key) for key in keys)
    spreading.handed_over(offer, tuple(event_number(key) for key in keys[:2]))
    given_away: list[ObjectKey] = []
    while (handover := spreading.next(node_ids(1))) is not None:
        given_away += handover.keys
        spreading.handed_over(handover, ())
    assert given_away == keys[2:]


@pytest.mark.parametrize(("passing", "told"), [("interested", ["o"]), ("copies", [])])
def test_an_interested_broker_passes_an_event_on_to_the_others_unless_only_copies_may(
    passing: str, told: list[str]
) -> None:
    # In a row of regions 1 reaches 4 alone, which takes the copy, carries it to 7 and meets nobody else.
    world = DripWorld(line(12), (1, 4, 7, 10), k=4, likely=1, copies=1, passing=passing)
    for node in (8, 11):
        world.subscribe(node, "goal", wait_s=30.0)
    world.insert(0, "o", "goal", wait_s=60.0)
    assert world.names(8) == ["o"]
    assert world.names(11) == told


def test_the_epidemic_asks_a_new_broker_first_which_events_it_lacks() -> None:
    spreading = EpidemicSpreading(1, 200)
    keys = [ObjectKey(f"e{i}", NodeId(9)) for i in range(5)]
    for key in keys:
        spreading.hold(key, (), 0)
    offer = spreading.next(node_ids(1))
    assert offer is not None
    assert offer.offers == tuple(event_number(key) for key in keys)
    spreading.handed_over(offer, tuple(event_number(key) for key in keys[:3]))
    given_away: list[ObjectKey] = []
    while (handover := spreading.next(node_ids(1))) is not None:
        given_away += handover.keys
        spreading.handed_over(handover, ())
    assert given_away == keys[3:]
    late = ObjectKey("late", NodeId(9))
    spreading.hold(late, (), 0)
    spreading.has(NodeId(1), late)
    assert spreading.next(node_ids(1)) is None
    spreading.forget_peer(NodeId(1))
    assert spreading.next(node_ids(1)) is not None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"brokers": 9, "likely_brokers": 5, "copies": 4}, r"5 \+ 4 is not below brokers = 9.*l \+ m < k"),
        ({"brokers": -1}, "brokers is -1"),
        ({"copies": 0}, "copies is 0"),
        ({"likely_brokers": 0}, "likely_brokers is 0"),
        ({"exponent": 1.0}, "exponent is 1.0; expected a number > 1"),
        ({"ability": -1.0}, "ability is -1"),
        ({"relay": "flood"}, "relay"),
        ({"selection": "best"}, "selection"),
        ({"regions": {"period_s": 20.0}}, "period_s is 20"),
        ({"cooperation": {"events_per_relay": 0}}, "events_per_relay is 0"),
        ({"memory_events": 0}, "memory_events is 0"),
        ({"brokrs": 9}, "brokrs"),
        ({"sf_contacts": "all"}, "sf_contacts"),
        ({"passing": "all"}, "passing"),
        ({"refresh_s": 80.0}, "refresh_s is 80.0; expected a number < 75"),
        ({"exponent": float("nan")}, "exponent is nan"),
        ({"regions": {"hop_limit": 0}}, "regions.hop_limit is 0; expected a whole number >= 1"),
        (
            {"regions": {"period_s": 20.0, "life_s": 50.0}},
            "regions.neighbour_life_s is 5; expected at least regions.period_s, 20",
        ),
        ({"exponent": float("inf")}, "exponent is inf"),
        ({"ability": float("inf")}, "ability is inf"),
        ({"regions": {"life_s": float("inf")}}, "life_s inf; expected finite times"),
        ({"cooperation": {"answer_wait_s": float("nan")}}, "answer_wait_s is nan"),
        ({"regions": {"hop_wait_s": -1.0}}, "regions.hop_wait_s is -1"),
        ({"bridges": {"status_s": 0.0}}, "bridges.status_s is 0"),
        ({"bridges": {"crossings": 0}}, "bridges.crossings is 0"),
        ({"cooperation": {"answer_wait_s": 0.0}}, "cooperation.answer_wait_s is 0"),
        ({"cooperation": {"follow_s": -1.0}}, "cooperation.follow_s is -1"),
    ],
)
def test_wrong_parameters_are_refused_by_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        find_approach("drip").configure(settings)


def node_ids_list(*nodes: int) -> list[NodeId]:
    return list(node_ids(*nodes))
