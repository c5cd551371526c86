"""Notes that go round in beacons and are known already, in memory that compiled code can reach.

Each note is said several times by everybody and heard from all around, and only the first time is news. The table holds
a part of what is known, each note in the one row that its numbers give, where it takes the place of the one that has
been there for longest: what is not found here may still be known, and is told of once more. Many notes go round at a
time, and a beacon carries several, so a row has room for some.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROWS = 64
"""A power of two."""
PLACES = 4
"""In a row."""
_NOBODY = -1


class KnownNotes:
    """Some of the notes that one node knows."""

    def __init__(self) -> None:
        table: NDArray[np.int64] = np.full(ROWS * PLACES, _NOBODY, np.int64)
        self.address: int = table.ctypes.data
        self._table = table.data

    def add(self, about: int, number: int) -> None:
        table, first = self._table, PLACES * row_of(about, number)
        for place in range(first + PLACES - 1, first, -1):
            table[place] = table[place - 1]
        table[first] = about << 16 | number

    def forget(self, about: int, number: int) -> None:
        table, first, note = self._table, PLACES * row_of(about, number), about << 16 | number
        for place in range(first, first + PLACES):
            if table[place] == note:
                table[place] = _NOBODY


def row_of(about: int, number: int) -> int:
    return (about * 31 + number) & (ROWS - 1)
