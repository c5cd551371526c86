"""The matching index gives what a scan of everything would give, and looks at far less."""

from __future__ import annotations

from collections.abc import Container

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor, IndexFull, MatchingIndex, MatchingLimits
from thyme.model.objects import Metadata, Replica
from thyme.model.queries import Conjunction, parse_query
from thyme.model.subscriptions import Subscription

ALWAYS = TimeFrame.always()
TAGS = ("a", "b", "c", "d")
INSTANTS = st.integers(0, 6).map(float)
OBJECT_KEYS = st.builds(ObjectKey, st.sampled_from(["x", "y", "z", "w"]), st.integers(1, 6).map(NodeId))
SUBSCRIPTION_KEYS = st.builds(SubscriptionKey, st.integers(1, 4), st.integers(1, 3).map(NodeId))
TAG_SETS = st.sets(st.sampled_from(TAGS), min_size=1, max_size=3).map(lambda tags: tuple(sorted(tags)))
QUERIES = st.sampled_from(
    ["a", "b", "c & d", "a & b & c", "a & !b", "!a", "!a & !b", "a | b", "a & b | c & !d", "a & b | a & c", "!d | c"]
)


def newest_first(metadata: Metadata) -> tuple[float, ObjectKey]:
    return -metadata.published_s, metadata.key


def published(name: str, tags: str, at_s: float = 0.0) -> Metadata:
    return Metadata(ObjectKey(name, NodeId(1)), tuple(sorted(tags.split())), b"", at_s, 1)


def subscribed(sid: int, query: str, frame: TimeFrame = ALWAYS) -> Subscription:
    return Subscription.to_query(SubscriptionKey(sid, NodeId(2)), parse_query(query), frame)


@st.composite
def frames(draw: st.DrawFn) -> TimeFrame:
    start_s, end_s = draw(st.none() | INSTANTS), draw(st.none() | INSTANTS)
    if start_s is not None and end_s is not None:
        start_s, end_s = min(start_s, end_s), max(start_s, end_s)
    return TimeFrame(start_s, end_s)


@given(QUERIES, frames(), st.lists(st.tuples(TAG_SETS, INSTANTS), max_size=6))
def test_those_chosen_of_many_are_those_that_match_each_by_itself(
    query: str, frame: TimeFrame, given_objects: list[tuple[tuple[str, ...], float]]
) -> None:
    subscription = subscribed(1, query, frame)
    objects = [published(str(i), " ".join(tags), at_s) for i, (tags, at_s) in enumerate(given_objects)]
    assert list(subscription.chosen(objects)) == [metadata for metadata in objects if subscription.matches(metadata)]


class AgainstNaiveScan(RuleBasedStateMachine):
    """Every operation on the index and on plain dicts that are scanned as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.index = MatchingIndex()
        self.stored: dict[ObjectKey, Metadata] = {}
        self.standing: dict[SubscriptionKey, Subscription] = {}
        self.gone: dict[ObjectKey, None] = {}

    def matches(self, subscription: Subscription) -> list[Metadata]:
        return sorted(filter(subscription.matches, self.stored.values()), key=newest_first)

    @initialize(common=st.sampled_from(TAGS), count=st.sampled_from([0, 14, 30]))
    def begin_with_a_common_tag(self, common: str, count: int) -> None:
        """Enough objects of one tag that conjunctions under it move to rarer tags soon."""
        for number in range(count):
            metadata = Metadata(ObjectKey("common", NodeId(100 + number)), (common,), b"", float(number % 3), 1)
            assert self.index.insert(metadata) == []
            self.stored[metadata.key] = metadata

    @rule(key=OBJECT_KEYS, tags=TAG_SETS, at_s=INSTANTS)
    def insert(self, key: ObjectKey, tags: tuple[str, ...], at_s: float) -> None:
        metadata = Metadata(key, tags, b"", at_s, 1)
        found = self.index.insert(metadata)
        if key in self.stored or key in self.gone:
            assert found == []
        else:
            self.stored[key] = metadata
            expected = [each.key for each in self.standing.values() if each.matches(metadata)]
            assert sorted(each.key for each in found) == sorted(expected)
            assert all(each == self.standing[each.key] for each in found)

    @rule(key=SUBSCRIPTION_KEYS, query=QUERIES, frame=frames(), limit=st.integers(1, 50))
    def subscribe(self, key: SubscriptionKey, query: str, frame: TimeFrame, limit: int) -> None:
        offered = Subscription.to_query(key, parse_query(query), frame)
        batch = self.index.subscribe(offered, limit)
        expected = self.matches(self.standing.setdefault(key, offered))
        assert batch.matches == tuple(expected[:limit])
        assert batch.total == len(expected)
        assert batch.left == max(0, len(expected) - limit)
        assert (batch.cursor is None) == (len(expected) <= limit)

    @rule(key=SUBSCRIPTION_KEYS, query=QUERIES, frame=frames())
    def add_subscription(self, key: SubscriptionKey, query: str, frame: TimeFrame) -> None:
        offered = Subscription.to_query(key, parse_query(query), frame)
        assert self.index.add_subscription(offered) == (key not in self.standing)
        self.standing.setdefault(key, offered)

    @rule(key=SUBSCRIPTION_KEYS, at_s=INSTANTS, last=OBJECT_KEYS, limit=st.integers(1, 4))
    def more(self, key: SubscriptionKey, at_s: float, last: ObjectKey, limit: int) -> None:
        """From any place, also of an object that is gone or never was."""
        batch = self.index.more(key, Cursor(at_s, last), limit)
        if key not in self.standing:
            assert (batch.matches, batch.total, batch.cursor) == ((), 0, None)
            return
        expected = self.matches(self.standing[key])
        rest = [each for each in expected if newest_first(each) > (-at_s, last)]
        assert batch.matches == tuple(rest[:limit])
        assert batch.total == len(expected)
        assert batch.left == max(0, len(rest) - limit)
        end = rest[limit - 1] if len(rest) > limit else None
        assert batch.cursor == (None if end is None else Cursor(end.published_s, end.key))

    @rule(key=OBJECT_KEYS)
    def delete(self, key: ObjectKey) -> None:
        assert self.index.delete(key) == (key in self.stored)
        self.stored.pop(key, None)
        self.gone[key] = None

    @rule(key=OBJECT_KEYS, tags=TAG_SETS, at_s=INSTANTS, cell=st.integers(0, 3).map(CellId))
    def replace(self, key: ObjectKey, tags: tuple[str, ...], at_s: float, cell: CellId) -> None:
        metadata = Metadata(key, tags, b"", at_s, 1, (Replica(key.owner, cell),))
        self.index.replace(metadata)
        if key not in self.gone:
            self.stored[key] = metadata

    @rule(key=SUBSCRIPTION_KEYS)
    def unsubscribe(self, key: SubscriptionKey) -> None:
        assert self.index.unsubscribe(key) == (key in self.standing)
        self.standing.pop(key, None)

    @invariant()
    def the_same_is_known(self) -> None:
        index = self.index
        assert list(index.objects()) == list(self.stored.values())
        assert list(index.subscriptions()) == list(self.standing.values())
        assert (index.object_count, index.subscription_count) == (len(self.stored), len(self.standing))
        assert all(index.get(key) == metadata for key, metadata in self.stored.items())
        assert all(index.deleted(key) and index.get(key) is None for key in self.gone)
        assert all(index.subscription(key) == each for key, each in self.standing.items())


class WalkingThroughBatches(RuleBasedStateMachine):
    """Readers fetch batch after batch while other objects come and go."""

    readers = Bundle("readers")

    def __init__(self) -> None:
        super().__init__()
        self.index = MatchingIndex()
        self.now_s = 0.0
        self.first_seen: dict[int, list[Metadata]] = {}
        self.received: dict[int, list[ObjectKey]] = {}
        self.deleted: set[ObjectKey] = set()

    @rule(tags=st.lists(TAG_SETS, min_size=1, max_size=6), step_s=st.integers(1, 2))
    def publish(self, tags: list[tuple[str, ...]], step_s: int) -> None:
        """Several at one instant, later than all before."""
        self.now_s += step_s
        for number, each in enumerate(tags):
            key = ObjectKey(f"{self.now_s}", NodeId(len(tags) - number))
            self.index.insert(Metadata(key, each, b"", self.now_s, 1))

    @rule(target=readers, query=QUERIES, limit=st.integers(1, 3))
    def start(self, query: str, limit: int) -> object:
        sid = len(self.first_seen)
        subscription = subscribed(sid, query)
        self.first_seen[sid] = sorted(filter(subscription.matches, self.index.objects()), key=newest_first)
        batch = self.index.subscribe(subscription, limit)
        return self.receive(sid, [each.key for each in batch.matches], batch.cursor)

    @rule(target=readers, reader=consumes(readers), limit=st.integers(1, 3))
    def go_on(self, reader: tuple[int, Cursor], limit: int) -> object:
        sid, cursor = reader
        batch = self.index.more(SubscriptionKey(sid, NodeId(2)), cursor, limit)
        return self.receive(sid, [each.key for each in batch.matches], batch.cursor)

    @rule(place=st.integers(0, 1000))
    def delete_one(self, place: int) -> None:
        keys = [each.key for each in self.index.objects()]
        if keys:
            self.deleted.add(keys[place % len(keys)])
            self.index.delete(keys[place % len(keys)])

    def receive(self, sid: int, keys: list[ObjectKey], cursor: Cursor | None) -> object:
        received = self.received.setdefault(sid, [])
        received.extend(keys)
        matched = [each.key for each in self.first_seen[sid]]
        assert received == [key for key in matched if key in received], "each once, newest first, none that is new"
        if cursor is not None:
            return (sid, cursor)
        assert set(matched) - set(received) <= self.deleted, "at the end, only what was deleted is missing"
        return multiple()


TestAgainstNaiveScan = AgainstNaiveScan.TestCase
TestAgainstNaiveScan.settings = settings(max_examples=80, stateful_step_count=40)
TestWalkingThroughBatches = WalkingThroughBatches.TestCase
TestWalkingThroughBatches.settings = settings(max_examples=80, stateful_step_count=30)


def test_past_subscription_never_sees_deleted_objects() -> None:
    index = MatchingIndex()
    index.insert(published("kept", "goal", 1.0))
    index.insert(published("deleted", "goal", 2.0))
    index.delete(ObjectKey("deleted", NodeId(1)))
    batch = index.subscribe(subscribed(1, "goal", TimeFrame.past(10.0)), 10)
    assert [each.key.oid for each in batch.matches] == ["kept"]
    assert batch.total == 1


def test_object_deleted_before_it_arrives_stays_invisible() -> None:
    index = MatchingIndex()
    index.subscribe(subscribed(1, "goal"), 1)
    assert not index.delete(ObjectKey("late", NodeId(1)))
    assert index.insert(published("late", "goal")) == []
    index.replace(published("late", "goal"))
    assert index.get(ObjectKey("late", NodeId(1))) is None


def test_subscription_with_several_fitting_conjunctions_is_found_once() -> None:
    index = MatchingIndex()
    wanted = subscribed(1, "a & b | a & c | b & c | !d")
    index.add_subscription(wanted)
    assert index.insert(published("x", "a b c")) == [wanted]


def test_newest_come_first_and_equals_by_key() -> None:
    index = MatchingIndex()
    for name, at_s in (("c", 1.0), ("a", 1.0), ("new", 2.0), ("b", 1.0), ("old", 0.0)):
        index.insert(published(name, "goal", at_s))
    first = index.subscribe(subscribed(1, "goal"), 2)
    assert [each.key.oid for each in first.matches] == ["new", "a"]
    assert first.total == 5
    assert first.cursor is not None
    index.insert(published("newest", "goal", 3.0))
    second = index.more(SubscriptionKey(1, NodeId(2)), first.cursor, 2)
    assert [each.key.oid for each in second.matches] == ["b", "c"]
    assert second.total == 6
    assert second.cursor is not None
    last = index.more(SubscriptionKey(1, NodeId(2)), second.cursor, 2)
    assert [each.key.oid for each in last.matches] == ["old"]
    assert last.cursor is None


def test_cursor_survives_encoding() -> None:
    cursor = Cursor(1.5, ObjectKey("a", NodeId(3)))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(cursor), type=Cursor) == cursor


def test_search_needs_no_standing_subscription() -> None:
    index = MatchingIndex()
    index.insert(published("x", "goal"))
    assert index.search(subscribed(1, "goal"), 1).total == 1
    assert index.subscription_count == 0


def test_batches_hold_at_least_one() -> None:
    with pytest.raises(InputError, match="at least 1"):
        MatchingIndex().search(subscribed(1, "goal"), 0)


def test_full_index_refuses_but_still_knows_duplicates() -> None:
    index = MatchingIndex(MatchingLimits(objects=1, subscriptions=1, tombstones=1))
    index.insert(published("x", "goal"))
    assert index.insert(published("x", "goal")) == []
    with pytest.raises(IndexFull, match="y@1 does not fit: 1"):
        index.insert(published("y", "goal"))
    index.add_subscription(subscribed(1, "goal"))
    assert index.subscribe(subscribed(1, "goal"), 1).total == 1
    with pytest.raises(IndexFull, match="2@2 does not fit: 1"):
        index.subscribe(subscribed(2, "goal"), 1)
    index.delete(ObjectKey("x", NodeId(1)))
    assert index.insert(published("y", "goal")) != []


def test_oldest_tombstone_makes_room() -> None:
    index = MatchingIndex(MatchingLimits(tombstones=2))
    for name in "abc":
        index.delete(ObjectKey(name, NodeId(1)))
    assert [name for name in "abc" if index.deleted(ObjectKey(name, NodeId(1)))] == ["b", "c"]


class Checked(Conjunction, frozen=True, array_like=True):
    """A conjunction that notes each time it is looked at."""

    def matches(self, tags: Container[str]) -> bool:
        CHECKS.append(self)
        return super().matches(tags)


CHECKS: list[Conjunction] = []


def looked_at(index: MatchingIndex, metadata: Metadata) -> int:
    CHECKS.clear()
    index.insert(metadata)
    return len(CHECKS)


def checked(sid: int, *positive: str) -> Subscription:
    return Subscription(SubscriptionKey(sid, NodeId(2)), (Checked(tuple(sorted(positive))),), TimeFrame())


def test_insertion_looks_only_at_conjunctions_of_its_rare_tags() -> None:
    index = MatchingIndex()
    for number in range(20):
        index.insert(published(f"seen{number}", "final"))
    for sid in range(1000):
        index.add_subscription(checked(sid, "final", f"player{sid}"))
    assert looked_at(index, published("plain", "final goal")) == 0
    assert looked_at(index, published("one", "final player7")) == 1


def test_conjunctions_move_on_when_their_anchor_becomes_common() -> None:
    index = MatchingIndex()
    for number in range(10):
        index.insert(published(f"early{number}", f"player{number}"))
        index.add_subscription(checked(number, "final", f"player{number}"))
    assert looked_at(index, published("first", "final")) == 10
    for number in range(64):
        index.insert(published(f"late{number}", "final"))
    assert looked_at(index, published("after", "final")) == 0
    assert looked_at(index, published("both", "final player3")) == 1


def test_subscription_looks_only_at_objects_of_its_rarest_tag() -> None:
    index = MatchingIndex()
    for number in range(500):
        index.insert(published(f"o{number}", "final" if number % 100 else "final player", float(number)))
    CHECKS.clear()
    assert index.subscribe(checked(1, "final", "player"), 3).total == 5
    assert len(CHECKS) == 5
