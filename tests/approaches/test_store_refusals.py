"""What every approach refuses: wrong use changes nothing, names are used once, ends are ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract import CROWDS, five_in_a_row, narrow, needs
from small_world import SmallWorld

from thyme.approaches.interface import Failure
from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.objects import MAX_DATA_BYTES
from thyme.model.queries import QueryError, parse_query
from thyme.sim.faults import Rule

pytestmark = pytest.mark.parametrize("crowd", CROWDS)


@pytest.fixture
def world(crowd: str, tmp_path: Path) -> SmallWorld:
    return five_in_a_row(crowd, tmp_path)


class _Huge(bytes):
    """Bytes that say they are larger than memory."""

    def __new__(cls, size: int) -> _Huge:
        return super().__new__(cls)

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


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
    limit = MAX_DATA_BYTES + 1
    with pytest.raises(InputError, match="bytes"):
        world.node(0).insert("huge", _Huge(limit), ["goal"], b"", world.outcomes.append)
    with pytest.raises(InputError, match="bytes"):
        world.node(0).insert("wordy", b"", ["goal"], bytes(1_000_000), world.outcomes.append)
    assert len(world.outcomes) == before


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
        world.node(4).subscribe(query, TimeFrame.always(), world.on_notified, world.outcomes.append, sid=sid)
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
        world.node(4).subscribe(query, TimeFrame.always(), world.on_notified, world.outcomes.append, sid=key.sid)
