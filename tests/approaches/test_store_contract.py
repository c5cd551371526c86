"""What every approach promises, said once and held against each of them as far as its declared capabilities go.

DRIP, SocialCast and the walks hand contents only to those who were notified, and send all past matches (if any) by
themselves. People stand in a row here, where SocialCast's own carriers would wait for somebody to walk on; everybody
carries instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_world import SmallWorld, line

from thyme.approaches.interface import Failure
from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.model.queries import QueryError, parse_query
from thyme.sim.faults import Rule

CROWDS: dict[str, tuple[str, dict[str, Any]]] = {
    "es over dsdv": ("es", {}),
    "es over ondemand": ("es", {"routing": "ondemand"}),
    "ls over dsdv": ("ls", {}),
    "ls over ondemand": ("ls", {"routing": "ondemand"}),
    "dcs": ("dcs", {}),
    "dcs of the papers": ("dcs", {"paper": True}),
    "drip": ("drip", {"brokers": 3, "likely_brokers": 1, "copies": 1}),
    "walks": ("walks", {}),
    "socialcast": ("socialcast", {"routing": "epidemic", "period_s": 5.0}),
}
ANYBODY_RETRIEVES = ("es", "ls", "dcs")


def in_a_row(nodes: int, crowd: str) -> list[tuple[float, float]]:
    """Nodes of which each reaches the next; Thyme-DCS hops from cell to adjacent cell, of 40 m."""
    return line(nodes, 40.0 if CROWDS[crowd][0] == "dcs" else 80.0)


def needs(crowd: str, *capabilities: str) -> None:
    """Leave the test out where the approach declares that it cannot do this."""
    declared = find_approach(CROWDS[crowd][0]).capabilities
    lacking = [name for name in capabilities if not getattr(declared, name)]
    if lacking:
        pytest.skip(f"{crowd} declares no {lacking[0]}")


def needs_free_retrieval(crowd: str) -> None:
    if CROWDS[crowd][0] not in ANYBODY_RETRIEVES:
        pytest.skip(f"{crowd} hands contents to those who were notified")


pytestmark = pytest.mark.parametrize("crowd", CROWDS)


@pytest.fixture
def world(crowd: str, tmp_path: Path) -> SmallWorld:
    small = SmallWorld(tmp_path, in_a_row(5, crowd), *CROWDS[crowd])
    small.wait(60.0)
    return small


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


def test_a_subscriber_retrieves_what_it_was_notified_of(world: SmallWorld) -> None:
    world.subscribe(4, "goal")
    metadata = world.insert(0, "first", "goal", data=bytes(range(256)) * 3)
    assert world.names() == ["first"]
    assert world.retrieve(4, metadata) == bytes(range(256)) * 3
    assert world.retrieve(0, metadata) == bytes(range(256)) * 3


def test_contents_that_come_with_the_notification_are_there_at_once(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "delivers_contents")
    world.subscribe(4, "goal")
    metadata = world.insert(0, "first", "goal")
    fetched: list[bytes] = []
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
    assert world.last_failure() is Failure.NOT_FOUND


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


def test_wrong_use_is_refused_at_once(crowd: str, world: SmallWorld) -> None:
    needs(crowd, "deletes")
    metadata = world.insert(0, "mine", "goal")
    before = len(world.outcomes)
    with pytest.raises(InputError, match="tag"):
        world.node(0).insert("untagged", b"", [], b"", world.outcomes.append)
    with pytest.raises(InputError, match="immutable"):
        world.node(0).insert("mine", b"", ["goal"], b"", world.outcomes.append)
    with pytest.raises(InputError, match="owner"):
        world.node(1).delete(metadata.key.oid, world.outcomes.append)
    with pytest.raises(InputError, match="no subscription 99"):
        world.node(1).unsubscribe(99, world.outcomes.append)
    with pytest.raises(InputError, match="end"):
        TimeFrame(5.0, 4.0)
    limit = 10_000_000_000
    with pytest.raises(InputError, match="bytes"):
        world.node(0).insert("huge", _Huge(limit), ["goal"], b"", world.outcomes.append)
    with pytest.raises(InputError, match="bytes"):
        world.node(0).insert("wordy", b"", ["goal"], bytes(1_000_000), world.outcomes.append)
    assert len(world.outcomes) == before


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


class _Huge(bytes):
    """Bytes that say they are larger than memory."""

    def __new__(cls, size: int) -> _Huge:
        return super().__new__(cls)

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


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


def narrow(crowd: str, tmp_path: Path, **limits: Any) -> SmallWorld:
    """A row of three whose bounds are small."""
    approach, settings = CROWDS[crowd]
    world = SmallWorld(tmp_path, in_a_row(3, crowd), approach, {**settings, "limits": limits})
    world.wait(60.0)
    return world


def test_an_insertion_that_is_refused_may_be_made_later(crowd: str, tmp_path: Path) -> None:
    """Whatever the name of the refused one was, it was not used."""
    world = narrow(crowd, tmp_path, pending_operations=2)
    world.run.world.rules = (Rule("loss"),)
    refused = []
    for i in range(4):
        try:
            world.node(0).insert(f"o{i}", b"data", ["goal"], b"", world.outcomes.append)
        except InputError:
            refused.append(f"o{i}")
    assert refused == ([] if crowd.startswith("ls") or crowd == "socialcast" else ["o2", "o3"])
    world.wait(200.0)
    world.run.world.rules = ()
    world.wait(60.0)
    for oid in refused:
        world.insert(0, oid, "goal")
    assert len(world.outcomes) == 4


def test_a_subscription_that_is_refused_does_not_stand(crowd: str, tmp_path: Path) -> None:
    world = narrow(crowd, tmp_path, own_subscriptions=1)
    world.subscribe(2, "final")
    with pytest.raises(InputError, match="1 subscriptions already"):
        world.subscribe(2, "goal")
    with pytest.raises(QueryError):
        world.subscribe(2, "goal & !goal")
    if not find_approach(CROWDS[crowd][0]).capabilities.answers_past:
        with pytest.raises(InputError):
            world.subscribe(2, "goal", TimeFrame.past(world.now_s - 10.0))
    world.insert(0, "first", "goal")
    world.insert(2, "second", "goal")
    assert world.names() == []
    with pytest.raises(InputError, match="no subscription 1"):
        world.node(2).remaining(1)


def test_with_too_many_operations_under_way_a_subscription_is_carried_out_or_leaves_no_trace(
    crowd: str, tmp_path: Path
) -> None:
    world = narrow(crowd, tmp_path, pending_operations=1)
    world.run.world.rules = (Rule("loss"),)
    world.node(0).insert("first", b"data", ["final"], b"", world.outcomes.append)
    try:
        sid = world.subscribe(0, "goal", wait_s=0.0).sid
    except InputError:
        with pytest.raises(InputError, match="no subscription 0"):
            world.node(0).remaining(0)
    else:
        assert world.node(0).remaining(sid) == 0
    world.wait(200.0)
    world.run.world.rules = ()


def test_the_name_of_an_object_is_used_once_deleted_or_not(crowd: str, world: SmallWorld) -> None:
    world.insert(0, "mine", "goal")
    if find_approach(CROWDS[crowd][0]).capabilities.deletes:
        world.delete(0, "mine")
    for _ in range(2):
        with pytest.raises(InputError, match="inserted by this node before"):
            world.insert(0, "mine", "goal")
        world.switch_off(0)
        world.switch_on(0)
    world.insert(1, "mine", "goal")
    assert world.last_failure() is Failure.NONE, "names are a node's own"


def test_the_number_of_a_subscription_is_used_once(world: SmallWorld) -> None:
    def subscribe(sid: int) -> None:
        query = parse_query("goal")
        world.node(4).subscribe(query, TimeFrame.always(), world._on_notified, world.outcomes.append, sid=sid)
        world.wait(40.0)

    subscribe(7)
    with pytest.raises(InputError, match="exists already"):
        subscribe(7)
    world.unsubscribe(4, 7)
    for _ in range(2):
        with pytest.raises(InputError, match="used the number 7"):
            subscribe(7)
        world.switch_off(4)
        world.switch_on(4)
    subscribe(3)
    world.insert(0, "first", "goal")
    assert world.names() == ["first"]
    assert world.subscribe(4, "goal").sid == 8


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


def test_searches_of_the_past_do_not_take_the_places_of_subscriptions(crowd: str, tmp_path: Path) -> None:
    needs(crowd, "answers_past")
    world = narrow(crowd, tmp_path, own_subscriptions=3)
    world.insert(0, "old", "goal")
    for _ in range(8):
        world.subscribe(2, "goal", TimeFrame.past(world.now_s), wait_s=10.0)
    assert world.names(2) == ["old"] * 8
    for _ in range(3):
        world.subscribe(2, "goal", TimeFrame.future(world.now_s), wait_s=10.0)
    with pytest.raises(InputError, match="3 subscriptions already"):
        world.subscribe(2, "goal", TimeFrame.past(world.now_s))


def test_a_subscription_whose_time_is_over_says_so(world: SmallWorld) -> None:
    key = world.subscribe(4, "goal", TimeFrame(world.now_s, world.now_s + 20.0))
    world.wait(100.0)
    for _ in range(2):
        with pytest.raises(InputError, match=f"subscription {key.sid} of this node has ended"):
            world.more(4, key.sid)
        with pytest.raises(InputError, match=f"subscription {key.sid} of this node has ended"):
            world.node(4).remaining(key.sid)
        before = len(world.outcomes)
        world.unsubscribe(4, key.sid, wait_s=0.0)
        assert [outcome.ok for outcome in world.outcomes[before:]] == [True], "there is nothing left to revoke"
        world.switch_off(4)
        world.switch_on(4)
    query = parse_query("goal")
    with pytest.raises(InputError, match=f"used the number {key.sid}"):
        world.node(4).subscribe(query, TimeFrame.always(), world._on_notified, world.outcomes.append, sid=key.sid)
