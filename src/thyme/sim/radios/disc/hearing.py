"""Who of those in range hears a frame of the unit disc, compiled: one call for all hearers of a frame.

It counts what each has received, and writes a row for each of what there is to tell (`radio.TOLD`).
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import carray, entry, opener, pointer
from thyme.sim.radios.radio import TOLD, Happening

LIGHT_MPS = 299_792_458.0

HEARER = np.dtype(
    [*((name, np.int64) for name in ("on", "received", "received_bytes", "lost")), ("receive_s", np.float64)]
)
"""Whether a node's radio is on, and what it has heard and missed so far."""
_NUMBER, _REAL = np.dtype(np.int64), np.dtype(np.float64)
_RECEIVED = int(Happening.RECEIVED)

_opened = opener({"hearer": HEARER, "told": TOLD, "draws": _REAL})


@entry
def present(book: int, nodes_at: int, count: int) -> int:
    """How many of those in range are on: each draws whether it loses the frame."""
    t, nodes = _opened(book), carray(pointer(nodes_at), count, _NUMBER)
    found = 0
    for k in range(count):
        found += t.hearer[nodes[k]].on
    return found


@entry
def hear(
    book: int, nodes_at: int, metres_at: int, count: int,
    sender: int, frame: int, size_bytes: int, airtime_s: float, end_s: float, loss: float,
) -> int:  # fmt: skip
    """How many hear a frame that ended at `end_s`; row by row in `told`, from the first on."""
    t = _opened(book)
    nodes, metres = carray(pointer(nodes_at), count, _NUMBER), carray(pointer(metres_at), count, _REAL)
    drawn = heard = 0
    for k in range(count):
        hearer = t.hearer[nodes[k]]
        if hearer.on == 0:
            continue
        if loss > 0.0:
            drawn += 1
            if t.draws[drawn - 1] < loss:
                hearer.lost += 1
                continue
        hearer.received += 1
        hearer.received_bytes += size_bytes
        hearer.receive_s += airtime_s
        row = t.told[heard]
        row.at_s = end_s + metres[k] / LIGHT_MPS
        row.frame = frame
        row.node = nodes[k]
        row.peer = sender
        row.kind = _RECEIVED
        heard += 1
    return heard
