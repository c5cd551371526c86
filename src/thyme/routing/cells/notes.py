"""Notes that go round in beacons and are known already, in memory that compiled code can reach.

Each note is said several times by everybody and heard from all around, and only the first time is news. The table holds
a part of what is known, each note at the one place that its numbers give, and a later one takes the place of an earlier
one: what is not found here may still be known, and is told of once more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PLACES = 256
"""A power of two."""


class KnownNotes:
    """Some of the notes that one node knows."""

    def __init__(self) -> None:
        table: NDArray[np.int64] = np.full(PLACES, -1, np.int64)
        self.address: int = table.ctypes.data
        self._table = table.data

    def add(self, about: int, number: int) -> None:
        self._table[place_of(about, number)] = about << 16 | number

    def forget(self, about: int, number: int) -> None:
        if self._table[place_of(about, number)] == about << 16 | number:
            self._table[place_of(about, number)] = -1


def place_of(about: int, number: int) -> int:
    return (about * 31 + number) & (PLACES - 1)
