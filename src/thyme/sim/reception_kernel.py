"""Which of the nodes in range receive a frame, and when, compiled (`sim.reception`).

Time never runs backwards: a node that receives a frame before what was handled last receives it then.

`Counters` holds, in memory that compiled code can reach, what every node has received of one message type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import carray, entry, pointer
from thyme.routing.layouts import RECEIVERS
from thyme.sim.radios.radio import REPORT

_COLUMNS = ("receives", "skew_s", "frames", "bytes")
COUNTERS = np.dtype([(name, np.int64) for name in (*_COLUMNS, "count")])
"""Addresses of columns with one row per node, and the number of nodes."""


class Counters:
    """Per node: whether it receives, how far its clock is ahead, and its counts of received frames."""

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


_NUMBER, _TIME, _YES = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.int8)


@entry
def find_receivers(
    receivers: int, counters: int, rows: int, begin: int, end: int, now_s: float, size_bytes: int
) -> int:
    """The number of nodes that receive a frame, of those in range (`radio.REPORT`). Frames and bytes are counted."""
    header, columns = carray(pointer(receivers), 1, RECEIVERS)[0], carray(pointer(counters), 1, COUNTERS)[0]
    reports = carray(pointer(rows), end, REPORT)
    nodes = carray(pointer(header.nodes), columns.count, _NUMBER)
    at_s = carray(pointer(header.at_s), columns.count, _TIME)
    clock_s = carray(pointer(header.now_s), columns.count, _TIME)
    receives = carray(pointer(columns.receives), columns.count, _YES)
    skew_s = carray(pointer(columns.skew_s), columns.count, _TIME)
    frames = carray(pointer(columns.frames), columns.count, _NUMBER)
    sizes = carray(pointer(columns.bytes), columns.count, _NUMBER)
    count = 0
    for k in range(begin, end):
        now_s = max(now_s, reports[k].at_s)
        node = reports[k].node
        if receives[node]:
            nodes[count], at_s[count], clock_s[count] = node, now_s, now_s + skew_s[node]
            frames[node] += 1
            sizes[node] += size_bytes
            count += 1
    header.count, header.end_s = count, now_s
    return count
