"""Contents that the application of a node may read, its own and those that came with a notification.

SocialCast stores nothing on behalf of others, so a content is here for this node's own reader alone. One with a time
limit of its publisher (SocialCast §III: no message remains forever) is kept for `read_s` beyond it, for a reader who
was just told, and then dropped. Without a limit it stays until newer ones need its room.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import msgspec

from thyme.approaches.contents import Contents
from thyme.approaches.eviction import Evictable
from thyme.approaches.interface import Fetched
from thyme.approaches.tombstones import Tombstones
from thyme.host import Host
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata

KIND = "socialcast content"


class _Readable(msgspec.Struct, frozen=True, array_like=True):
    key: ObjectKey
    until_s: float | None


_decoder = msgspec.msgpack.Decoder(_Readable)


class ReadableContents:
    """Contents by key, at most `maximum`, in the order in which they came."""

    def __init__(self, host: Host, maximum: int, read_s: float, tombstones: Tombstones) -> None:
        self._host = host
        self._maximum = maximum
        self._read_s = read_s
        self._contents = Contents(host)
        self._contents.is_deleted = tombstones.__contains__
        self._until_s: dict[ObjectKey, float] = {}
        for _, value in host.store.items(KIND):
            readable = _decoder.decode(value)
            self._until_s[readable.key] = inf if readable.until_s is None else readable.until_s
        self._next_s = min(self._until_s.values(), default=inf)

    def __len__(self) -> int:
        return len(self._until_s)

    def __contains__(self, key: object) -> bool:
        return key in self._until_s

    def deliver(self, metadata: Metadata, done: Fetched) -> None:
        self._contents.deliver(metadata, done)

    def keep(self, metadata: Metadata, data: bytes, expires_s: float | None) -> None:
        if self._contents.keep(metadata, data):
            self.limit(metadata.key, expires_s)
        if len(self._until_s) > self._maximum:
            self._drop(next(iter(self._until_s)))

    def limit(self, key: ObjectKey, expires_s: float | None) -> None:
        """The message expires then, or never."""
        until_s = None if expires_s is None else expires_s + self._read_s
        self._until_s[key] = inf if until_s is None else until_s
        self._next_s = min(self._next_s, self._until_s[key])
        self._host.store.put(KIND, str(key), msgspec.msgpack.encode(_Readable(key, until_s)))

    def expire(self, now_s: float) -> None:
        if now_s < self._next_s:
            return
        for key in [key for key, until_s in self._until_s.items() if until_s <= now_s]:
            self._drop(key)
        self._next_s = min(self._until_s.values(), default=inf)

    def evictable(self) -> Iterator[Evictable]:
        return self._contents.delivered(self._host.node, self._drop)

    def drop(self, key: ObjectKey) -> None:
        if key in self._until_s:
            self._drop(key)

    def _drop(self, key: ObjectKey) -> None:
        self._until_s.pop(key, None)
        self._contents.drop(key)
        self._host.store.remove(KIND, str(key))
