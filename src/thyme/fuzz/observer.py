"""The observer: records what users ask of their stores and what the stores answer.

It wraps the store of each device (`Run(seen_by_user=…)`), across restarts, so it sees notifications before the user has
removed duplicates. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import msgspec

from thyme.approaches.inbox import Notify
from thyme.approaches.interface import Done, Fetched, Outcome, ReactiveStore
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import Content, Metadata
from thyme.model.queries import Query
from thyme.model.records import OperationKind
from thyme.sim.run import Run

Answer = TypeVar("Answer")
CONTENT = "content"
"""The kind of record under which a node's store says which contents it has."""


class NotifiedOf(msgspec.Struct, frozen=True):
    """A store notified its user of an object."""

    at_s: float
    subscription: SubscriptionKey
    object: ObjectKey
    tags: tuple[str, ...]
    published_s: float
    size_bytes: int


class ObservedOperation(msgspec.Struct):
    """A user asked for something. `failure` is None until it ended, and empty if it went well."""

    at_s: float
    node: int
    kind: OperationKind
    life: int
    object: ObjectKey | None = None
    subscription: SubscriptionKey | None = None
    refused: str = ""
    outcomes: int = 0
    ended_s: float = -1.0
    failure: str | None = None
    data: Content = b""
    holders: tuple[int, ...] = ()
    """Retrievals: the nodes that were on and had the content from the request to its end."""

    @property
    def ok(self) -> bool:
        return self.failure == ""


class StoreObserver:
    """Everything that users and stores said to each other in one run."""

    def __init__(self) -> None:
        self.told: list[NotifiedOf] = []
        self.asked: list[ObservedOperation] = []
        self._run: Run | None = None

    def follow(self, run: Run) -> None:
        self._run = run

    def stand_before(self, store: ReactiveStore) -> ReactiveStore:
        return cast(ReactiveStore, ObservedStore(store, self))

    @property
    def now_s(self) -> float:
        return self._run.world.engine.now_s if self._run else 0.0

    def life_of(self, node: int) -> int:
        return self._run.world.hosts[node].life if self._run else 0

    def holders_of(self, key: ObjectKey) -> tuple[int, ...]:
        """Nodes that are on and have the content now."""
        run = self._run
        if run is None:
            return ()
        return tuple(n for n in sorted(run.stores) if run.world.hosts[n].store.get(CONTENT, str(key)) is not None)


class ObservedStore:
    """A store that is observed; everything not named here is passed through."""

    def __init__(self, store: ReactiveStore, observer: StoreObserver) -> None:
        self._store = store
        self._observer = observer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def insert(
        self, oid: str, data: Content, tags: Iterable[str], summary: bytes, done: Done, **options: Any
    ) -> Metadata:
        asked = self._asked(OperationKind.INSERT, ObjectKey(oid, self._store.node))
        return self._try(
            asked, lambda: self._store.insert(oid, data, tags, summary, self._ended(asked, done), **options)
        )

    def delete(self, oid: str, done: Done) -> None:
        asked = self._asked(OperationKind.DELETE, ObjectKey(oid, self._store.node))
        self._try(asked, lambda: self._store.delete(oid, self._ended(asked, done)))

    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        asked = self._asked(OperationKind.SUBSCRIBE, subscription=self._key(sid))
        ended = self._ended(asked, done)
        return self._try(asked, lambda: self._store.subscribe(query, frame, self._telling(notify), ended, sid=sid))

    def unsubscribe(self, sid: int, done: Done) -> None:
        asked = self._asked(OperationKind.UNSUBSCRIBE, subscription=self._key(sid))
        self._try(asked, lambda: self._store.unsubscribe(sid, self._ended(asked, done)))

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        asked = self._asked(OperationKind.MORE, subscription=self._key(sid))
        self._try(asked, lambda: self._store.more(sid, self._ended(asked, done), most))

    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        asked = self._asked(OperationKind.RETRIEVE, metadata.key)
        asked.holders = self._observer.holders_of(metadata.key)

        def fetched(outcome: Outcome, data: Content) -> None:
            asked.data = data
            still = self._observer.holders_of(metadata.key)
            asked.holders = tuple(node for node in asked.holders if node in still)
            self._note_end(asked, outcome)
            done(outcome, data)

        self._try(asked, lambda: self._store.retrieve(metadata, fetched))

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        return self._store.resume(self._telling(notify))

    def _key(self, sid: int | None) -> SubscriptionKey:
        assert sid is not None, "a trace names its subscriptions"
        return SubscriptionKey(sid, self._store.node)

    def _asked(
        self, kind: OperationKind, key: ObjectKey | None = None, subscription: SubscriptionKey | None = None
    ) -> ObservedOperation:
        node = self._store.node
        asked = ObservedOperation(self._observer.now_s, node, kind, self._observer.life_of(node), key, subscription)
        self._observer.asked.append(asked)
        return asked

    def _try(self, asked: ObservedOperation, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except InputError as error:
            asked.refused = str(error)
            raise

    def _ended(self, asked: ObservedOperation, done: Done) -> Done:
        def ended(outcome: Outcome) -> None:
            self._note_end(asked, outcome)
            done(outcome)

        return ended

    def _note_end(self, asked: ObservedOperation, outcome: Outcome) -> None:
        asked.outcomes += 1
        if asked.outcomes == 1:
            asked.ended_s, asked.failure = self._observer.now_s, "" if outcome.ok else str(outcome.failure.value)

    def _telling(self, notify: Notify) -> Notify:
        def told(key: SubscriptionKey, matches: Sequence[Metadata], hops: int) -> None:
            now_s = self._observer.now_s
            self._observer.told += [NotifiedOf(now_s, key, m.key, m.tags, m.published_s, m.size_bytes) for m in matches]
            notify(key, matches, hops)

        return told
