"""What a member has answered for its cell of late: which insertions, which subscriptions, and when.

It decided on what it knew then. When it learns of something that it should have known, it is the one to notify, even
if it was off in between: the memory is in the host's store, and bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from thyme.host import Store
from thyme.model.bounded import Bounded
from thyme.model.ids import ObjectKey, SubscriptionKey

Key = TypeVar("Key", ObjectKey, SubscriptionKey)


class Answered(Generic[Key]):
    """Keys in the order in which they were answered, with the time."""

    def __init__(self, store: Store, kind: str, key_type: type[Key], most: int) -> None:
        self._store = store
        self._kind = kind
        self._times: Bounded[Key, float] = Bounded(most, parting=self._forget)
        for _, value in store.items(kind):
            name, at_s = msgspec.msgpack.decode(value)
            self._times[msgspec.convert(name, key_type)] = at_s

    def __iter__(self) -> Iterator[Key]:
        return iter(self._times)

    def get(self, key: Key, default_s: float) -> float:
        return self._times.get(key, default_s)

    def remember_first(self, key: Key, at_s: float) -> None:
        """As `remember`, unless it was answered before."""
        if key not in self._times:
            self.remember(key, at_s)

    def remember(self, key: Key, at_s: float) -> None:
        self._times[key] = at_s
        self._store.put(self._kind, str(key), msgspec.msgpack.encode((key, at_s)))

    def _forget(self, key: Key, _: float) -> None:
        self._store.remove(self._kind, str(key))
