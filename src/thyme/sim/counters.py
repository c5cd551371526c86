"""What every node has received of one message type, in memory that compiled code can reach (`sim.reception_kernel`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_COLUMNS = ("receives", "skew_s", "frames", "bytes")
COUNTERS = np.dtype([(name, np.int64) for name in (*_COLUMNS, "count")])
"""Addresses of columns with one row per node, and the number of nodes."""


class Counters:
    """By node: whether it receives, how far its clock is ahead, and what it has received."""

    def __init__(self, skew_s: Sequence[float]) -> None:
        self.receives: NDArray[np.int8] = np.zeros(len(skew_s), np.int8)
        self.skew_s: NDArray[np.float64] = np.array(skew_s, np.float64)
        self.frames: NDArray[np.int64] = np.zeros(len(skew_s), np.int64)
        self.bytes: NDArray[np.int64] = np.zeros(len(skew_s), np.int64)
        self._header = np.zeros(1, COUNTERS)
        self._header["count"] = len(skew_s)
        for name in _COLUMNS:
            self._header[name] = getattr(self, name).ctypes.data
        self.address: int = self._header.ctypes.data
