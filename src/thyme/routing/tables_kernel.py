"""What a broadcast does to the tables of all its receivers, compiled (`routing.tables`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, entry, inner, pointer
from thyme.routing.layouts import ALWAYS, DIGEST, HEARD, HEARD_ROW, IF_DIFFERENT, RECEIVERS, SEEN_PLACES, SEEN_ROW

_NUMBER, _TIME = np.dtype(np.int64), np.dtype(np.float64)


@inner
def columns(receivers: int) -> Any:
    """The rows of `Receivers`: nodes, times on their clocks, draws and results."""
    header = carray(pointer(receivers), 1, RECEIVERS)[0]
    nodes = carray(pointer(header.nodes), header.count, _NUMBER)
    now_s = carray(pointer(header.now_s), header.count, _TIME)
    draws = carray(pointer(header.draws), header.count, _TIME)
    return nodes, now_s, draws, carray(pointer(header.results), header.count, _NUMBER)


@inner
def table_of(tables: int, node: int) -> int:
    """The address of a node's table."""
    return int(carray(pointer(tables + 8 * node), 1, _NUMBER)[0])


@inner
def row_of(rows: Any, used: int, node: int) -> int:
    """The row of a node; -1 if it has none."""
    low, high = 0, used
    while low < high:
        middle = (low + high) >> 1
        if rows[middle].node < node:
            low = middle + 1
        else:
            high = middle
    return low if low < used and rows[low].node == node else -1


@entry
def note(receivers: int, tables: int, sender: int) -> int:
    """Record when the sender was heard; returns the number of receivers without a row for it."""
    nodes, now_s, _, results = columns(receivers)
    strangers = 0
    for i in range(len(nodes)):
        table = carray(pointer(table_of(tables, nodes[i])), 1, HEARD)[0]
        rows = carray(pointer(table.rows), table.used, HEARD_ROW)
        at = row_of(rows, table.used, sender)
        if at >= 0:
            rows[at].at_s = now_s[i]
        results[i] = at < 0
        strangers += results[i]
    return strangers


@entry
def find_new(receivers: int, tables: int, origin: int, number: int, place: int) -> int:
    """The number of receivers for which a flooded message may be new."""
    nodes, _, _, results = columns(receivers)
    new = 0
    for i in range(len(nodes)):
        row = carray(pointer(table_of(tables, nodes[i])), SEEN_PLACES, SEEN_ROW)[place]
        results[i] = row.origin != origin or row.number != number
        new += results[i]
    return new


@entry
def compare(receivers: int, tables: int, theirs: int) -> int:
    """The number of receivers that handle a digest."""
    nodes, _, _, results = columns(receivers)
    handled = 0
    for i in range(len(nodes)):
        table = carray(pointer(table_of(tables, nodes[i])), 1, DIGEST)[0]
        own = carray(pointer(table.own), 1, _NUMBER)[0]
        results[i] = table.handles == ALWAYS or (table.handles == IF_DIFFERENT and own != theirs)
        handled += results[i]
    return handled


@entry
def find_equal(receivers: int, tables: int, wanted: int) -> int:
    """The number of receivers whose number is the one wanted."""
    nodes, _, _, results = columns(receivers)
    found = 0
    for i in range(len(nodes)):
        results[i] = carray(pointer(table_of(tables, nodes[i])), 1, _NUMBER)[0] == wanted
        found += results[i]
    return found
