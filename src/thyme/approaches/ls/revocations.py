"""The revocations that a node of Thyme-LS knows, in its store and within bounds.

All nodes keep the same ones: those of a while, by the subscriber's clock, and of too many the latest. So neighbours who
compare what they know agree, and nothing that one has forgotten comes back from another.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import msgspec

from thyme.host import Host
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.wire.storage import Revocation

KIND = "revoked subscription"
_instant = msgspec.msgpack.Decoder(float)


class Revocations:
    """By key, and in the order of their instants."""

    def __init__(self, host: Host, maximum: int, life_s: float) -> None:
        self._host = host
        self._maximum = maximum
        self._life_s = life_s
        self._at_s = {_key(name): _instant.decode(value) for name, value in host.store.items(KIND)}
        self._order = sorted((at_s, key) for key, at_s in self._at_s.items())

    def __contains__(self, key: SubscriptionKey) -> bool:
        return key in self._at_s

    def __len__(self) -> int:
        return len(self._at_s)

    def all(self) -> list[Revocation]:
        """The earliest first."""
        return [(key, at_s) for at_s, key in self._order]

    def add(self, key: SubscriptionKey, at_s: float) -> list[Revocation] | None:
        """Remember one; those that it replaces or that make room for it, or None if it is no news."""
        known_s = self._at_s.get(key)
        if known_s is not None and known_s >= at_s:
            return None
        gone = [] if known_s is None else [self._remove(known_s, key)]
        self._at_s[key] = at_s
        insort(self._order, (at_s, key))
        self._host.store.put(KIND, str(key), msgspec.msgpack.encode(at_s))
        gone += self.forget_old()
        return None if (key, at_s) in gone else gone

    def forget_old(self) -> list[Revocation]:
        gone = []
        while self._order and (len(self._order) > self._maximum or self._order[0][0] < self._host.now() - self._life_s):
            gone.append(self._remove(*self._order[0]))
        return gone

    def _remove(self, at_s: float, key: SubscriptionKey) -> Revocation:
        del self._at_s[key]
        del self._order[bisect_left(self._order, (at_s, key))]
        self._host.store.remove(KIND, str(key))
        return key, at_s


def _key(name: str) -> SubscriptionKey:
    """The key of this text."""
    sid, _, subscriber = name.partition("@")
    return SubscriptionKey(int(sid), NodeId(int(subscriber)))
