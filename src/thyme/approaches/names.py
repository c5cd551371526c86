"""Names that a node has given to its objects: each is used once, whether the object lives or was deleted.

Objects are immutable (Thyme FGCS §3). Others may still know the one that had the name: its tombstone, its number among
the events they have seen, the notification they were given. A second object under it would be acknowledged and never
seen, so it is refused. A name is one small record in the host's store. Names are forgotten when they were last used so
long ago that nobody knows the object any more, and, beyond a maximum, the one used longest ago.
"""

from __future__ import annotations

import msgspec

from thyme.host import Host
from thyme.model.bounded import Bounded

KIND = "used name"


class UsedNames:
    """One node's, in the order of their last use: the insertion, or the end of the object."""

    def __init__(self, host: Host, maximum: int, life_s: float) -> None:
        self._host = host
        self._life_s = life_s
        self._used_s: Bounded[str, float] = Bounded(maximum, renewing=True, parting=self._forget)
        for oid, value in host.store.items(KIND):
            self._used_s[oid] = msgspec.msgpack.decode(value, type=float)

    def __len__(self) -> int:
        return len(self._used_s)

    def __contains__(self, oid: object) -> bool:
        if oid not in self._used_s:
            return False
        self._forget_old(self._host.now())
        return oid in self._used_s

    def use(self, oid: str) -> None:
        if oid in self._used_s:
            self._host.store.remove(KIND, oid)  # it comes after all others now
        now_s = self._host.now()
        self._forget_old(now_s)
        self._used_s[oid] = now_s
        self._host.store.put(KIND, oid, msgspec.msgpack.encode(now_s))

    def _forget_old(self, now_s: float) -> None:
        while self._used_s and now_s - next(iter(self._used_s.values())) > self._life_s:
            oldest = next(iter(self._used_s))
            self._forget(oldest, self._used_s.pop(oldest))

    def _forget(self, oid: str, _: float) -> None:
        self._host.store.remove(KIND, oid)
