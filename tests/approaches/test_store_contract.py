"""What every approach promises, said once and held against each of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract import CROWDS, five_in_a_row, in_a_row, needs, needs_free_retrieval
from small_world import SmallWorld

from thyme.approaches.interface import Failure
from thyme.model.chunks import CHUNK_BYTES
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, Metadata
from thyme.sim.faults import Rule

pytestmark = pytest.mark.parametrize("crowd", CROWDS)


@pytest.fixture
def world(crowd: str, tmp_path: Path) -> SmallWorld:
    return five_in_a_row(crowd, tmp_path)


def test_an_insertion_notifies_a_subscriber_several_hops_away(world: SmallWorld) -> None:
    world.subscribe(4, "goal & !replay")
    world.insert(0, "first", "Goal", "final")
    world.insert(0, "second", "goal", "replay")
    assert world.names() == ["first"]
    assert all(outcome.ok for outcome in world.outcomes)


def test_a_subscription_on_the_past_finds_what_is_stored(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "answers_past")
    world.insert(0, "old", "goal")
    world.insert(2, "newer", "goal")
    world.subscribe(4, "goal", TimeFrame.past(world.now_s))
    world.insert(1, "later", "goal")
    assert sorted(world.names()) == ["newer", "old"]


def test_a_future_subscription_leaves_the_past_alone(world: SmallWorld) -> None:
    world.insert(0, "old", "goal")
    world.subscribe(4, "goal", TimeFrame.future(world.now_s))
    world.insert(0, "new", "goal")
    assert world.names() == ["new"]


def test_a_subscription_ends_with_its_frame(world: SmallWorld) -> None:
    world.subscribe(4, "goal", TimeFrame(world.now_s, world.now_s + 100.0))
    world.insert(0, "within", "goal", wait_s=100.0)
    world.insert(0, "after", "goal")
    assert world.names() == ["within"]


def test_deleted_objects_are_invisible_even_to_the_past(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "deletes", "answers_past")
    world.insert(0, "gone", "goal")
    world.insert(0, "kept", "goal")
    world.delete(0, "gone")
    world.subscribe(4, "goal")
    assert world.names() == ["kept"]


def test_an_object_that_expired_is_neither_found_nor_retrieved_nor_kept(crowd: str, world: SmallWorld) -> None:
    world.subscribe(4, "goal")
    metadata = world.insert(0, "brief", "goal", expires_s=world.now_s + 300.0)
    world.insert(0, "lasting", "goal")
    assert sorted(world.names()) == ["brief", "lasting"]
    assert world.retrieve(4, metadata) == b"data"
    world.wait(300.0)
    assert world.retrieve(4, metadata) is None
    assert world.last_failure() is Failure.EXPIRED
    for node in list(world.run.stores):
        store = world.node(node).host.store
        assert not store.size(str(metadata.key)), f"node {node} still has the content"
        kinds = ("object", "own object", "replica", "content", "expiry")
        kept = [kind for kind in kinds for name, _ in store.items(kind) if "brief" in name]
        assert not kept, f"node {node} still has {kept}"
    before = len(world.names())
    world.subscribe(3, "goal")
    assert "brief" not in world.names()[before:]
    with pytest.raises(InputError, match="expires_s"):
        world.insert(0, "late", "goal", expires_s=world.now_s)


def test_a_node_that_was_off_when_an_object_expired_does_not_bring_it_back(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "stores")
    metadata = world.insert(0, "brief", "goal", expires_s=world.now_s + 200.0)
    world.switch_off(0)
    world.wait(300.0)
    world.switch_on(0)
    world.subscribe(4, "goal")
    assert world.names() == []
    assert not world.node(0).host.store.size(str(metadata.key))


def test_after_unsubscribing_nothing_more_arrives(world: SmallWorld) -> None:
    key = world.subscribe(4, "goal")
    world.insert(0, "before", "goal")
    world.unsubscribe(4, key.sid)
    world.insert(0, "after", "goal")
    assert world.names() == ["before"]


def test_a_subscriber_is_notified_of_its_own_objects_and_of_each_object_once(world: SmallWorld) -> None:
    world.subscribe(2, "goal | final")
    world.insert(2, "own", "goal", "final")
    assert world.names() == ["own"]


def test_contents_are_retrieved_whole_whatever_their_size(crowd: str, world: SmallWorld) -> None:
    needs_free_retrieval(crowd)
    large = bytes(range(256)) * 40
    small = world.insert(0, "small", "goal", data=b"x")
    big = world.insert(1, "big", "goal", data=large)
    empty = world.insert(1, "empty", "goal", data=b"")
    assert world.retrieve(4, small) == b"x"
    assert world.retrieve(4, big) == large
    assert world.retrieve(4, empty) == b""
    assert world.retrieve(1, big) == large


def test_contents_of_several_chunks_are_retrieved_whole(crowd: str, world: SmallWorld) -> None:
    needs_free_retrieval(crowd)
    data = bytes(range(256)) * 1_100
    assert len(data) > 2 * CHUNK_BYTES
    metadata = world.insert(1, "film", "goal", data=data)
    assert world.retrieve(4, metadata) == data
    assert world.retrieve(1, metadata) == data


def test_a_subscriber_retrieves_what_it_was_notified_of(world: SmallWorld) -> None:
    world.subscribe(4, "goal")
    metadata = world.insert(0, "first", "goal", data=bytes(range(256)) * 3)
    assert world.names() == ["first"]
    assert world.retrieve(4, metadata) == bytes(range(256)) * 3
    assert world.retrieve(0, metadata) == bytes(range(256)) * 3


def test_a_content_that_is_damaged_wherever_it_is_kept_is_never_given_as_the_object(world: SmallWorld) -> None:
    world.subscribe(4, "goal")
    metadata = world.insert(0, "first", "goal", data=bytes(range(256)) * 3)
    assert world.names() == ["first"]
    for node in list(world.run.stores):
        store = world.node(node).host.store
        if store.size(str(metadata.key)):
            store.write(str(metadata.key), 100, bytes(50))
    assert world.retrieve(4, metadata) is None
    assert world.last_failure() in (Failure.DAMAGED, Failure.NOT_FOUND)


def test_contents_that_come_with_the_notification_are_there_at_once(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "delivers_contents")
    world.subscribe(4, "goal")
    metadata = world.insert(0, "first", "goal")
    fetched: list[Content] = []
    world.node(4).retrieve(metadata, lambda outcome, data: fetched.append(data))
    assert fetched == [b"data"], "no message had the time to travel"


@pytest.mark.compiled
def test_a_subscriber_is_notified_over_a_real_radio(crowd: str, tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, in_a_row(3, crowd), *CROWDS[crowd], radio={"model": "wifi"})
    world.wait(60.0)
    world.subscribe(2, "goal")
    metadata = world.insert(0, "first", "goal")
    world.insert(2, "second", "goal")
    assert world.names() == ["first", "second"]
    assert world.retrieve(2, metadata) == b"data"


def test_retrieving_what_was_deleted_fails_and_says_so(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "deletes")
    needs_free_retrieval(crowd)
    metadata = world.insert(0, "gone", "goal")
    world.delete(0, "gone")
    assert world.retrieve(4, metadata) is None
    assert world.last_failure() is Failure.DELETED


def test_past_matches_come_newest_first_in_batches(crowd: str, tmp_path: Path) -> None:
    needs_free_retrieval(crowd)
    approach, settings = CROWDS[crowd]
    world = SmallWorld(tmp_path, in_a_row(3, crowd), approach, {**settings, "past_matches": 4})
    world.wait(60.0)
    for i in range(10):
        world.insert(0, f"o{i}", "goal", wait_s=2.0)
    key = world.subscribe(2, "goal")
    assert world.names() == ["o9", "o8", "o7", "o6"]
    assert world.node(2).remaining(key.sid) == 6
    world.insert(0, "new", "goal")
    world.more(2, key.sid)
    world.more(2, key.sid)
    assert world.names() == ["o9", "o8", "o7", "o6", "new", "o5", "o4", "o3", "o2", "o1", "o0"]
    assert world.node(2).remaining(key.sid) == 0
    world.more(2, key.sid)
    assert world.last_failure() is Failure.NONE


def test_operations_survive_loss_by_retrying(crowd: str, tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, in_a_row(3, crowd), *CROWDS[crowd], faults=[Rule("loss", probability=0.1)])
    world.wait(60.0)
    for i in range(8):
        world.insert(0, f"o{i}", "goal")
    world.subscribe(2, "goal")
    assert len(world.outcomes) == 9
    assert sum(outcome.ok for outcome in world.outcomes) >= 8


def test_an_operation_that_nobody_answers_ends_with_a_timeout(crowd: str, tmp_path: Path) -> None:
    needs_free_retrieval(crowd)
    world = SmallWorld(tmp_path, [*in_a_row(2, crowd), (900.0, 0.0)], *CROWDS[crowd])
    world.wait(60.0)
    stranger = Metadata(ObjectKey("far", NodeId(2)), ("goal",), b"", 1.0, 10)
    world.run.world.rules = (Rule("partition", at_m=500.0), Rule("loss"))
    assert world.retrieve(0, stranger) is None
    nobody_there = (Failure.TIMEOUT, Failure.NOT_FOUND)
    assert world.last_failure() in (nobody_there if "dcs" in crowd else nobody_there[:2])


def test_own_objects_and_subscriptions_survive_a_restart(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "answers_past")
    metadata = world.insert(0, "kept", "goal")
    world.subscribe(4, "final")
    for node in (0, 4):
        world.switch_off(node)
    world.wait(30.0)
    for node in (0, 4):
        world.switch_on(node)
    world.subscribe(3, "goal")
    assert world.names(3) == ["kept"]
    assert world.retrieve(3, metadata) == b"data"
    world.insert(1, "new", "final")
    assert world.names(4) == ["new"]


@pytest.mark.compiled
def test_the_largest_summaries_fit_the_frames_of_a_real_radio(crowd: str, tmp_path: Path) -> None:
    needs_free_retrieval(crowd)
    world = SmallWorld(tmp_path, in_a_row(3, crowd), *CROWDS[crowd], radio={"model": "wifi"})
    world.wait(60.0)
    for i in range(5):
        world.node(0).insert(f"o{i}", bytes(1200), ["goal"], bytes(2 * 1024), world.outcomes.append)
        world.wait(5.0)
    world.subscribe(2, "goal")
    assert sorted(world.names(2)) == [f"o{i}" for i in range(5)]


def test_nothing_is_told_again_after_a_restart_that_keeps_the_store(world: SmallWorld) -> None:
    world.subscribe(4, "goal")
    world.subscribe(4, "goal & late")
    for i in range(3):
        world.insert(0, f"o{i}", "goal", "late" if i else "early")
    told = sorted(world.names(4))
    assert told == ["o0", "o1", "o1", "o2", "o2"]
    for node in (4, 0):
        world.switch_off(node)
        world.wait(30.0)
        world.switch_on(node, wait_s=100.0)
    world.wait(300.0)
    assert sorted(world.names(4)) == told
