"""Who of those that hear a broadcast for one cell is in that cell, compiled: everybody else throws it away."""

from __future__ import annotations

import numpy as np

from thyme.compiled import carray, entry, pointer
from thyme.model.ids import NodeId
from thyme.routing.hearing import Hearing
from thyme.routing.noting import columns, desk_of
from thyme.wire.geographic import CellBroadcast

_NUMBER = np.dtype(np.int64)


@entry
def find(hearing: int, desks: int, cell: int) -> int:
    """How many of the hearers count to the cell; the desk of each is the number of the cell it counts to."""
    nodes, _, _, told = columns(hearing)
    found = 0
    for i in range(len(nodes)):
        told[i] = carray(pointer(desk_of(desks, nodes[i])), 1, _NUMBER)[0] == cell
        found += told[i]
    return found


def find_together(hearing: Hearing, desks: int, sender: NodeId, message: CellBroadcast) -> int:
    """An `Ear.take`."""
    return find(hearing.address, desks, message.cell)
