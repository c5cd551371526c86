"""Objects that end at an instant which their owner gave them: every node frees its copies then, and tells nobody.

Whoever stores something of an object asks to `watch` it first. Instants are in the host's store, so that a node that
was off meanwhile frees its copies when it is on again. One timer serves all.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import msgspec

from thyme.approaches.partial_contents import key_of_draft
from thyme.host import Host, Timer
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata

KIND = "expiry"
LONGEST_WAIT_S = 60.0
"""The crowd's clock may be set forward, which a timer does not notice; so time is looked at once a minute."""
MAX_WATCHED = 1_000_000
"""As many objects as an index holds; of more, nothing that expires is stored."""
EARLY_S = 1e-6
"""A timer may ring so much too early, by rounding."""


Watch = Callable[[Metadata], bool]
"""Whether something of an object may be stored; if it expires, it is watched from now on."""


def expires_never(_: Metadata) -> bool:
    """For parts of a node that are used alone."""
    return True


class Expiries:
    """Objects that expire and of which this node stores something."""

    def __init__(self, host: Host, expire: Callable[[ObjectKey], None]) -> None:
        self._host = host
        self._expire = expire
        self._timer: Timer | None = None
        self._watched: dict[ObjectKey, float] = {}
        for name, value in host.store.items(KIND):
            self._watched[key_of_draft(name)] = msgspec.msgpack.decode(value, type=float)
        self._due = [(expires_s, key) for key, expires_s in self._watched.items()]
        heapify(self._due)
        if self._due:
            self._set_timer()

    def watch(self, metadata: Metadata) -> bool:
        """Whether something of this object may be stored: not if its time is over."""
        expires_s = metadata.expires_s
        if expires_s is None:
            return True
        if expires_s <= self._host.now():
            return False
        key = metadata.key
        if key not in self._watched:
            if len(self._watched) >= MAX_WATCHED:
                return False
            self._watched[key] = expires_s
            self._host.store.put(KIND, str(key), msgspec.msgpack.encode(expires_s))
            heappush(self._due, (expires_s, key))
            if self._due[0][1] == key:
                self._set_timer()
        return True

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        wait_s = min(max(0.0, self._due[0][0] - self._host.now()), LONGEST_WAIT_S)
        self._timer = self._host.after(wait_s, self._ring)

    def _ring(self) -> None:
        self._timer = None
        while self._due and self._due[0][0] <= self._host.now() + EARLY_S:
            _, key = heappop(self._due)
            del self._watched[key]
            self._host.store.remove(KIND, str(key))
            self._expire(key)
        if self._due:
            self._set_timer()
