"""Subscription, publication and notification (DRIP §V-A), and what DRIP offers as a reactive store."""

from __future__ import annotations

import msgspec
import pytest
from drip_world import FAST, DripWorld, line

from thyme.approaches.drip.broker_memory import BrokerMemory
from thyme.approaches.drip.options import DripOptions
from thyme.approaches.interface import Failure
from thyme.approaches.requests import RetryOptions
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, DataObject, Metadata
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.wire.drip import Interest
from thyme.world.movement import movement_of_legs, walk

THREE = (1, 4, 7)
"""Brokers in a line of nine: regions 0–2, 3–5 and 6–8."""


@pytest.fixture
def world() -> DripWorld:
    return DripWorld(line(9), THREE, k=3)


def test_an_event_reaches_subscribers_of_its_own_region(world: DripWorld) -> None:
    world.subscribe(0, "goal & !replay")
    world.insert(2, "first", "Goal")
    world.insert(2, "second", "goal", "replay")
    assert world.names() == ["first"]
    assert all(outcome.ok for outcome in world.outcomes)


def test_a_notification_is_flooded_in_the_region_and_nowhere_else(world: DripWorld) -> None:
    world.subscribe(3, "goal")
    world.simulation.keep_frames()
    world.insert(5, "o", "goal")
    assert world.names() == ["o"]
    assert sorted({sender for sender, _ in world.sent("RegionEvent")}) == [3, 4, 5]
    assert len(world.sent("RegionEvent")) == 3
    assert world.sent("Relay") == []


def test_an_event_that_nobody_wants_stays_with_its_broker(world: DripWorld) -> None:
    world.subscribe(8, "goal")
    world.simulation.keep_frames()
    world.insert(0, "o", "foul")
    assert world.sent("RegionEvent") == []
    assert world.nodes[1].broker is not None
    assert world.nodes[1].broker.memory.event_count == 1
    assert [node for node in THREE if node != 1 and _events(world, node)] == []


def test_an_event_crosses_to_the_next_region_over_a_bridge(world: DripWorld) -> None:
    world.subscribe(5, "goal", wait_s=20.0)
    world.simulation.keep_frames()
    world.insert(0, "o", "goal")
    assert world.names() == ["o"]
    relayed = world.sent("Relay")
    assert (2, 3) in relayed, "the bridge hands it to its neighbour across the border"


def test_two_regions_away_a_carrier_brings_it(world: DripWorld) -> None:
    world.subscribe(8, "goal", wait_s=30.0)
    world.insert(0, "o", "goal")
    assert world.names() == ["o"]
    assert [bool(_events(world, broker)) for broker in THREE] == [True, True, True]


def test_subscriptions_reach_all_brokers_in_time(world: DripWorld) -> None:
    world.subscribe(0, "goal", wait_s=30.0)
    for node in THREE:
        broker = world.nodes[node].broker
        assert broker is not None
        interest = broker.memory.interest(NodeId(0))
        assert interest is not None
        assert interest.brokers[0] == 1


def test_sf_gives_every_event_to_every_broker_wanted_or_not() -> None:
    world = DripWorld(line(9), THREE, k=3, relay="sf", sf_contacts="bridges")
    world.subscribe(8, "goal")
    for i in range(5):
        world.insert(0, f"o{i}", "foul", wait_s=0.5)
    world.insert(0, "o", "goal", wait_s=20.0)
    assert [_events(world, broker) for broker in THREE] == [6, 6, 6]
    assert world.names() == ["o"]


def test_sf_hands_events_over_between_brokers_in_range_only_unless_it_may_use_bridges() -> None:
    # Broker 1 walks from beside node 0 past broker 4, and back.
    ways = [walk([(0.0, 80.0 * i, 0.0)]) for i in range(9)]
    ways[1] = walk([(0.0, 80.0, 0.0), (60.0, 80.0, 0.0), (80.0, 260.0, 0.0), (90.0, 260.0, 0.0), (110.0, 80.0, 0.0)])
    world = DripWorld(movement_of_legs(700.0, 700.0, ways), THREE, k=3, relay="sf")
    world.insert(0, "o", "goal", wait_s=30.0)
    assert [_events(world, broker) for broker in THREE] == [1, 0, 0]
    world.wait(65.0)
    assert [_events(world, broker) for broker in THREE] == [1, 1, 0]


def test_a_member_that_was_beyond_the_region_when_an_event_was_flooded_gets_it_at_its_next_broker() -> None:
    # 9 runs off to the region of 7 just before the event comes; until the next broadcast 1 takes it for its own.
    ways = [walk([(0.0, 80.0 * i, 0.0)]) for i in range(9)]
    ways.append(walk([(0.0, 80.0, 10.0), (40.1, 80.0, 10.0), (40.6, 640.0, 10.0)]))
    world = DripWorld(movement_of_legs(700.0, 700.0, ways), THREE, k=3)
    world.subscribe(9, "goal")
    world.wait(40.7 - world.now_s)
    assert world.nodes[9].regions.local_broker == 1, "it has not heard 7 yet"
    world.insert(0, "o", "goal", wait_s=0.1)
    assert world.names() == []
    world.wait(30.0)
    assert world.nodes[9].regions.local_broker == 7
    assert world.names() == ["o"]


def test_brokers_subscribe_and_publish_like_everybody(world: DripWorld) -> None:
    world.subscribe(4, "goal", wait_s=20.0)
    world.insert(4, "own", "goal")
    world.insert(7, "other", "goal")
    assert world.names() == ["own", "other"]


def test_each_object_is_notified_once_however_many_subscriptions_brokers_and_ways(world: DripWorld) -> None:
    world.subscribe(2, "goal | final", wait_s=20.0)
    world.insert(3, "o", "goal", "final", wait_s=40.0)
    assert world.names() == ["o"]


def test_on_hand_over_the_former_broker_is_told_to_quit_and_the_new_one_knows_all() -> None:
    ways = [walk([(0.0, 80.0 * i, 0.0)]) for i in range(9)]
    ways.append(walk([(0.0, 80.0, 10.0), (40.0, 80.0, 10.0), (70.0, 560.0, 10.0)]))
    world = DripWorld(movement_of_legs(700.0, 700.0, ways), THREE, k=3, regions=FAST)
    world.subscribe(9, "goal")
    members = {node: world.nodes[node].broker for node in THREE}
    assert 9 in members[1].members  # type: ignore[union-attr]
    world.wait(60.0)
    assert [9 in members[node].members for node in THREE] == [False, False, True]  # type: ignore[union-attr]
    world.insert(8, "o", "goal")
    assert world.names() == ["o"]


def test_events_that_came_while_a_subscriber_was_between_brokers_are_caught_up_on(world: DripWorld) -> None:
    world.subscribe(3, "goal", TimeFrame(world.now_s, None))
    world.lose(message="RegionEvent")
    for i in range(20):
        world.insert(4, f"o{i}", "goal", wait_s=0.2)
    assert world.names() == []
    world.simulation.rules = ()
    world.wait(world.options.refresh_s + 10.0)
    assert sorted(world.names()) == sorted(f"o{i}" for i in range(20))


def test_a_new_subscription_on_the_past_gets_what_brokers_remember(world: DripWorld) -> None:
    world.insert(0, "near", "goal")
    world.insert(3, "far", "goal")
    world.subscribe(0, "goal", TimeFrame.past(world.now_s), wait_s=40.0)
    world.insert(0, "later", "goal")
    assert sorted(world.names()) == ["far", "near"]


def test_time_frames_are_respected_at_delivery(world: DripWorld) -> None:
    world.insert(0, "old", "goal")
    world.subscribe(2, "goal", TimeFrame(world.now_s, world.now_s + 30.0), wait_s=20.0)
    world.insert(0, "within", "goal", wait_s=15.0)
    world.insert(0, "after", "goal")
    assert world.names() == ["within"]


def test_after_unsubscribing_nothing_more_arrives(world: DripWorld) -> None:
    key = world.subscribe(5, "goal", wait_s=20.0)
    world.insert(0, "before", "goal")
    world.unsubscribe(5, key.sid, wait_s=30.0)
    world.insert(0, "after", "goal")
    assert world.names() == ["before"]
    assert _events(world, 4) == 1, "the source knows that nobody wants it any more"


def test_a_publication_that_no_broker_hears_times_out() -> None:
    world = DripWorld(line(9), THREE, k=3, retry=RetryOptions(timeout_s=0.5, retries=2))
    world.lose(message="Routed")
    world.insert(0, "o", "goal", wait_s=20.0)
    assert world.outcomes[-1].failure is Failure.TIMEOUT


def test_operations_survive_loss_by_retrying(world: DripWorld) -> None:
    world.lose(probability=0.1)
    for i in range(8):
        world.insert(0, f"o{i}", "goal")
    world.subscribe(2, "goal")
    assert sum(outcome.ok for outcome in world.outcomes) >= 8


def test_contents_come_with_their_event(world: DripWorld) -> None:
    world.subscribe(2, "goal")
    metadata = world.insert(0, "o", "goal", data=b"the ball is in")
    fetched: list[tuple[Failure, Content]] = []
    for node in (2, 0, 8):
        world.nodes[node].retrieve(metadata, lambda outcome, data: fetched.append((outcome.failure, data)))
    assert fetched == [
        (Failure.NONE, b"the ball is in"),
        (Failure.NONE, b"the ball is in"),
        (Failure.NOT_FOUND, b""),
    ]


def test_what_drip_cannot_do_is_declared_and_refused(world: DripWorld) -> None:
    drip = world.nodes[0]
    assert drip.capabilities.stores
    assert drip.capabilities.answers_past
    assert drip.capabilities.past_is_best_effort
    world.insert(0, "o", "goal")
    with pytest.raises(InputError, match="only the owner can delete"):
        drip.delete("other", world.outcomes.append)
    with pytest.raises(InputError, match="at most 1000 bytes"):
        drip.insert("large", bytes(1_001), ["goal"], b"", world.outcomes.append)
    with pytest.raises(InputError, match="immutable"):
        drip.insert("o", b"", ["goal"], b"", world.outcomes.append)
    with pytest.raises(InputError, match="tag"):
        drip.insert("untagged", b"", [], b"", world.outcomes.append)
    with pytest.raises(InputError, match="no subscription 9"):
        drip.unsubscribe(9, world.outcomes.append)


def test_what_its_owner_deleted_is_forgotten_by_brokers_and_subscribers_and_told_to_nobody_else(
    world: DripWorld,
) -> None:
    world.subscribe(8, "goal")
    metadata = world.insert(0, "o", "goal")
    assert world.names() == ["o"]
    world.nodes[0].delete("o", world.outcomes.append)
    world.wait(30.0)
    world.subscribe(4, "goal")
    assert world.names() == ["o"]
    assert all(outcome.ok for outcome in world.outcomes)
    found: list[Failure] = []
    world.nodes[8].retrieve(metadata, lambda outcome, data: found.append(outcome.failure))
    assert found == [Failure.DELETED]
    assert all(drip.broker.memory.event(metadata.key) is None for drip in world.nodes.values() if drip.broker)


def test_subscriptions_and_brokers_events_survive_a_restart(world: DripWorld) -> None:
    world.insert(0, "o", "goal")
    world.subscribe(5, "final")
    for node in (1, 5):
        world.switch_off(node)
    world.wait(5.0)
    for node in (1, 5):
        world.switch_on(node)
    world.wait(40.0)
    world.insert(3, "new", "final")
    assert world.names(5) == ["new"]
    world.subscribe(0, "goal")
    assert world.names(0) == ["o"]


def test_the_least_wanted_and_oldest_events_give_way() -> None:
    world = DripWorld(line(2), (0,), k=3, memory_events=3)
    world.wait(100.0)  # none of them is new
    memory = BrokerMemory(world.simulation.hosts[1], DripOptions(memory_events=3))
    wanted = Subscription.to_query(SubscriptionKey(0, NodeId(5)), parse_query("goal"), TimeFrame.always())
    memory.learn(Interest(NodeId(5), 1.0, 1.0, (NodeId(0),), (wanted,)))
    gone = [memory.add(_event(name, tag, at_s)) for name, tag, at_s in (
        ("wanted", "goal", 1.0), ("old", "foul", 2.0), ("new", "foul", 3.0),
        ("newer", "foul", 4.0), ("late", "foul", 0.5), ("best", "goal", 5.0), ("best too", "goal", 6.0),
    )]  # fmt: skip
    names = [key.oid if key else None for key in gone]
    assert names == [None, None, None, "old", "late", "new", "newer"]
    assert memory.knows(ObjectKey("old", NodeId(9)))
    assert memory.event(ObjectKey("old", NodeId(9))) is None


def test_a_full_broker_keeps_the_newest_events_whether_anybody_asks_for_them_or_not() -> None:
    world = DripWorld(line(2), (0,), k=3)
    world.wait(100.0)
    memory = BrokerMemory(world.simulation.hosts[1], DripOptions(memory_events=3))
    wanted = Subscription.to_query(SubscriptionKey(0, NodeId(5)), parse_query("goal"), TimeFrame.always())
    memory.learn(Interest(NodeId(5), 1.0, 1.0, (NodeId(0),), (wanted,)))
    events = [
        *((f"old{i}", "goal", 1.0 + i) for i in range(3)),
        *((f"new{i}", "foul", 118.0 + i / 9) for i in range(4)),
    ]
    gone = [memory.add(_event(name, tag, at_s)) for name, tag, at_s in events]
    assert [key.oid if key else None for key in gone] == [None, None, None, "old0", "old1", "old2", "new0"]


def test_a_broker_remembers_in_proportion_to_its_ability_if_asked_to() -> None:
    options = DripOptions(memory_events=100, events_per_ability=10.0)
    assert [options.memory_of(ability) for ability in (0.01, 1.0, 2.5, 99.0)] == [1, 10, 25, 100]
    host = DripWorld(line(2), (0,), k=3).simulation.hosts[1]
    memory = BrokerMemory(host, msgspec.structs.replace(options, ability=0.2))
    for i in range(5):
        memory.add(_event(f"e{i}", "goal", 1.0 + i))
    assert [key.oid for key in memory.events()] == ["e3", "e4"]


def test_older_news_of_a_subscriber_does_not_replace_newer() -> None:
    world = DripWorld(line(2), (0,), k=3)
    memory = BrokerMemory(world.simulation.hosts[1], DripOptions())
    goal = Subscription.to_query(SubscriptionKey(0, NodeId(5)), parse_query("goal"), TimeFrame.always())
    assert memory.learn(Interest(NodeId(5), 1.0, 1.0, (NodeId(0),), (goal,))) == (True, True)
    assert memory.learn(Interest(NodeId(5), 1.0, 3.0, (NodeId(1),), None)) == (True, False)
    assert memory.learn(Interest(NodeId(5), 1.0, 2.0, (NodeId(2),), None)) == (False, False)
    kept = memory.interest(NodeId(5))
    assert kept is not None
    assert kept.brokers == (NodeId(1),)
    assert kept.subscriptions == (goal,)
    assert memory.learn(Interest(NodeId(6), 1.0, 2.0, (NodeId(2),), None)) == (False, False)
    assert memory.learn(Interest(NodeId(5), 4.0, 4.0, (NodeId(1),), ())) == (True, True)
    assert memory.relevance(_event("o", "goal", 1.0).metadata) == 0


def _event(name: str, tag: str, at_s: float) -> DataObject:
    return DataObject(Metadata(ObjectKey(name, NodeId(9)), (tag,), b"", at_s, 1), b"x")


def _events(world: DripWorld, node: int) -> int:
    broker = world.nodes[node].broker
    assert broker is not None
    return broker.memory.event_count
