"""The tables of DSDV's updates in a run: alarms, frames on their way, and where everything else is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import opener
from thyme.sim.radios.wifi.state import Table

DESK = np.dtype(
    [
        ("now_s", "f8"),
        ("radio", "i8"),  # the address of the radio's book
        ("payload", "i8"),  # and of the entries
        ("said", "i8"),  # and of those of one frame, as numbers
        *[(name, "i8") for name in ("order", "actions", "together", "header_bytes", "piece_bytes")],
        *[(name, "i8") for name in ("waiting", "free_alarm", "alarms_left")],
        *[(name, "i8") for name in ("free_frame", "frames_left", "head", "row")],
        *[(name, "i8") for name in ("out_first", "out_last", "ended_first", "ended_last")],
        ("settling", "i8"),  # the node whose settling is being ended; -1 if none
    ]
)
# an alarm in the heap, by (time, order in which it was asked for), as the engine's are
WAITING = np.dtype([("at_s", "f8"), ("order", "i8"), ("alarm", "i8")])
ALARM = np.dtype([(name, "i8") for name in ("node", "duty", "life", "cancelled", "next")])
FRAME = np.dtype([("until_s", "f8"), *((name, "i8") for name in ("sender", "bytes", "next"))])
SENT = np.dtype([(name, "i8") for name in ("frames", "bytes", "refused", "refused_bytes")])

DUTIES = 2
"""Alarms that a node may have set at once."""


class Updates(NamedTuple):
    """All tables together; those of nodes by number."""

    desk: Table
    waiting: Table  # the heap
    alarm: Table
    alarm_set: NDArray[np.int64]  # for each node and duty
    life: NDArray[np.int64]
    frame: Table
    payload: NDArray[np.uint8]  # `piece_bytes` for each frame
    message_bytes: NDArray[np.int64]  # what a message of so many entries has when it is encoded
    sent: Table
    table: NDArray[np.int64]  # addresses of DSDV's tables
    heard: NDArray[np.int64]  # and of those that note who was heard; none if nobody does
    random: NDArray[np.int64]  # and of the state of everybody's randomness
    listens: NDArray[np.int8]
    skew_s: NDArray[np.float64]
    frames: NDArray[np.int64]
    bytes: NDArray[np.int64]


_NUMBER, _INSTANT, _BYTE, _YES = np.dtype("i8"), np.dtype("f8"), np.dtype("u1"), np.dtype("i1")
_ROWS = (
    *(DESK, WAITING, ALARM, _NUMBER, _NUMBER, FRAME, _BYTE, _NUMBER, SENT),
    *(_NUMBER, _NUMBER, _NUMBER, _YES, _INSTANT, _NUMBER, _NUMBER),
)

opened: Callable[[int], Updates] = opener(dict(zip(Updates._fields, _ROWS, strict=True)))
"""In compiled code: the tables that the book at an address tells of."""
