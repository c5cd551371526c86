"""A mapping with a maximum size: what is remembered of messages, walks and peers.

A full mapping drops its oldest entry for a new one. With `renewing`, setting a key again makes it the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_FEW = 64
_SHARE = 16
"""A dict keeps the slots of removed entries and scans them to find its first entry: up to 100,000 in a memory of that
size. When there are more than `_FEW` of them, and more than this share of the maximum, the dict is rebuilt."""


class Bounded(dict[K, V]):
    """At most `maximum` entries in insertion order; `parting` is called with each that is dropped for a new one."""

    __slots__ = ("_gaps", "maximum", "parting", "renewing")

    def __init__(self, maximum: int, *, renewing: bool = False, parting: Callable[[K, V], None] | None = None) -> None:
        super().__init__()
        self.maximum = maximum
        self.renewing = renewing
        self.parting = parting
        self._gaps = 0

    def __setitem__(self, key: K, value: V) -> None:
        if self.renewing and key in self:
            del self[key]
            self._gaps += 1
        dict.__setitem__(self, key, value)
        if len(self) > self.maximum:
            self._make_room()

    def add(self, key: K, value: V) -> bool:
        """Set a key unless it exists; returns whether it was added. Looks the key up once, since hashing it is most of
        the work."""
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
