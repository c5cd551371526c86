"""Objects that end at an instant which their owner gave them: every node frees its copies then, and tells nobody.

Whoever stores something of an object asks to `watch` it first. Instants are in the host's store, so that a node that
was off meanwhile frees its copies when it is on again.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.approaches.deadlines import Deadlines
from thyme.approaches.partial_contents import key_of_draft
from thyme.host import Host
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata

KIND = "expiry"
MAX_WATCHED = 1_000_000
"""As many objects as an index holds; of more, nothing that expires is stored."""


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
        self._deadlines: Deadlines[ObjectKey] = Deadlines(host, self._end)
        for name, value in host.store.items(KIND):
            self._deadlines.set(key_of_draft(name), msgspec.msgpack.decode(value, type=float))

    def watch(self, metadata: Metadata) -> bool:
        """Whether something of this object may be stored: not if its time is over."""
        key, expires_s = metadata.key, metadata.expires_s
        if expires_s is None:
            return True
        if expires_s <= self._host.now():
            return False
        if key not in self._deadlines:
            if len(self._deadlines) >= MAX_WATCHED:
                return False
            self._host.store.put(KIND, str(key), msgspec.msgpack.encode(expires_s))
            self._deadlines.set(key, expires_s)
        return True

    def _end(self, key: ObjectKey) -> None:
        self._host.store.remove(KIND, str(key))
        self._expire(key)
