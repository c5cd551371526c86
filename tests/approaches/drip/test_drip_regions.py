"""Selection of brokers and Voronoi regions (DRIP §IV)."""

from __future__ import annotations

from random import Random

import pytest
from drip_world import FAST, DripWorld, Place, line, node_ids
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.approaches.drip.election import detecting_ability, standing_of
from thyme.approaches.drip.options import DripOptions, advice
from thyme.model.ids import NodeId
from thyme.sim.machine import Receive
from thyme.wire.drip import NOBODY, Presence
from thyme.wire.message import Message
from thyme.world.mobility.placement import uniform_places
from thyme.world.mobility.waypoint import DRIP_WALK, random_waypoint
from thyme.world.movement import movement_of_legs, walk


def crowd(seed: int, nodes: int = 40, side_m: float = 400.0) -> list[Place]:
    random = Random(seed)
    return [(random.uniform(0.0, side_m), random.uniform(0.0, side_m)) for _ in range(nodes)]


def test_abilities_follow_the_power_law_and_depend_on_seed_and_node_alone() -> None:
    drawn = [detecting_ability(7, node, 2.0) for node in range(20_000)]
    assert drawn[:10] == [detecting_ability(7, node, 2.0) for node in range(10)]
    assert min(drawn) >= 1.0
    for bound in (2.0, 5.0, 20.0):
        above = sum(ability > bound for ability in drawn) / len(drawn)
        assert above == pytest.approx(1.0 / bound, rel=0.1), "with exponent 2, P(X > x) = 1 / x"


def test_random_selection_does_not_go_by_ability() -> None:
    chosen = DripOptions(selection="random")
    by_chance = sorted(range(200), key=lambda node: standing_of(chosen, node))
    by_ability = sorted(range(200), key=lambda node: standing_of(DripOptions(), node))
    assert by_chance != by_ability
    assert standing_of(DripOptions(), 5) == detecting_ability(0, 5, 2.0)


def test_the_k_most_able_nodes_become_brokers_with_regions_of_their_own() -> None:
    world = DripWorld(crowd(3, side_m=300.0), (7, 11, 23, 30), k=4)
    assert sorted(world.in_office()) == [7, 11, 23, 30]
    regions = {world.nodes[broker].regions.own_region for broker in world.in_office()}
    assert len(regions) == 4
    assert 0 not in regions


def field(nodes: int) -> list[tuple[float, float]]:
    """Rows of nodes of which each reaches its neighbours."""
    return [(60.0 * (i % 10), 60.0 * (i // 10)) for i in range(nodes)]


@pytest.mark.parametrize(("nodes", "warned"), [(1, False), (6, True), (12, False)])
def test_a_node_that_knows_fewer_people_than_brokers_were_asked_for_says_so(nodes: int, warned: bool) -> None:
    world = DripWorld(field(nodes), (), k=8)
    said = {drip.advice() for drip in world.nodes.values()}
    assert said == {advice(DripOptions(brokers=8), nodes) if warned else ""}


@pytest.mark.parametrize(("nodes", "least", "most"), [(8, 5, 5), (30, 5, 5), (100, 7, 14)])
def test_without_a_number_a_tenth_of_the_crowd_become_brokers_and_five_at_least(
    nodes: int, least: int, most: int
) -> None:
    world = DripWorld(field(nodes), (), likely=2, copies=2, k=0)
    by_ability = sorted(range(nodes), key=world.ability, reverse=True)
    brokers = world.in_office()
    assert least <= len(brokers) <= most
    assert set(brokers) == set(by_ability[: len(brokers)])
    assert len({drip.election.best() for drip in world.nodes.values()}) == 1, "all know the same ones"


def test_with_a_broker_for_everybody_a_person_is_warned() -> None:
    assert "makes all of 20 people brokers" in advice(DripOptions(brokers=20), 20)
    assert advice(DripOptions(brokers=20), 21) == advice(DripOptions(), 2) == ""


def test_a_more_able_node_that_joins_later_takes_the_place_of_the_least_able_broker() -> None:
    world = DripWorld(line(6), (0, 2, 4, 5), k=3, settle=False)
    world.switch_off(0)
    world.wait(20.0)
    assert sorted(world.in_office()) == [2, 4, 5]
    world.switch_on(0)
    world.wait(20.0)
    assert sorted(world.in_office()) == [0, 2, 4]
    assert world.nodes[5].regions.local_broker == 4


def test_when_all_brokers_are_gone_the_others_choose_new_ones() -> None:
    world = DripWorld(line(7), (1, 3, 5), k=3)
    for broker in (1, 3, 5):
        world.switch_off(broker)
    world.wait(120.0)
    assert world.in_office() == [0, 2, 4, 6], "every one of them is alone, since those between them are gone"


def test_every_node_is_attached_to_its_nearest_broker_and_knows_the_l_nearest() -> None:
    world = DripWorld(crowd(5, side_m=350.0), (1, 2, 3, 4, 5, 6), likely=3, k=6)
    for node, drip in world.nodes.items():
        if drip.broker is not None:
            assert drip.regions.local_broker == node
            continue
        groups = world.nearest_brokers(node)
        known = list(drip.regions.brokers(3))
        assert known[0] == drip.regions.local_broker
        nearest: set[int] = set()
        for group in groups:
            # Among equally distant brokers any may be known; all of a nearer group must be.
            assert group <= set(known) or not set(known) - nearest - group
            nearest |= group


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.integers(3, 7), st.integers(15, 35))
def test_attachment_to_the_nearest_broker_holds_in_any_crowd_that_stands(seed: int, k: int, nodes: int) -> None:
    world = DripWorld(crowd(seed, nodes), range(k), k=k, regions=FAST, settle=False)
    world.wait(12.0)
    for node, drip in world.nodes.items():
        groups = world.nearest_brokers(node)
        if groups:
            assert drip.regions.local_broker in groups[0], f"node {node} of crowd {seed}"
        else:
            assert drip.regions.local_broker == NOBODY


@settings(max_examples=5)
@given(st.integers(0, 10_000))
def test_under_movement_everybody_is_attached_to_the_nearest_broker_that_broadcasts_can_have_shown(seed: int) -> None:
    """Nodes walk at 10 to 20 m/s for 20 s, end the leg they are on, and then stand.

    While they walk, a node's local broker is exactly the one of least delay among the newest broadcasts that got to it
    within `life_s`, as a witness beside the protocol heard them. Two things are tolerated: a broker now silent may
    be remembered for one more tick of `period_s`; and one may have been dropped from the list of the l nearest, if at
    least l others were nearer or heard since. Once they stand, attachment is to the nearest broker in hops, exactly.
    """
    side_m = 350.0
    places = uniform_places(25, side_m, side_m, seed)
    walking = random_waypoint(places, side_m, side_m, DRIP_WALK, 20.0, seed)
    world = DripWorld(walking, range(6), k=6, likely=4, regions=FAST, settle=False)
    heard: dict[int, dict[int, tuple[float, float]]] = {node: {} for node in world.nodes}
    for node, host in enumerate(world.simulation.hosts):
        host.begin_life(_witness(world, node, heard[node]))
    checked = 0
    while world.now_s < 20.0:
        world.wait(0.7)
        for node, drip in world.nodes.items():
            if drip.broker is None:
                checked += _assert_nearest_heard(world, node, heard[node])
    assert checked > 50
    world.wait(40.0)
    for node, drip in world.nodes.items():
        groups = world.nearest_brokers(node)
        assert not groups or drip.regions.local_broker in groups[0]


def _witness(world: DripWorld, node: int, heard: dict[int, tuple[float, float]]) -> Receive:
    """Hears what the node hears, and keeps of each broker when its newest broadcast came first and with what delay."""
    newest: dict[int, float] = {}

    def receive(sender: NodeId, message: Message) -> None:
        if (
            isinstance(message, Presence)
            and message.broker != node
            and message.sent_s > newest.get(message.broker, 0.0)
        ):
            newest[message.broker] = message.sent_s
            heard[message.broker] = (world.now_s, world.now_s - message.sent_s)
        world.nodes[node].receive(sender, message)

    return receive


def _assert_nearest_heard(world: DripWorld, node: int, heard: dict[int, tuple[float, float]]) -> bool:
    """Whether there was a broker to be attached to."""
    local = world.nodes[node].regions.local_broker
    kept = {nearby.broker for nearby in world.nodes[node].regions.nearest}
    fresh = {
        broker: delay_s
        for broker, (at_s, delay_s) in heard.items()
        if world.now_s - at_s <= FAST.life_s
        and (
            broker in kept or sum(o_s > at_s or o < delay_s for o_s, o in heard.values()) < world.options.likely_brokers
        )
    }
    lingering = {b: d for b, (at_s, d) in heard.items() if world.now_s - at_s <= FAST.life_s + FAST.period_s}
    if not fresh:
        assert local == NOBODY or local in lingering
        return False
    nearest = min(fresh, key=lambda broker: (fresh[broker], broker))
    if local != nearest:
        assert local in lingering, f"node {node} is attached to {local}, which it has not heard lately"
        assert local not in fresh, f"node {node} is attached to {local}, but {nearest} is nearer"
        assert lingering[local] <= fresh[nearest]
    return True


def test_a_broadcast_stops_where_l_brokers_are_nearer() -> None:
    world = DripWorld(line(13), (0, 4, 6, 8, 12), k=5, likely=2)
    world.simulation.keep_frames()
    world.wait(world.options.regions.period_s)
    assert 0 not in world.nodes[8].regions.brokers(9)
    assert 0 not in [nearby.broker for node in range(6, 13) for nearby in world.nodes[node].regions.nearest]
    senders = [sender for sender, _ in world.sent("Presence")]
    for node in range(13):
        own = 1 if node in (0, 4, 6, 8, 12) else 0
        # One more where two brokers are equally far: either may come first.
        assert senders.count(node) <= own + 3, "a node passes on the broadcasts of its l nearest brokers only"


def test_a_broker_that_falls_silent_is_forgotten_and_its_members_attach_elsewhere() -> None:
    world = DripWorld(line(7), (0, 3, 6), k=3)
    assert world.nodes[2].regions.local_broker == 3
    world.switch_off(3)
    world.wait(20.0)
    assert world.nodes[2].regions.local_broker == 0
    assert world.nodes[4].regions.local_broker == 6


def test_who_walks_from_one_broker_to_another_changes_regions_on_the_way() -> None:
    ways = [walk([(0.0, 80.0 * i, 0.0)]) for i in range(7)]
    ways.append(walk([(0.0, 0.0, 10.0), (20.0, 0.0, 10.0), (60.0, 480.0, 10.0)]))
    world = DripWorld(movement_of_legs(500.0, 500.0, ways), (0, 3, 6), k=3, regions=FAST)
    assert world.nodes[7].regions.local_broker == 0
    visited = [0]
    while world.now_s < 70.0:
        world.wait(1.0)
        local = world.nodes[7].regions.local_broker
        assert local != NOBODY
        if local != visited[-1]:
            visited.append(local)
    assert list(dict.fromkeys(visited)) == [0, 3, 6], "half way between two it may waver"
    assert visited[-1] == 6


def test_the_delay_of_a_broadcast_grows_with_the_distance() -> None:
    world = DripWorld(line(6), (0, 5), k=3, likely=1)
    delays = [world.nodes[node].regions.nearest[0].delay_s for node in (1, 2)]
    assert 0.0 < delays[0] < delays[1]
    assert world.nodes[2].regions.brokers(2) == node_ids(0, 3) or world.nodes[2].regions.brokers(1) == node_ids(0)
