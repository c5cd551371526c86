"""Tombstones: objects that their owners deleted, remembered as long as a copy of one may still come.

For approaches whose objects travel: a tombstone travels like the object itself, signed by its owner where members have
keys (`wire.statements`), and ends when the object would have expired.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import ObjectKey
from thyme.wire.storage import Tombstone

KIND = "tombstone"
LIFE_S = 86_400.0
"""How long the deletion of an object that does not expire is remembered: a day, longer than a crowd stays together."""
_decoder = msgspec.msgpack.Decoder(Tombstone)


class Tombstones:
    """At most `maximum` of them in the host's store; the oldest are forgotten."""

    def __init__(self, host: Host, maximum: int) -> None:
        self._host = host
        self._until_s: Bounded[ObjectKey, float] = Bounded(maximum, parting=self._part)
        for _, value in host.store.items(KIND):
            known = _decoder.decode(value)
            self._until_s[known.key] = known.until_s

    def __len__(self) -> int:
        return len(self._until_s)

    def __contains__(self, key: object) -> bool:
        return key in self._until_s

    def __iter__(self) -> Iterator[Tombstone]:
        return (Tombstone(key, until_s) for key, until_s in self._until_s.items())

    def add(self, key: ObjectKey, until_s: float | None = None) -> bool:
        """Remember that the object was deleted, until then or for `LIFE_S`; whether this is news."""
        if key in self._until_s:
            return False
        latest_s = self._host.now() + LIFE_S
        self._until_s[key] = latest_s if until_s is None else min(until_s, latest_s)
        known = Tombstone(key, self._until_s[key])
        self._host.store.put(KIND, str(key), msgspec.msgpack.encode(known))
        return True

    def expire(self, now_s: float) -> None:
        for key in [key for key, until_s in self._until_s.items() if until_s <= now_s]:
            self._part(key, self._until_s.pop(key))

    def _part(self, key: ObjectKey, _: float) -> None:
        self._host.store.remove(KIND, str(key))
