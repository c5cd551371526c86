"""Users: those who hold the devices. They issue the operations of a trace, look at notifications, and fetch objects.

A user outlives their device's crashes: what they have seen stays seen, and after a restart they attach themselves
to their subscriptions again. An operation whose time comes while the device is off is not issued; one under way when
it goes off has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec

from thyme.approaches.interface import Outcome, ReactiveStore
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.operations import Operation, RetrievalPolicy
from thyme.model.queries import parse_query
from thyme.model.records import (
    LogRecord,
    Notified,
    OperationFailed,
    OperationIssued,
    OperationKind,
    OperationSucceeded,
)
from thyme.sim.engine import Engine
from thyme.sim.recorder import Recorder

REACTION_NUMBERS = 1_000_000_000
"""Operations that users issue in reaction to notifications are numbered from here on, apart from the trace's."""


class UserOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    retrieval: RetrievalPolicy = RetrievalPolicy()
    ask_more: bool = True
    """Whether a user pages through all past matches of a subscription (Thyme FGCS §3.3)."""
    ask_more_after_s: float = 1.0


class Numbers:
    """Numbers for the operations that are not in the trace, unique in the run."""

    def __init__(self) -> None:
        self._next = REACTION_NUMBERS

    def take(self) -> int:
        self._next += 1
        return self._next


class User:
    """The user of one node."""

    def __init__(
        self, node: int, engine: Engine, recorder: Recorder, options: UserOptions, numbers: Numbers, seed: int
    ) -> None:
        self._node = node
        self._engine = engine
        self._recorder = recorder
        self._options = options
        self._numbers = numbers
        self._random = Random(f"{seed}/{node}/user")
        self._store: ReactiveStore | None = None
        self._under_way: dict[int, tuple[OperationKind, float]] = {}
        self._seen: set[tuple[SubscriptionKey, ObjectKey]] = set()
        self._fetched: set[ObjectKey] = set()
        self._subscribed_s: dict[SubscriptionKey, float] = {}
        self._asking: set[int] = set()

    def take(self, store: ReactiveStore) -> None:
        """The device is on, with this store."""
        self._store = store
        store.resume(self._notified)

    def lose(self) -> None:
        """The device is off: what was under way has failed."""
        self._store = None
        for number in list(self._under_way):
            self._failed(number, "node left")
        self._asking.clear()

    def issue(self, operation: Operation) -> None:
        store = self._store
        if store is None:
            return
        match operation.kind:
            case OperationKind.INSERT:
                self._insert(store, operation)
            case OperationKind.DELETE:
                self._begin(operation.operation, operation.kind, object=operation.object_key)
                self._try(operation.operation, lambda done: store.delete(operation.oid, done))
            case OperationKind.SUBSCRIBE:
                self._subscribe(store, operation)
            case OperationKind.UNSUBSCRIBE:
                self._begin(operation.operation, operation.kind, subscription=operation.subscription_key)
                self._try(operation.operation, lambda done: store.unsubscribe(operation.sid, done))
            case _:
                raise InputError(f"operation {operation.operation}: a trace cannot contain {operation.kind!r}")

    def _insert(self, store: ReactiveStore, operation: Operation) -> None:
        content = operation.content()
        self._begin(operation.operation, operation.kind, object=operation.object_key, size_bytes=len(content))
        self._try(
            operation.operation,
            lambda done: store.insert(operation.oid, content, operation.tags, operation.summary(), done),
        )

    def _subscribe(self, store: ReactiveStore, operation: Operation) -> None:
        key = operation.subscription_key
        self._subscribed_s[key] = self._engine.now_s
        self._begin(operation.operation, operation.kind, subscription=key)
        query = parse_query(operation.query)
        self._try(
            operation.operation,
            lambda done: store.subscribe(query, operation.frame, self._notified, done, sid=operation.sid),
        )

    def _notified(self, key: SubscriptionKey, metadata: Metadata, hops: int) -> None:
        if (key, metadata.key) in self._seen:
            return
        self._seen.add((key, metadata.key))
        now_s = self._engine.now_s
        due_s = max(metadata.published_s, self._subscribed_s.get(key, 0.0))
        self._record(Notified(key, metadata.key, now_s - due_s, hops))
        self._consider_more(key.sid)
        policy = self._options.retrieval
        if metadata.key in self._fetched or self._random.random() >= policy.probability:
            return
        if self._store is None or not self._store.capabilities.retrieves:
            return
        self._fetched.add(metadata.key)
        delay_s = self._random.uniform(policy.delay_low_s, policy.delay_high_s)
        self._engine.after(delay_s, lambda: self._retrieve(metadata))

    def _retrieve(self, metadata: Metadata) -> None:
        store = self._store
        if store is None:
            return
        number = self._numbers.take()
        self._begin(number, OperationKind.RETRIEVE, object=metadata.key, size_bytes=metadata.size_bytes)
        self._try(number, lambda done: store.retrieve(metadata, lambda outcome, _: done(outcome)))

    def _consider_more(self, sid: int) -> None:
        if self._options.ask_more and sid not in self._asking:
            self._asking.add(sid)
            self._engine.after(self._options.ask_more_after_s, lambda: self._more(sid))

    def _more(self, sid: int) -> None:
        self._asking.discard(sid)
        store = self._store
        if store is None:
            return
        try:
            remaining = store.remaining(sid)
        except InputError:
            return  # unsubscribed meanwhile
        if remaining > 0:
            number = self._numbers.take()
            self._begin(number, OperationKind.MORE, subscription=SubscriptionKey(sid, store.node))
            self._try(number, lambda done: store.more(sid, done))

    def _begin(
        self,
        number: int,
        kind: OperationKind,
        *,
        object: ObjectKey | None = None,  # noqa: A002
        subscription: SubscriptionKey | None = None,
        size_bytes: int = 0,
    ) -> None:
        self._under_way[number] = (kind, self._engine.now_s)
        self._record(OperationIssued(number, kind, object, subscription, size_bytes))

    def _try(self, number: int, ask: Callable[[Callable[[Outcome], None]], object]) -> None:
        try:
            ask(lambda outcome: self._ended(number, outcome))
        except InputError as error:
            self._failed(number, f"refused: {error}")

    def _ended(self, number: int, outcome: Outcome) -> None:
        if number not in self._under_way:
            return
        if not outcome.ok:
            self._failed(number, outcome.failure.value)
            return
        kind, issued_s = self._under_way.pop(number)
        self._record(OperationSucceeded(number, kind, self._engine.now_s - issued_s))

    def _failed(self, number: int, reason: str) -> None:
        kind, issued_s = self._under_way.pop(number)
        self._record(OperationFailed(number, kind, self._engine.now_s - issued_s, reason))

    def _record(self, event: LogRecord) -> None:
        self._recorder.record(self._engine.now_s, self._node, event)
