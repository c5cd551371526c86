"""Supplies: how much is asked of each source at once, and how long it may take to answer.

The window of a source opens by one part with each answer while answers come about as fast as the fastest did; when they
take longer, because parts wait for each other on the way, it opens slowly or closes, and when one is late, it halves.
So it finds what the path carries, on loopback as on a radio over several hops.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Generic, TypeVar

import msgspec

from thyme.model.settings.bounds import AtLeastOne, Count, Positive

Source = TypeVar("Source")
MAX_WINDOW = 64
"""Parts asked of one source at once, at most."""
REST_S = 2.0
"""Interval between two rounds of requests to silent sources."""
FIRST_WINDOW = 4
"""Parts asked of one source at first, as of small contents."""
LONGEST_PATIENCE_S = 4.0
"""A part is asked for again after this time at the most, however slow its source has been."""


class TransferOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How contents of more than one chunk are fetched."""

    sources: AtLeastOne = 4
    """Asked at once."""
    chunks: AtLeastOne = 16
    """In memory, under way or on their way to the disk: 2 MB."""
    patience_s: Positive = 0.5
    """A part is asked for again after this time at the least, and after `LONGEST_PATIENCE_S` at the most."""
    rounds: Count = 5
    """How often sources that sent parts and fell silent are asked again before the next chunk arrives."""


class Chunk(msgspec.Struct, eq=False):
    """A chunk that is under way."""

    number: int
    begins: int
    data: bytearray
    unasked: deque[int]
    """Where the parts begin that were not asked for."""
    left_bytes: int


class Supply(Generic[Source]):
    """One source."""

    def __init__(self, source: Source, options: TransferOptions) -> None:
        self.source = source
        self._options = options
        self.window = float(FIRST_WINDOW)
        self.under_way = 0
        self.chunk: Chunk | None = None
        """The one whose parts are asked for next."""
        self.chunks: list[Chunk] = []
        self.gone = False
        self._best_s = inf
        self._smooth_s = 0.0
        self._spread_s = 0.0
        self._narrowed_s = -inf

    @property
    def open(self) -> bool:
        return self.under_way < int(self.window)

    @property
    def patience_s(self) -> float:
        expected_s = self._smooth_s + 4.0 * self._spread_s
        return min(max(2.0 * expected_s, self._options.patience_s), LONGEST_PATIENCE_S)

    def answered(self, took_s: float) -> None:
        """A part came, so long after it was asked for, and was asked for once."""
        if self._best_s == inf:
            self._smooth_s, self._spread_s = took_s, took_s / 2.0
        self._best_s = min(self._best_s, took_s)
        self._spread_s += (abs(took_s - self._smooth_s) - self._spread_s) / 4.0
        self._smooth_s += (took_s - self._smooth_s) / 8.0
        if took_s <= 2.0 * self._best_s or (self._narrowed_s == -inf and took_s <= SWIFT_S):
            self.window += 1.0
        elif took_s <= 4.0 * self._best_s or took_s <= SWIFT_S:
            self.window += 1.0 / self.window
        elif took_s > SLOW * self._best_s:
            self.window -= 1.0 / self.window
        self.window = min(max(self.window, 2.0), float(MAX_WINDOW))

    def late(self, now_s: float) -> None:
        """A part has to be asked for again; those of one window count once."""
        if now_s - self._narrowed_s > self.patience_s:
            self._narrowed_s = now_s
            self.window = max(self.window / 2.0, 1.0)


SWIFT_S = 0.05
"""An answer within this time is no sign of a crowded path, however fast the fastest one was."""
SLOW = 8.0
"""An answer that took so many times longer than the fastest waited for others."""
