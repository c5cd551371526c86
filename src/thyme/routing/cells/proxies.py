"""What a node remembers of the cells that its own cell is the proxy of.

A packet for an empty cell must go all the way round the void before the closest cell knows that it is the
closest (Thyme FGCS §6.6.2). The node where a tour ends remembers this for a short while, and the next packet
that would set out from its cell ends there at once. The memory holds only while the populated cells around
stay the same; a cell that fills farther along the void is noticed when the memory has passed.
"""

from __future__ import annotations

from collections.abc import Callable

from thyme.model.bounded import Bounded
from thyme.model.ids import CellId
from thyme.wire.geographic import Heading

_Toured = tuple[float, CellId, frozenset[CellId]]
"""Until when a tour is remembered, where it ended, and which cells it saw around."""
MAX_PROXIES = 256
"""Proxied cells remembered; beyond them, the one learned or renewed first is forgotten."""


class Proxies:
    __slots__ = (
        "_memory_s",
        "_now",
        "_toured",
    )

    def __init__(self, now: Callable[[], float], memory_s: float) -> None:
        self._now = now
        self._memory_s = memory_s
        self._toured: Bounded[tuple[CellId, bool], _Toured] = Bounded(MAX_PROXIES, renewing=True)

    def remember(self, heading: Heading, here: CellId, around: frozenset[CellId]) -> None:
        """A packet under this heading has just ended its tour here."""
        if self._memory_s <= 0.0:
            return
        key = (heading.cell, heading.beside)
        self._toured[key] = (self._now() + self._memory_s, here, around)

    def known(self, heading: Heading, here: CellId, around: frozenset[CellId]) -> bool:
        """Whether a tour under this heading would end where it starts, as far as is remembered."""
        toured = self._toured.get((heading.cell, heading.beside))
        return toured is not None and toured[0] > self._now() and toured[1:] == (here, around)
