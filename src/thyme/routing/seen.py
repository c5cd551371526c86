"""Flooded messages that a node has seen, in memory that compiled code can reach.

Everybody sends a flooded message on once, so that a node hears it from all around, and only the first time is news. The
table holds a part of what was seen, each message at the one place that its numbers give, and a later one takes the
place of an earlier one: what is not found here may still have been seen, and is told of once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PLACES = 256
"""A power of two."""
ROW = np.dtype([("origin", np.int64), ("number", np.int64)])
_NOBODY = -1


class SeenTable:
    """Some of the messages that one node has seen, by origin and number."""

    def __init__(self) -> None:
        rows: NDArray[Any] = np.zeros(PLACES, ROW)
        rows["origin"] = _NOBODY
        self.address: int = rows.ctypes.data
        self._origins, self._numbers = rows["origin"], rows["number"]

    def add(self, origin: int, number: int) -> None:
        at = place_of(origin, number)
        self._origins[at], self._numbers[at] = origin, number

    def forget(self, origin: int, number: int) -> None:
        at = place_of(origin, number)
        if self._origins[at] == origin and self._numbers[at] == number:
            self._origins[at] = _NOBODY


def place_of(origin: int, number: int) -> int:
    return (origin * 31 + number) & (PLACES - 1)
