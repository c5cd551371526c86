"""Writing DSDV's triggered updates: what is news and has settled, and the end of settling (as ns-3 plays it)."""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, inner, pointer
from thyme.routing.dsdv.rows import earliest, follow, tellable

ENTRY = 12
"""Bytes of an entry."""


@inner
def write(out: Any, at: int, destination: int, hops: int, sequence: int) -> int:
    for k in range(4):
        shift = 24 - 8 * k
        out[at + k] = (destination >> shift) & 255
        out[at + 4 + k] = (hops >> shift) & 255
        out[at + 8 + k] = (sequence >> shift) & 255
    return at + ENTRY


@inner
def buffer(desk: Any) -> Any:
    return carray(pointer(desk.out), (2 * desk.capacity + 1) * ENTRY, np.uint8)


@inner
def write_news(desk: Any, rows: Any, sequence: int) -> int:
    """Write a triggered update: this node, then whatever is news and not settling, which is news no longer.
    Returns its bytes; 0 if there is nothing to tell."""
    out = buffer(desk)
    at = ENTRY
    for i in range(desk.used):
        row = rows[i]
        if tellable(row):
            at = write(out, at, row.destination, row.news_hops + 1, row.news_sequence)
            if row.news_sequence & 1 == 0:
                follow(row, 0)
            row.news = 0
    if at == ENTRY:
        return 0
    write(out, 0, desk.own, 1, sequence)
    return at


@inner
def tell_news(desk: Any, rows: Any, sequence: int) -> int:
    """The moment that was drawn is there: no timer is set for one, and the news are written."""
    desk.triggered_s = np.inf
    return write_news(desk, rows, sequence)


@inner
def end_settling(desk: Any, rows: Any, now_s: float) -> bool:
    """End the settling that is due first, if any is due by now. Those due at one instant end in the order in which
    they began, each on its own, as timers of their own would."""
    first = -1
    for i in range(desk.used):
        row = rows[i]
        if row.due_s <= now_s and (
            first < 0
            or row.due_s < rows[first].due_s
            or (row.due_s == rows[first].due_s and row.due_order < rows[first].due_order)
        ):
            first = i
    if first >= 0:
        rows[first].due_s = np.inf
    desk.due_s = earliest(desk, rows)
    return first >= 0


@inner
def settle_next(desk: Any, rows: Any, sequence: int, now_s: float) -> int:
    """End one settling after the other of those due by now, until one leaves something to tell: its bytes. Where no
    other is due, the timer must be set for `settled_s`, unless that is infinite."""
    desk.settled_s, size = np.inf, 0
    while size == 0 and end_settling(desk, rows, now_s):
        size = write_news(desk, rows, sequence)
    if desk.due_s > now_s:
        desk.settled_s = desk.due_s
    return size
