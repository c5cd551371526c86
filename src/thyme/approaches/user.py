"""The user of one device, the same in simulation and live: issues operations, reads notifications, and reacts to them.

A user plays the operations of a trace, fetches notified objects according to the retrieval policy, and requests older
matches as long as there are any; with the reactions of `BY_HAND`, it does only what an application asks for. A user
outlives its device's crashes: it remembers what it has seen, and resumes its subscriptions when the device is on again.
A trace operation that is due while the device is off is not issued, and neither is its delete or unsubscribe; an
operation under way when the device goes off has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from random import Random

import msgspec

from thyme.approaches.interface import Done, Outcome, ReactiveStore
from thyme.approaches.operation_records import Ended, OperationRecords, Subject, UserContext
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, InStore, Metadata, check_bytes, size_of
from thyme.model.operations import Operation, RetrievalPolicy
from thyme.model.queries import Query, parse_query
from thyme.model.records import Notified, OperationKind

FIRST_REACTION = 1_000_000_001
"""Operations that users issue in reaction to notifications are numbered from here on, apart from a trace's."""
MAX_SEEN = 100_000
"""Most notifications, and fetched objects, that a user remembers; the oldest is dropped."""
MAX_MISSED = 100_000
"""Insertions, and subscriptions, that were due while the device was off."""
MAX_SUBSCRIBED = 10_000
"""Most subscriptions whose time is remembered, ended ones included: a notification may still be in transit."""

Fetched = Callable[[Content], None]
Told = Callable[[SubscriptionKey, Sequence[tuple[Metadata, float]]], None]
"""(subscription, objects that came together, each with the seconds since it could have been notified at the
earliest)"""


class UserOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    retrieval: RetrievalPolicy = RetrievalPolicy()
    ask_more: bool = True
    """Whether a user pages through all past matches of a subscription (Thyme FGCS §3.3)."""
    ask_more_after_s: float = 1.0
    """How long a user waits before the next batch of past matches."""


BY_HAND = UserOptions(RetrievalPolicy(probability=0.0), ask_more=False)
"""A user that does not react: an application decides what to fetch, and when to ask for more."""


class Numbers:
    """Numbers for operations that are not a trace's. Users who share a log of operations share one."""

    def __init__(self, first: int = FIRST_REACTION) -> None:
        self._next = first

    def take(self) -> int:
        self._next += 1
        return self._next - 1


def ignored(reason: str) -> None:
    """For operations whose result is only recorded."""


def thrown_away(data: Content) -> None:
    """For contents that are not read."""


class User:
    """The user of one node."""

    def __init__(self, node: NodeId, context: UserContext, options: UserOptions, numbers: Numbers, seed: int) -> None:
        self.node = node
        self.numbers = numbers
        self.told: Told | None = None
        """Called with all notifications, before the user reacts to them."""
        self._context = context
        self._options = options
        self._reacts = options.ask_more or options.retrieval.probability > 0.0
        """Whether the user reacts to notifications by itself."""
        self._random = Random(f"{seed}/{node}/user")
        self._records = OperationRecords(context)
        self._store: ReactiveStore | None = None
        self._intended = 0
        self._asking: set[int] = set()
        self._seen: Bounded[tuple[SubscriptionKey, ObjectKey], None] = Bounded(MAX_SEEN)
        self._fetched: Bounded[ObjectKey, None] = Bounded(MAX_SEEN)
        self._subscribed_s: Bounded[SubscriptionKey, float] = Bounded(MAX_SUBSCRIBED)
        self._paged_s: Bounded[SubscriptionKey, float] = Bounded(MAX_SUBSCRIBED)
        """When older matches were last requested."""
        self._never_inserted: Bounded[str, None] = Bounded(MAX_MISSED)
        self._never_subscribed: Bounded[int, None] = Bounded(MAX_MISSED)

    @property
    def busy(self) -> bool:
        """Whether an operation is under way, or a reaction is pending."""
        return bool(self._intended or len(self._records))

    def take(self, store: ReactiveStore) -> tuple[SubscriptionKey, ...]:
        """The device is on, with this store; returns the subscriptions from before."""
        self._store = store
        return store.resume(self._notified)

    def lose(self, reason: str = "node left") -> None:
        """The device is off: operations under way have failed."""
        self._store = None
        self._records.abandon(reason)
        self._asking.clear()

    def give_up(self, number: int) -> None:
        """Stop waiting for an operation; it may still be carried out."""
        self._records.end(number, "cancelled")

    def issue(self, operation: Operation) -> None:
        """Play an operation of a trace, if the device is on. Its result is recorded."""
        if self._misses(operation):
            return
        number = operation.operation
        match operation.kind:
            case OperationKind.INSERT:
                content, summary = operation.content(), operation.summary()
                lasts_s = None if operation.end_s is None else operation.end_s - self._context.now()
                with suppress(InputError):
                    self.insert(number, operation.oid, content, operation.tags, summary, lasts_s=lasts_s)
            case OperationKind.DELETE:
                with suppress(InputError):
                    self.delete(number, operation.oid)
            case OperationKind.SUBSCRIBE:
                query = parse_query(operation.query)
                with suppress(InputError):
                    self.subscribe(number, query, operation.frame, operation.sid)
            case OperationKind.UNSUBSCRIBE:
                with suppress(InputError):
                    self.unsubscribe(number, operation.sid)
            case _:
                raise InputError(f"operation {number}: a trace cannot contain {operation.kind.value!r}")

    def _misses(self, operation: Operation) -> bool:
        """Whether the device is off, or was off for the operation that this one would undo."""
        match operation.kind:
            case OperationKind.INSERT if self._store is None:
                self._never_inserted[operation.oid] = None
            case OperationKind.SUBSCRIBE if self._store is None:
                self._never_subscribed[operation.sid] = None
            case OperationKind.DELETE if operation.oid in self._never_inserted:
                return True
            case OperationKind.UNSUBSCRIBE if operation.sid in self._never_subscribed:
                return True
        return self._store is None

    def insert(
        self,
        number: int,
        oid: str,
        data: Content,
        tags: Iterable[str],
        summary: bytes,
        ended: Ended = ignored,
        replicate: bool | None = None,
        drafted: Metadata | None = None,
        *,
        again: bool = False,
        lasts_s: float | None = None,
    ) -> Metadata:
        """`drafted` is the object that `draft` just returned, or with `again` the one inserted before. It expires
        `lasts_s` after now."""
        store = self._present()
        if type(data) is not bytes and not isinstance(data, InStore):
            check_bytes("content", data)
        subject = Subject(ObjectKey(oid, self.node), None, size_of(data))
        return self._records.carry_out(
            number,
            OperationKind.INSERT,
            subject,
            lambda done: store.insert(
                oid,
                data,
                tags,
                summary,
                done,
                replicate=replicate,
                drafted=drafted,
                again=again,
                expires_s=self._end_of(lasts_s),
            ),
            ended,
        )

    def draft(
        self, oid: str, data: Content, tags: Iterable[str], summary: bytes, lasts_s: float | None = None
    ) -> Metadata:
        """The object that this insertion would create."""
        return self._present().draft(oid, data, tags, summary, self._end_of(lasts_s))

    def _end_of(self, lasts_s: float | None) -> float | None:
        return None if lasts_s is None else self._context.now() + lasts_s

    def delete(self, number: int, oid: str, ended: Ended = ignored) -> None:
        store = self._present()
        subject = Subject(ObjectKey(oid, self.node))
        self._records.carry_out(number, OperationKind.DELETE, subject, lambda done: store.delete(oid, done), ended)

    def subscribe(self, number: int, query: Query, frame: TimeFrame, sid: int, ended: Ended = ignored) -> None:
        store = self._present()
        key = SubscriptionKey(sid, self.node)
        self._subscribed_s[key] = self._context.now()
        self._records.carry_out(
            number,
            OperationKind.SUBSCRIBE,
            Subject(subscription=key),
            lambda done: store.subscribe(query, frame, self._notified, done, sid=sid),
            ended,
        )

    def unsubscribe(self, number: int, sid: int, ended: Ended = ignored) -> None:
        store = self._present()
        subject = Subject(subscription=SubscriptionKey(sid, self.node))
        self._records.carry_out(
            number, OperationKind.UNSUBSCRIBE, subject, lambda done: store.unsubscribe(sid, done), ended
        )

    def retrieve(self, number: int, metadata: Metadata, ended: Ended = ignored, fetched: Fetched = thrown_away) -> None:
        store = self._present()

        def ask(done: Done) -> None:
            def handed_over(outcome: Outcome, data: Content) -> None:
                fetched(data)
                if fetched is thrown_away:
                    store.release(metadata.key)
                done(outcome)

            store.retrieve(metadata, handed_over)

        subject = Subject(metadata.key, size_bytes=metadata.size_bytes)
        self._records.carry_out(number, OperationKind.RETRIEVE, subject, ask, ended)

    def more(self, number: int, sid: int, ended: Ended = ignored, most: int = 0) -> None:
        """Ask for the next batch of past matches, or for a stream of up to so many."""
        store = self._present()
        key = SubscriptionKey(sid, self.node)
        subject = Subject(subscription=key)
        self._paged_s[key] = self._context.now()
        self._records.carry_out(number, OperationKind.MORE, subject, lambda done: store.more(sid, done, most), ended)

    def _present(self) -> ReactiveStore:
        if self._store is None:
            raise InputError(f"node {self.node} is not running; switch its device on first")
        return self._store

    def _notified(self, key: SubscriptionKey, matches: Sequence[Metadata], hops: int) -> None:
        new: list[tuple[Metadata, float]] = []
        context, see = self._context, self._seen.add
        recording = context.recording
        now_s, asked_s = context.now(), self._subscribed_s.get(key, 0.0)
        paged_s = max(asked_s, self._paged_s.get(key, 0.0))
        for metadata in matches:
            # When it could have been notified at the earliest: a match of before, when it was last asked for.
            due_s = metadata.published_s if metadata.published_s > asked_s else paged_s
            if recording:
                context.record(Notified(key, metadata.key, now_s - due_s, hops))
            if see((key, metadata.key), None):  # the records count the excess; the application is not called again
                new.append((metadata, now_s - due_s))
        if self.told is not None:
            self.told(key, new)
        if self._reacts:
            for metadata, _ in new:
                self._consider_more(key.sid)
                self._consider_fetching(metadata)

    def _consider_more(self, sid: int) -> None:
        if self._options.ask_more and sid not in self._asking:
            self._asking.add(sid)
            self._intend(self._options.ask_more_after_s, lambda: self._page(sid))

    def _page(self, sid: int) -> None:
        self._asking.discard(sid)
        with suppress(InputError):  # unsubscribed meanwhile, or off
            if self._present().remaining(sid) > 0:
                self.more(self.numbers.take(), sid)

    def _consider_fetching(self, metadata: Metadata) -> None:
        policy = self._options.retrieval
        if policy.probability <= 0.0:
            return
        if metadata.key in self._fetched or self._random.random() >= policy.probability:
            return
        if self._store is None or not self._store.capabilities.retrieves:
            return
        self._fetched[metadata.key] = None
        self._intend(self._random.uniform(policy.delay_low_s, policy.delay_high_s), lambda: self._fetch(metadata))

    def _fetch(self, metadata: Metadata) -> None:
        if self._store is not None:
            with suppress(InputError):
                self.retrieve(self.numbers.take(), metadata)

    def _intend(self, delay_s: float, action: Callable[[], None]) -> None:
        def act() -> None:
            self._intended -= 1
            action()

        self._intended += 1
        self._context.after(delay_s, act)
