"""A simulated disk: a `Store` whose commits take time, so that a crash may happen before, during or after one.

As on a device (`live.store`), changes are visible at once and collected in batches, one batch is written at a time, and
it becomes durable as a whole, `commit_s` after the write started. Callbacks that wait for it run `answer_s` later. A
crash undoes what is not durable yet and drops the waiting callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from thyme.approaches.inbox import Notify
from thyme.approaches.interface import Done, Fetched, Outcome, ReactiveStore
from thyme.host import MemoryStore
from thyme.model.frames import TimeFrame
from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Content, Metadata
from thyme.model.queries import Query
from thyme.model.settings.bounds import NotNegative

Callback = Callable[[], None]


class DiskSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The devices' disks. With both times 0, everything is durable at once."""

    commit_s: NotNegative = 0.0
    """From when a batch of changes is written until it lasts; frames and answers that depend on it wait …"""
    answer_s: NotNegative = 0.0
    """… and the further delay until the device knows that it is durable."""

    @property
    def takes_time(self) -> bool:
        return self.commit_s + self.answer_s > 0.0


class _Batch:
    def __init__(self) -> None:
        self.changes: list[tuple[str, tuple[Any, ...]]] = []
        """The changes of the store: the method's name and its arguments."""
        self.awaited = False
        """Whether a callback waits until this is durable."""
        self.after: list[Callback] = []


class SimulatedDisk(MemoryStore):
    """The store that a device's protocols see; `lasting` is what survives a crash."""

    def __init__(self, after: Callable[[float, Callback], object], section: DiskSection) -> None:
        """`after` runs a callback later."""
        super().__init__()
        self.lasting = MemoryStore()
        self._after = after
        self._section = section
        self._gathered = _Batch()
        self._under_way: _Batch | None = None
        self._life = 0

    def put(self, kind: str, key: str, value: bytes) -> None:
        super().put(kind, key, value)
        self._change("put", (kind, key, value))

    def remove(self, kind: str, key: str) -> None:
        super().remove(kind, key)
        self._change("remove", (kind, key))

    def write(
        self, key: str, offset: int, part: bytes, written: Callback | None = None, *, since_s: float | None = None
    ) -> None:
        super().write(key, offset, part)
        self._change("write", (key, offset, part), awaited=written is None)
        if written is not None:
            self._gathered.after.append(written)

    def discard(self, key: str) -> None:
        super().discard(key)
        self._change("discard", (key,))

    def commit(self, done: Callback) -> None:
        if self._gathered.awaited:
            self._gathered.after.append(done)
        elif self._under_way is not None and self._under_way.awaited:
            self._under_way.after.append(done)
        else:
            done()

    def crash(self) -> None:
        """The device is off: changes that are not durable are lost, with their callbacks."""
        self._life += 1
        self._gathered, self._under_way = _Batch(), None
        self.become(self.lasting)

    def _change(self, what: str, given: tuple[Any, ...], *, awaited: bool = True) -> None:
        if not self._gathered.changes and self._under_way is None:
            self._later(0.0, self._begin)
        self._gathered.changes.append((what, given))
        self._gathered.awaited |= awaited

    def _begin(self) -> None:
        batch, self._gathered = self._gathered, _Batch()
        self._under_way = batch

        def last() -> None:
            for what, given in batch.changes:
                getattr(self.lasting, what)(*given)
            self._later(self._section.answer_s, answer)

        def answer() -> None:
            self._under_way = None
            if self._gathered.changes:
                self._begin()
            for callback in batch.after:
                callback()

        self._later(self._section.commit_s, last)

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        life = self._life

        def act() -> None:
            if self._life == life:
                action()

        self._after(delay_s, act)


class DurableAnswers:
    """A store as its user sees it: an operation is answered when everything that it stored is durable. All other
    methods are passed through."""

    def __init__(self, store: ReactiveStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def insert(
        self, oid: str, data: Content, tags: Iterable[str], summary: bytes, done: Done, **options: Any
    ) -> Metadata:
        return self._store.insert(oid, data, tags, summary, self._lasting(done), **options)

    def delete(self, oid: str, done: Done) -> None:
        self._store.delete(oid, self._lasting(done))

    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        return self._store.subscribe(query, frame, notify, self._lasting(done), sid=sid)

    def unsubscribe(self, sid: int, done: Done) -> None:
        self._store.unsubscribe(sid, self._lasting(done))

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        self._store.more(sid, self._lasting(done), most)

    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        def fetched(outcome: Outcome, data: Content) -> None:
            self._store.host.store.commit(lambda: done(outcome, data))

        self._store.retrieve(metadata, fetched)

    def _lasting(self, done: Done) -> Done:
        return lambda outcome: self._store.host.store.commit(lambda: done(outcome))
