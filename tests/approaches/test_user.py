"""A user: what they issue and see is recorded, reactions follow the options, and a crash does not end them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from thyme.approaches.inbox import Notify
from thyme.approaches.interface import Capabilities, Done, Failure, Outcome, ReactiveStore
from thyme.approaches.interface import Fetched as FetchedFromStore
from thyme.approaches.user import BY_HAND, FIRST_REACTION, Numbers, User, UserOptions
from thyme.host import Timer
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, Metadata
from thyme.model.operations import Operation, RetrievalPolicy
from thyme.model.queries import Query, parse_query
from thyme.model.records import LogRecord, OperationKind
from thyme.model.subscriptions import Subscription
from thyme.sim.engine import Engine
from thyme.wire.message import Message

ME = NodeId(3)
SUBSCRIPTION = SubscriptionKey(0, ME)
AT_ONCE = RetrievalPolicy(1.0, 0.5, 0.5)


def photo(number: int = 0, published_s: float = 5.0) -> Metadata:
    return Metadata(ObjectKey(f"photo-{number}", NodeId(7)), ("goal",), b"", published_s, 100)


class Life:
    """A user's context that a test advances by hand."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.engine.now_s = 10.0
        self.records: list[LogRecord] = []

    def now(self) -> float:
        return self.engine.now_s

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        return self.engine.after(delay_s, action)

    @property
    def recording(self) -> bool:
        return True

    def record(self, event: LogRecord) -> None:
        self.records.append(event)

    def pass_by(self, seconds_s: float) -> None:
        until_s = self.engine.now_s + seconds_s
        while self.engine.next_s() <= until_s:
            self.engine.step()
        self.engine.now_s = until_s

    def rows(self) -> list[tuple[str, str, int]]:
        return [(row.kind, row.name, row.operation) for row in (event.row() for event in self.records)]


class ScriptedStore(ReactiveStore):
    """Keeps what it is asked for, and answers when the test says so."""

    def __init__(self, past: int = 0) -> None:
        self.asked: list[tuple[str, Done]] = []
        self.past = past
        self.notify: Notify | None = None

    def _was_inserted(self, key: ObjectKey) -> bool:
        return False

    def insert(self, oid: str, data: Content, tags: Iterable[str], summary: bytes, done: Done, **_: Any) -> Metadata:
        if not oid:
            raise InputError("no id")
        self.asked.append(("insert", done))
        return photo()

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        return metadata

    def delete(self, oid: str, done: Done) -> None:
        self.asked.append(("delete", done))

    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        self.notify = notify
        self.asked.append(("subscribe", done))
        return SUBSCRIPTION

    def unsubscribe(self, sid: int, done: Done) -> None:
        self.asked.append(("unsubscribe", done))

    def _delete(self, key: ObjectKey, done: Done) -> None: ...
    def _subscribe(self, subscription: Subscription, done: Done) -> None: ...
    def _unsubscribe(self, subscription: Subscription, done: Done) -> None: ...
    def _expire(self, key: ObjectKey) -> None: ...

    def retrieve(self, metadata: Metadata, done: FetchedFromStore) -> None:
        self._retrieve(metadata, done)

    def _retrieve(self, metadata: Metadata, done: FetchedFromStore) -> None:
        self.asked.append(("retrieve", lambda outcome: done(outcome, b"content")))

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        self.past -= 1
        self.asked.append(("more", done))

    def remaining(self, sid: int) -> int:
        return self.past

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        self.notify = notify
        return (SUBSCRIPTION,)

    def start(self) -> None: ...
    def join(self) -> None: ...
    def receive(self, sender: NodeId, message: Message) -> None: ...
    def stop(self) -> None: ...

    def notified(self, metadata: Metadata) -> None:
        assert self.notify is not None
        self.notify(SUBSCRIPTION, (metadata,), 2)

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]

    def answer(self) -> None:
        self.asked.pop(0)[1](Outcome())


def somebody(options: UserOptions, past: int = 0) -> tuple[User, Life, ScriptedStore]:
    life, store = Life(), ScriptedStore(past)
    user = User(ME, life, options, Numbers(), seed=1)
    assert user.take(store) == (SUBSCRIPTION,)
    return user, life, store


def test_an_operation_is_recorded_when_it_is_issued_and_once_when_it_ends() -> None:
    user, life, store = somebody(BY_HAND)
    user.issue(Operation(4, 10.0, ME, OperationKind.DELETE, oid="photo"))
    during = user.busy
    life.pass_by(2.0)
    end = store.asked[0][1]
    end(Outcome(Failure.TIMEOUT))
    end(Outcome())
    assert (during, user.busy) == (True, False)
    assert life.rows() == [("issued", "delete", 4), ("failed", "delete", 4)]
    assert (life.records[1].row().value, life.records[1].row().reason) == (2.0, "timeout")


def test_a_refused_operation_of_a_trace_has_failed_and_one_by_hand_raises_as_well() -> None:
    user, life, _ = somebody(BY_HAND)
    user.issue(Operation(0, 10.0, ME, OperationKind.INSERT, tags=("goal",)))
    with pytest.raises(InputError, match="no id"):
        user.insert(1, "", b"", ["goal"], b"")
    assert [row[0] for row in life.rows()] == ["issued", "failed", "issued", "failed"]
    with pytest.raises(InputError, match="cannot contain 'more'"):
        user.issue(Operation(2, 10.0, ME, OperationKind.MORE))


def test_whoever_asked_is_told_the_end_and_gets_the_content() -> None:
    user, _, store = somebody(BY_HAND)
    ends: list[str] = []
    contents: list[Content] = []
    user.retrieve(0, photo(), ends.append, contents.append)
    store.answer()
    user.delete(1, "photo", ends.append)
    user.give_up(1)
    store.answer()
    assert (ends, contents) == (["", "cancelled"], [b"content"])


def test_a_notification_counts_from_the_later_of_publication_and_subscription() -> None:
    user, life, store = somebody(BY_HAND)
    user.issue(Operation(0, 10.0, ME, OperationKind.SUBSCRIBE, sid=0, query="goal"))
    life.pass_by(1.5)
    store.notified(photo())
    row = life.records[-1].row()
    assert (row.kind, row.value, row.count) == ("notified", 1.5, 2)


def test_a_user_fetches_what_they_see_once_and_pages_through_the_past() -> None:
    user, life, store = somebody(UserOptions(AT_ONCE, ask_more_after_s=1.0), past=2)
    told: list[ObjectKey] = []
    user.told = lambda key, matches: told.extend(metadata.key for metadata, _ in matches)
    store.notified(photo())
    store.notified(photo())
    store.notified(photo(1))
    assert user.busy
    assert told == [photo().key, photo(1).key], "a second notification of the same is not one more match"
    life.pass_by(3.0)
    assert store.names() == ["retrieve", "retrieve", "more"]
    store.notified(photo(2))
    life.pass_by(3.0)
    store.notified(photo(3))
    life.pass_by(3.0)
    assert store.names().count("more") == 2, "nothing is left to ask for"
    reactions = [number for kind, _, number in life.rows() if kind == "issued"]
    assert reactions == list(range(FIRST_REACTION, FIRST_REACTION + 6))


def test_nobody_fetches_what_cannot_be_retrieved_or_by_hand() -> None:
    for options, retrieves in ((UserOptions(AT_ONCE, ask_more=False), False), (BY_HAND, True)):
        user, life, store = somebody(options, past=1)
        store.capabilities = Capabilities(retrieves=retrieves)
        store.notified(photo())
        life.pass_by(10.0)
        assert store.names() == []
        assert not user.busy


def test_a_crash_fails_what_is_under_way_and_what_was_seen_stays_seen() -> None:
    user, life, store = somebody(UserOptions(AT_ONCE))
    user.issue(Operation(0, 10.0, ME, OperationKind.DELETE, oid="photo"))
    store.notified(photo())
    user.lose()
    user.issue(Operation(1, 10.0, ME, OperationKind.DELETE, oid="never asked for"))
    with pytest.raises(InputError, match="not running"):
        user.delete(2, "photo")
    again = ScriptedStore()
    user.take(again)
    again.notified(photo())
    life.pass_by(5.0)
    assert again.names() == ["retrieve"], "the plan to fetch outlives the crash"
    assert life.rows() == [
        ("issued", "delete", 0),
        ("notified", "", -1),
        ("failed", "delete", 0),
        ("notified", "", -1),
        ("issued", "retrieve", FIRST_REACTION),
    ], "the records have the notification too many"


def test_who_was_off_has_nothing_to_take_back() -> None:
    user, life, store = somebody(BY_HAND)
    user.lose()
    user.issue(Operation(0, 1.0, ME, OperationKind.INSERT, oid="missed", tags=("goal",), text="x"))
    user.issue(Operation(1, 1.0, ME, OperationKind.SUBSCRIBE, sid=4, query="goal"))
    user.take(store)
    user.issue(Operation(2, 2.0, ME, OperationKind.INSERT, oid="said", tags=("goal",), text="x"))
    user.issue(Operation(3, 2.0, ME, OperationKind.SUBSCRIBE, sid=5, query="goal"))
    user.issue(Operation(4, 3.0, ME, OperationKind.DELETE, oid="missed"))
    user.issue(Operation(5, 3.0, ME, OperationKind.UNSUBSCRIBE, sid=4))
    user.issue(Operation(6, 3.0, ME, OperationKind.DELETE, oid="said"))
    user.issue(Operation(7, 3.0, ME, OperationKind.UNSUBSCRIBE, sid=5))
    assert [row for row in life.rows() if row[0] == "issued"] == [
        ("issued", "insert", 2),
        ("issued", "subscribe", 3),
        ("issued", "delete", 6),
        ("issued", "unsubscribe", 7),
    ]


def test_an_older_match_is_counted_from_when_it_was_asked_for() -> None:
    user, life, store = somebody(UserOptions(AT_ONCE), past=3)
    delays_s: list[float] = []
    user.told = lambda key, matches: delays_s.extend(delay_s for _, delay_s in matches)
    user.subscribe(0, parse_query("goal"), TimeFrame.always(), 0)
    life.pass_by(0.5)
    store.notified(photo())
    life.pass_by(5.0)
    assert "more" in store.names()
    store.notified(photo(1))
    life.pass_by(1.0)
    store.notified(photo(2, published_s=life.now() - 0.25))
    assert delays_s == pytest.approx([0.5, 4.0, 0.25])
