"""Who of those in range listens, and when, compiled: the first step of telling a frame to its audience.

Instants never run backwards: who hears a frame earlier than what was told last hears it then. Frames and bytes are
counted here too, node by node.
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import carray, entry, pointer
from thyme.routing.hearing import HEARING
from thyme.sim.crowd import CROWD
from thyme.sim.radios.radio import TOLD

_NUMBER, _INSTANT, _YES = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.int8)


@entry
def listen(hearing: int, crowd: int, rows: int, begin: int, end: int, now_s: float, size_bytes: int) -> int:
    """How many listen of those whom rows of what a radio tells (`radio.TOLD`) say to hear a frame."""
    desk, all_nodes = carray(pointer(hearing), 1, HEARING)[0], carray(pointer(crowd), 1, CROWD)[0]
    told = carray(pointer(rows), end, TOLD)
    nodes = carray(pointer(desk.nodes), all_nodes.count, _NUMBER)
    at_s = carray(pointer(desk.at_s), all_nodes.count, _INSTANT)
    clock_s = carray(pointer(desk.now_s), all_nodes.count, _INSTANT)
    listens = carray(pointer(all_nodes.listens), all_nodes.count, _YES)
    skew_s = carray(pointer(all_nodes.skew_s), all_nodes.count, _INSTANT)
    frames = carray(pointer(all_nodes.frames), all_nodes.count, _NUMBER)
    sizes = carray(pointer(all_nodes.bytes), all_nodes.count, _NUMBER)
    count = 0
    for k in range(begin, end):
        now_s = max(now_s, told[k].at_s)
        node = told[k].node
        if listens[node]:
            nodes[count], at_s[count], clock_s[count] = node, now_s, now_s + skew_s[node]
            frames[node] += 1
            sizes[node] += size_bytes
            count += 1
    desk.count, desk.end_s = count, now_s
    return count
