"""A mapping that never outgrows its maximum: what is remembered of messages, walks and peers.

Whatever a node is told could go on for ever, so each memory has a named maximum, and the entry that came first makes
room for the newest. Where setting a key again must make it the newest, the memory is made with `renewing`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_FEW = 64
_SHARE = 16
"""A dict keeps the places of what was removed, and looks at all of them to find its first entry: where 100,000 things
are remembered, at as many. When they are more than a few, and this share of the maximum, they are cleared away."""


class Bounded(dict[K, V]):
    """At most `maximum` entries in the order in which they came. `evicted` counts those that made room, and `parting`
    hears of each."""

    __slots__ = ("_gaps", "evicted", "maximum", "parting", "renewing")

    def __init__(self, maximum: int, *, renewing: bool = False, parting: Callable[[K, V], None] | None = None) -> None:
        super().__init__()
        self.maximum = maximum
        self.renewing = renewing
        self.parting = parting
        self.evicted = 0
        self._gaps = 0

    def __setitem__(self, key: K, value: V) -> None:
        if self.renewing and key in self:
            del self[key]
            self._gaps += 1
        dict.__setitem__(self, key, value)
        if len(self) > self.maximum:
            self._make_room()

    def add(self, key: K, value: V) -> bool:
        """Set a key unless it is there; whether it was not. The key is looked for once, where hashing it is most of the
        work."""
        count = len(self)
        dict.setdefault(self, key, value)
        if len(self) == count:
            return False
        if count >= self.maximum:
            self._make_room()
        return True

    def _make_room(self) -> None:
        oldest = next(iter(self))
        gone = self.pop(oldest)
        self.evicted += 1
        self._gaps += 1
        if self._gaps > max(_FEW, self.maximum // _SHARE):
            self._gaps = 0
            entries = dict(self)
            self.clear()
            dict.update(self, entries)
        if self.parting:
            self.parting(oldest, gone)

    def setdefault(self, key: K, default: V) -> V:
        if key not in self:
            self[key] = default
            return default
        return self[key]

    def update(self, *_: Any, **__: Any) -> None:
        raise TypeError("entries of a bounded mapping are set one by one, or its maximum would not hold")

    __ior__ = update  # type: ignore[assignment]
