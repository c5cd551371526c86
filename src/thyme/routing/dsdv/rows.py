"""DSDV's table in memory: an array of rows in the order of destinations, and what is done to one row, compiled.

A row holds what packets follow (the route), what has changed and will be advertised (the news), what is remembered of a
lost route, and when its news have settled. Rows, and the buffer in which updates are written, are found through one
record (`TABLE`), whose address is all that Python hands over (`dsdv.routing_table`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, inner, pointer

ENTRY = 12
"""Bytes of an entry of an update."""

ROW = np.dtype(
    [
        # what most entries of most updates are held against, in one cache line
        ("due_s", np.float64),  # when the news have settled; infinite if they need not
        ("destination", np.int64),
        ("next_hop", np.int64),
        ("sequence", np.int64),
        ("news_next_hop", np.int64),
        ("news_sequence", np.int64),
        ("hops", np.int32),
        ("news_hops", np.int32),
        ("known", np.uint8),
        ("changed", np.uint8),
        ("news", np.uint8),
        ("news_changed", np.uint8),
        ("lost", np.uint8),
        ("purged", np.uint8),  # just removed from the routes, not advertised yet
        # the rest, in another
        ("heard_s", np.float64),
        ("settling_s", np.float64),
        ("news_heard_s", np.float64),
        ("news_settling_s", np.float64),
        ("due_order", np.int64),
        ("lost_sequence", np.int64),
        ("lost_s", np.float64),
        ("spare", np.int64),
    ],
    align=True,
)
TABLE = np.dtype(
    [
        ("rows", np.int64),
        ("capacity", np.int64),
        ("out", np.int64),
        ("used", np.int64),
        ("known", np.int64),
        ("max_routes", np.int64),
        ("own", np.int64),
        ("orders", np.int64),
        ("settling_s", np.float64),
        ("weight", np.float64),  # negative: settling times stay as they are
        ("hold_s", np.float64),
        ("due_s", np.float64),  # the earliest of all rows
        ("remember_lost", np.int64),
        ("triggers", np.int64),  # the moments that were drawn and are not over
        ("trigger_room", np.int64),
        ("trigger_count", np.int64),
        ("jitter_s", np.float64),
        ("triggered_s", np.float64),  # for when the timer that tells news is set; infinite if it is not
        ("settled_s", np.float64),  # for when the timer that ends settling is set
        ("attends", np.int64),  # whether something besides the table waits for updates
        ("sequence", np.int64),  # this node's own number
    ],
    align=True,
)


@inner
def opened(address: int) -> Any:
    """A node's table record, as an array of one, and its rows."""
    tables = carray(pointer(address), 1, TABLE)
    return tables, carray(pointer(tables[0].rows), tables[0].capacity, ROW)


@inner
def find(table: Any, rows: Any, destination: int, guess: int) -> int:
    """The row of a destination; if there is none, -1 - the place where it belongs. Where nodes are numbered one after
    the other and all are known, each has the row of its number, which is looked at first. Dumps are in the order of
    destinations, so the row after the last one comes next."""
    number = destination - (destination > table.own)
    if number < table.used and rows[number].destination == destination:
        return int(number)
    if guess < table.used and rows[guess].destination == destination:
        return guess
    low, high = 0, table.used
    while low < high:
        middle = (low + high) >> 1
        if rows[middle].destination < destination:
            low = middle + 1
        else:
            high = middle
    if low < table.used and rows[low].destination == destination:
        return low
    return -1 - low


@inner
def insert(table: Any, rows: Any, at: int, destination: int) -> None:
    for i in range(table.used, at, -1):
        rows[i] = rows[i - 1]
    table.used += 1
    row = rows[at]
    row.destination = destination
    row.known = row.news = row.lost = row.purged = 0
    row.due_s = np.inf


@inner
def follow(row: Any, changed: int) -> None:
    """Use the advertised route for packets, if there is still a route."""
    if row.known:
        row.next_hop, row.hops, row.sequence = row.news_next_hop, row.news_hops, row.news_sequence
        row.heard_s, row.settling_s, row.changed = row.news_heard_s, row.news_settling_s, changed


@inner
def note(row: Any, next_hop: int, hops: int, sequence: int, heard_s: float, settling_s: float, changed: int) -> None:
    row.news, row.news_changed = 1, changed
    row.news_next_hop, row.news_hops, row.news_sequence = next_hop, hops, sequence
    row.news_heard_s, row.news_settling_s = heard_s, settling_s


@inner
def note_route(row: Any) -> None:
    """Advertise the route in use, unless a change waits to be advertised."""
    if not row.news:
        note(row, row.next_hop, row.hops, row.sequence, row.heard_s, row.settling_s, row.changed)


@inner
def take_out(table: Any, row: Any, sequence: int, now_s: float) -> None:
    if row.known:
        row.known = 0
        table.known -= 1
    if table.remember_lost:
        row.lost, row.lost_sequence, row.lost_s = 1, sequence | 1, now_s


@inner
def can_advertise(row: Any) -> bool:
    return bool(row.news and row.news_changed and row.due_s == np.inf)


@inner
def lose_over(table: Any, rows: Any, neighbour: int, now_s: float, stop: bool) -> int:
    """Mark every route over a neighbour as lost, to be advertised; `stop` also ends their settling times."""
    gone = 0
    for i in range(table.used):
        row = rows[i]
        if row.known and row.next_hop == neighbour:
            gone += 1
            take_out(table, row, row.sequence, now_s)
            note(row, row.next_hop, row.hops, row.sequence | 1, row.heard_s, row.settling_s, 1)
            if stop:
                row.due_s = np.inf
        if row.news and row.news_next_hop == neighbour and row.news_sequence & 1 == 0:
            row.news = 0
    return gone


@inner
def earliest(table: Any, rows: Any) -> float:
    due_s = np.inf
    for i in range(table.used):
        due_s = min(due_s, rows[i].due_s)
    return due_s
