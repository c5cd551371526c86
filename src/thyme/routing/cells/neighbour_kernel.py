"""Noting the beacon of a quiet neighbour in the tables of all receivers, compiled (`neighbour_table`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import LINE_BYTES, carray, entry, inner, pointer, prefetch
from thyme.routing.layouts import (
    LIKELY,
    NEIGHBOUR_ROW,
    NEIGHBOURS,
    NEW,
    NEW_BUT_NOTES,
    NOTE_ROWS,
    NOTES_PER_ROW,
)
from thyme.routing.tables_kernel import columns, table_of
from thyme.wire.routing import NOTE, SUM_BYTES

_NUMBER, _PLACE = np.dtype(np.int64), np.dtype(np.int32)
_SUM = (1 << 8 * SUM_BYTES) - 1
_NOTE_BYTES, _ROW_BYTES, _PLACE_BYTES = NOTE.size, NEIGHBOUR_ROW.itemsize, _PLACE.itemsize
AHEAD = 2
"""Memory that leads to a row is fetched so many receivers before it is used."""


@inner
def is_own(address: int, theirs: int) -> bool:
    return bool(address != 0 and carray(pointer(address), 1, _NUMBER)[0] == theirs)


@inner
def read_notes(notes: bytes) -> Any:
    """For each note: where its row begins in a table of known notes, and its number there."""
    read = np.empty((len(notes) // _NOTE_BYTES, 2), np.int64)
    for k in range(len(read)):
        about = number = 0
        for i in range(4):
            about = about << 8 | int(notes[k * _NOTE_BYTES + i])
        for i in range(4, _NOTE_BYTES):
            number = number << 8 | int(notes[k * _NOTE_BYTES + i])
        read[k, 0] = NOTES_PER_ROW * ((about * 31 + number) & (NOTE_ROWS - 1))
        read[k, 1] = about << 16 | number
    return read


@inner
def knows_all(address: int, notes: Any) -> bool:
    """Whether a table of known notes has all of these."""
    if len(notes) == 0 or address == 0:
        return len(notes) == 0
    known = carray(pointer(address), NOTE_ROWS * NOTES_PER_ROW, _NUMBER)
    for k in range(len(notes)):
        found = False
        for place in range(notes[k, 0], notes[k, 0] + NOTES_PER_ROW):
            found = found or known[place] == notes[k, 1]
        if not found:
            return False
    return True


@inner
def row_of(table: Any, node: int) -> int:
    """The address of a node's row; 0 if it has none."""
    likely = carray(pointer(table.likely), LIKELY, _PLACE)[node & (LIKELY - 1)]
    rows = carray(pointer(table.rows), table.count, NEIGHBOUR_ROW)
    if likely < table.count and rows[likely].node == node:
        return int(table.rows + likely * _ROW_BYTES)
    for at in range(table.count):
        if rows[at].node == node:
            return int(table.rows + at * _ROW_BYTES)
    return 0


@inner
def fetch_ahead(nodes: Any, i: int, tables: int, sender: int) -> None:
    """Fetch what the next receivers need: first a table, then its likely place of the sender's row, then that row."""
    last, place = len(nodes) - 1, sender & (LIKELY - 1)
    address = table_of(tables, nodes[min(i + 3 * AHEAD, last)])
    prefetch(address)
    prefetch(address + LINE_BYTES)
    table = carray(pointer(table_of(tables, nodes[min(i + 2 * AHEAD, last)])), 1, NEIGHBOURS)[0]
    prefetch(table.likely + _PLACE_BYTES * place)
    table = carray(pointer(table_of(tables, nodes[min(i + AHEAD, last)])), 1, NEIGHBOURS)[0]
    prefetch(table.rows + _ROW_BYTES * carray(pointer(table.likely), LIKELY, _PLACE)[place])


@entry
def receive(
    receivers: int, tables: int, sender: int, said: int, said_with_sum: int, digest_bytes: int, notes: bytes
) -> int:
    """The number of receivers that have to handle this beacon; the result of each says why."""
    nodes, now_s, _, results = columns(receivers)
    handled, only_notes, read = 0, len(notes) > 0 and len(notes) % _NOTE_BYTES == 0, read_notes(notes)
    for i in range(len(nodes)):
        fetch_ahead(nodes, i, tables, sender)
        table = carray(pointer(table_of(tables, nodes[i])), 1, NEIGHBOURS)[0]
        known = knows_all(table.notes, read)
        results[i] = NEW_BUT_NOTES if known and only_notes else NEW
        if known and digest_bytes <= table.max_digest_bytes:
            address = row_of(table, sender)
            if address != 0:
                row = carray(pointer(address), 1, NEIGHBOUR_ROW)[0]
                if row.quiet == said or (row.quiet == said_with_sum and is_own(table.own_sum, said_with_sum & _SUM)):
                    row.heard_s = now_s[i]
                    results[i] = 0
        handled += results[i] != 0
    return handled
