"""Noting, compiled, the beacon of a calm neighbour on the rolls of all who hear it (`cells.roll`)."""

from __future__ import annotations

import numpy as np

from thyme.compiled import carray, entry, inner, pointer
from thyme.model.ids import NodeId
from thyme.routing.cells.roll import DESK, saying, saying_all
from thyme.routing.hearing import Hearing
from thyme.routing.noting import columns, desk_of
from thyme.wire.beacons import SUM_BYTES, Beacon

_NUMBER, _INSTANT = np.dtype(np.int64), np.dtype(np.float64)
_SUM = (1 << 8 * SUM_BYTES) - 1


@inner
def is_own(address: int, theirs: int) -> bool:
    return bool(address != 0 and carray(pointer(address), 1, _NUMBER)[0] == theirs)


@entry
def call(hearing: int, desks: int, sender: int, said: int, said_all: int, digest_bytes: int) -> int:
    """For how many of the hearers this beacon is more than a sign of life."""
    nodes, now_s, _, told = columns(hearing)
    news = 0
    for i in range(len(nodes)):
        desk = carray(pointer(desk_of(desks, nodes[i])), 1, DESK)[0]
        known = carray(pointer(desk.nodes), desk.count, _NUMBER)
        told[i] = 1
        if now_s[i] < desk.wake_s and digest_bytes <= desk.max_digest_bytes:
            for at in range(desk.count):
                if known[at] == sender:
                    calm = carray(pointer(desk.calm), desk.count, _NUMBER)[at]
                    if calm == said or (calm == said_all and is_own(desk.own_sum, said_all & _SUM)):
                        carray(pointer(desk.heard_s), desk.count, _INSTANT)[at] = now_s[i]
                        told[i] = 0
                    break
        news += told[i]
    return news


def call_together(hearing: Hearing, desks: int, sender: NodeId, beacon: Beacon) -> int:
    """An `Ear.take`."""
    said = saying(beacon.cell, beacon.stationary, len(beacon.digest))
    return call(hearing.address, desks, sender, said, saying_all(said, beacon.digest), len(beacon.digest))
