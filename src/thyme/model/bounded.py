"""A mapping that never outgrows its maximum: what is remembered of messages, walks and peers.

Whatever a node is told could go on for ever, so each memory has a named maximum, and the entry that came first makes
room for the newest. Where setting a key again must make it the newest, the memory is made with `renewing`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Bounded(dict[K, V]):
    """At most `maximum` entries in the order in which they came. `evicted` counts those that made room, and `parting`
    hears of each."""

    __slots__ = ("evicted", "maximum", "parting", "renewing")

    def __init__(self, maximum: int, *, renewing: bool = False, parting: Callable[[K, V], None] | None = None) -> None:
        super().__init__()
        self.maximum = maximum
        self.renewing = renewing
        self.parting = parting
        self.evicted = 0

    def __setitem__(self, key: K, value: V) -> None:
        if self.renewing:
            self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self.maximum:
            oldest = next(iter(self))
            gone = self.pop(oldest)
            self.evicted += 1
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
