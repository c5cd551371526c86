"""Noting, compiled, the beacon of a calm neighbour on the rolls of all who hear it, and finding on a roll who has
fallen silent (`cells.roll`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.borrowed import LINE_BYTES
from thyme.compiled import carray, entry, inner, pointer, prefetch
from thyme.model.ids import NodeId
from thyme.routing.cells.notes import PLACES, ROWS
from thyme.routing.cells.roll import (
    DESK,
    LIKELY,
    MOST_SILENT,
    NEWS,
    NEWS_BUT_NOTES,
    ROW,
    WAKES,
    saying,
    saying_all,
)
from thyme.routing.hearing import Hearing
from thyme.routing.noting import columns, desk_of
from thyme.wire.beacons import NOTE, SUM_BYTES, Beacon, parts

_NUMBER, _PLACE = np.dtype(np.int64), np.dtype(np.int32)
_SUM = (1 << 8 * SUM_BYTES) - 1
_NOTE_BYTES, _ROW_BYTES, _PLACE_BYTES = NOTE.size, ROW.itemsize, _PLACE.itemsize
AHEAD = 2
"""So many hearers before it is used, each of what leads to a row is fetched from memory."""


@inner
def is_own(address: int, theirs: int) -> bool:
    return bool(address != 0 and carray(pointer(address), 1, _NUMBER)[0] == theirs)


@inner
def read_notes(notes: bytes) -> Any:
    """Of each, where its row begins in a table of known notes, and how it stands there."""
    read = np.empty((len(notes) // _NOTE_BYTES, 2), np.int64)
    for k in range(len(read)):
        about = number = 0
        for i in range(4):
            about = about << 8 | int(notes[k * _NOTE_BYTES + i])
        for i in range(4, _NOTE_BYTES):
            number = number << 8 | int(notes[k * _NOTE_BYTES + i])
        read[k, 0], read[k, 1] = PLACES * ((about * 31 + number) & (ROWS - 1)), about << 16 | number
    return read


@inner
def knows_all(address: int, notes: Any) -> bool:
    """Whether a table of known notes has all of these."""
    if len(notes) == 0 or address == 0:
        return len(notes) == 0
    known = carray(pointer(address), ROWS * PLACES, _NUMBER)
    for k in range(len(notes)):
        found = False
        for place in range(notes[k, 0], notes[k, 0] + PLACES):
            found = found or known[place] == notes[k, 1]
        if not found:
            return False
    return True


@inner
def row_of(desk: Any, node: int) -> int:
    """The address of a node's row; 0 if it has none."""
    likely = carray(pointer(desk.likely), LIKELY, _PLACE)[node & (LIKELY - 1)]
    rows = carray(pointer(desk.rows), desk.count, ROW)
    if likely < desk.count and rows[likely].node == node:
        return int(desk.rows + likely * _ROW_BYTES)
    for at in range(desk.count):
        if rows[at].node == node:
            return int(desk.rows + at * _ROW_BYTES)
    return 0


@inner
def look_ahead(nodes: Any, i: int, desks: int, sender: int) -> None:
    """Have at hand what the next hearers will need: a desk first, then what it says where the sender's row is likely to
    be, then that."""
    last, place = len(nodes) - 1, sender & (LIKELY - 1)
    address = desk_of(desks, nodes[min(i + 3 * AHEAD, last)])
    prefetch(address)
    prefetch(address + LINE_BYTES)
    desk = carray(pointer(desk_of(desks, nodes[min(i + 2 * AHEAD, last)])), 1, DESK)[0]
    prefetch(desk.likely + _PLACE_BYTES * place)
    desk = carray(pointer(desk_of(desks, nodes[min(i + AHEAD, last)])), 1, DESK)[0]
    prefetch(desk.rows + _ROW_BYTES * carray(pointer(desk.likely), LIKELY, _PLACE)[place])


@entry
def call(hearing: int, desks: int, sender: int, said: int, said_all: int, digest_bytes: int, notes: bytes) -> int:
    """For how many of the hearers this beacon is more than a sign of life; for each, what it is."""
    nodes, now_s, _, told = columns(hearing)
    more, only_notes, read = 0, len(notes) > 0 and len(notes) % _NOTE_BYTES == 0, read_notes(notes)
    for i in range(len(nodes)):
        look_ahead(nodes, i, desks, sender)
        desk = carray(pointer(desk_of(desks, nodes[i])), 1, DESK)[0]
        known = knows_all(desk.notes, read)
        told[i] = NEWS_BUT_NOTES if known and only_notes else NEWS
        if known and digest_bytes <= desk.max_digest_bytes:
            address = row_of(desk, sender)
            if address != 0:
                row = carray(pointer(address), 1, ROW)[0]
                if row.calm == said or (row.calm == said_all and is_own(desk.own_sum, said_all & _SUM)):
                    row.heard_s = now_s[i]
                    told[i] = 0 if now_s[i] < desk.wake_s else WAKES
        more += told[i] != 0
    return more


@entry
def find_silent(address: int, at_s: float) -> int:
    """How many on a roll were not heard after an instant. The first of them stand on its desk, and when the one was
    heard that, of all others, was not heard for longest."""
    desk = carray(pointer(address), 1, DESK)[0]
    rows = carray(pointer(desk.rows), desk.count, ROW)
    found, oldest_s = 0, np.inf
    for at in range(desk.count):
        if rows[at].heard_s > at_s:
            oldest_s = min(oldest_s, rows[at].heard_s)
        else:
            if found < MOST_SILENT:
                desk.silent[found] = rows[at].node
            found += 1
    desk.oldest_s = oldest_s
    return found


def call_together(hearing: Hearing, desks: int, sender: NodeId, beacon: Beacon) -> int:
    """An `Ear.take`."""
    said, (own_sum, notes) = saying(beacon.cell, beacon.stationary), parts(beacon.digest)
    return call(hearing.address, desks, sender, said, saying_all(said, own_sum), len(beacon.digest), notes)
