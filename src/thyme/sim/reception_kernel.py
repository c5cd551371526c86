"""Which of the nodes in range receive a frame, and when, compiled (`sim.reception`).

Time never runs backwards: a node that receives a frame before what was handled last receives it then.
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import carray, entry, pointer
from thyme.routing.layouts import RECEIVERS
from thyme.sim.counters import COUNTERS
from thyme.sim.radios.radio import REPORT

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
