"""DSDV's rules, compiled: a whole update is read, and a whole update is written, in one call (as ns-3 plays them).

Python calls these functions with the address of a table (`dsdv.rows`); `dsdv.routing_table` says what the rules mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, entry, inner, pointer
from thyme.routing.dsdv.rows import (
    can_advertise,
    earliest,
    find,
    follow,
    insert,
    lose_over,
    note,
    opened,
    take_out,
)
from thyme.routing.dsdv.rules import buffer, draw_moment, forget_past, read_entry, settle_next, tell_news, write
from thyme.routing.layouts import ATTEND, MUST, READY, RESETTLED, SETTLE
from thyme.routing.tables_kernel import columns, table_of

MAX_HOPS = 1000
"""No route has more hops; entries with this metric are invalid."""
SHORT = -1
"""The table has too few rows; nothing was changed."""
SAID = np.dtype([("destination", np.int64), ("hops", np.int64), ("sequence", np.int64)])
"""A decoded entry of an update: decoded once, read by every receiver."""


@inner
def read_update(table: Any, rows: Any, entries: Any, sender: int, now_s: float) -> int:
    """Apply a neighbour's update; returns any of READY and RESETTLED."""
    guess, ready, since_s, moved = 0, False, table.due_s, False
    for k in range(len(entries)):
        destination, hops, sequence = entries[k].destination, entries[k].hops, entries[k].sequence
        if destination == table.own or not 0 < hops < MAX_HOPS:
            continue
        at = find(table, rows, destination, guess)
        if at < 0:
            if sequence & 1 or table.known >= table.max_routes:
                continue
            at = -1 - at
            insert(table, rows, at, destination)
        before_s = rows[at].due_s
        if read_entry(table, rows, at, sender, hops, sequence, now_s) or can_advertise(rows[at]):
            ready = True
        due_s = rows[at].due_s
        moved = moved or (before_s <= table.due_s and before_s < due_s)
        table.due_s = min(table.due_s, due_s)
        guess = at + 1
    if moved:
        table.due_s = earliest(table, rows)
    todo = READY if ready else 0
    return todo | RESETTLED if table.due_s != since_s else todo


@inner
def hear(address: int, entries: Any, sender: int, now_s: float, draw: float) -> int:
    """Apply a neighbour's update; returns what remains to be done (`layouts.READY` and the others)."""
    tables, rows = opened(address)
    table = tables[0]
    forget_past(table, now_s)
    if table.used + len(entries) > table.capacity or table.trigger_count == table.trigger_room:
        return SHORT
    todo = read_update(table, rows, entries, sender, now_s)
    if todo & RESETTLED and table.due_s < table.settled_s:
        todo |= SETTLE
    todo |= draw_moment(table, now_s, draw, todo & READY != 0)
    return todo | ATTEND if table.attends else todo


@entry
def read(address: int, entries: int, count: int, sender: int, now_s: float, draw: float) -> int:
    """Apply an update at one node; its decoded entries are at an address."""
    return hear(address, carray(pointer(entries), count, SAID), sender, now_s, draw)


@entry
def read_all(receivers: int, tables: int, entries: int, count: int, sender: int) -> int:
    """Apply an update at all receivers; returns how many have more to do."""
    nodes, now_s, draws, results = columns(receivers)
    said = carray(pointer(entries), count, SAID)
    busy = 0
    for i in range(len(nodes)):
        left = hear(table_of(tables, nodes[i]), said, sender, now_s[i], draws[i])
        results[i] = left if left == SHORT else left & MUST
        busy += results[i] != 0
    return busy


@entry
def trigger(address: int, now_s: float, draw: float) -> int:
    """Schedule a triggered update without a received one; TRIGGER if the timer must be set."""
    tables, _ = opened(address)
    table = tables[0]
    forget_past(table, now_s)
    if table.trigger_count == table.trigger_room:
        return SHORT
    return draw_moment(table, now_s, draw, True)


@entry
def tell(address: int, sequence: int) -> int:
    """The timer expired: clear it and write the triggered update."""
    tables, rows = opened(address)
    return tell_news(tables[0], rows, sequence)


@entry
def settle(address: int, sequence: int, now_s: float) -> int:
    """End the settling times that are due (`rules.settle_next`)."""
    tables, rows = opened(address)
    return settle_next(tables[0], rows, sequence, now_s)


@inner
def purge(table: Any, rows: Any, now_s: float) -> int:
    """Remove routes not confirmed within the hold time, and routes over such neighbours."""
    gone = 0
    for i in range(table.used):
        row = rows[i]
        if row.lost and row.lost_s < now_s - 2.0 * table.hold_s:
            row.lost = 0
        if not row.known or row.heard_s >= now_s - table.hold_s:
            continue
        for j in range(table.used):
            over = rows[j]
            if over.known and (j == i or (over.next_hop == row.destination and over.hops != row.hops)):
                over.purged = 1
                take_out(table, over, over.sequence, now_s)
                gone += 1
    return gone


@entry
def note_purged(address: int, now_s: float) -> int:
    """Purge, and mark the removed routes to be advertised. Returns their number."""
    tables, rows = opened(address)
    table = tables[0]
    gone = purge(table, rows, now_s)
    for i in range(table.used if gone else 0):
        row = rows[i]
        if row.purged:
            row.purged = 0
            if not row.news:
                note(row, row.next_hop, row.hops, row.sequence | 1, row.heard_s, row.settling_s, 1)
    return gone


@entry
def dump(address: int, sequence: int, now_s: float) -> int:
    """Write a full update: this node, all routes, then the lost ones; this includes any pending triggered update.
    Returns its size in bytes."""
    tables, rows = opened(address)
    table = tables[0]
    out = buffer(table)
    purge(table, rows, now_s)
    at = write(out, 0, table.own, 1, sequence)
    for i in range(table.used):
        row = rows[i]
        if can_advertise(row) and row.news_sequence & 1 == 0:
            follow(row, 0)
            row.news = 0
        if row.known:
            at = write(out, at, row.destination, row.hops + 1, row.sequence)
    for i in range(table.used):
        row = rows[i]
        if row.purged:
            row.purged = 0
            at = write(out, at, row.destination, row.hops + 1, row.sequence | 1)
    for i in range(table.used):
        row = rows[i]
        if can_advertise(row):
            row.news = 0
            at = write(out, at, row.destination, row.news_hops + 1, row.news_sequence)
    return at


@entry
def break_link(address: int, neighbour: int, now_s: float) -> int:
    """A link broke: mark every route over it as lost. Returns their number."""
    tables, rows = opened(address)
    table = tables[0]
    gone = lose_over(table, rows, neighbour, now_s, True)
    table.due_s = earliest(table, rows)
    return gone


@entry
def next_hop(address: int, destination: int) -> int:
    """The next hop for a destination; -1 without a route to it, or to that neighbour."""
    tables, rows = opened(address)
    table = tables[0]
    at = find(table, rows, destination, 0)
    if at < 0 or not rows[at].known:
        return -1
    over = rows[at].next_hop
    at = find(table, rows, over, 0)
    return over if at >= 0 and rows[at].known else -1
