"""The crowd of one kind of message: who listens, how far their clocks are ahead, and what each has heard of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_COLUMNS = ("listens", "skew_s", "frames", "bytes")
CROWD = np.dtype([(name, np.int64) for name in (*_COLUMNS, "count")])
"""Addresses of columns with one row per node, and how many nodes there are."""


class Crowd:
    """Columns by node, in memory that compiled code can reach (`sim.listening`)."""

    def __init__(self, skew_s: Sequence[float]) -> None:
        self.listens: NDArray[np.int8] = np.zeros(len(skew_s), np.int8)
        self.skew_s: NDArray[np.float64] = np.array(skew_s, np.float64)
        self.frames: NDArray[np.int64] = np.zeros(len(skew_s), np.int64)
        self.bytes: NDArray[np.int64] = np.zeros(len(skew_s), np.int64)
        self._desk = np.zeros(1, CROWD)
        self._desk["count"] = len(skew_s)
        for name in _COLUMNS:
            self._desk[name] = getattr(self, name).ctypes.data
        self.address: int = self._desk.ctypes.data
