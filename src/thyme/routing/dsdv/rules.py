"""DSDV's rules for one table, compiled, as ns-3 plays them: reading an entry of an update, when timers must be set, and
writing a triggered update.

Every update that is received draws a moment within the trigger jitter, and the next of these moments advertises
whatever is news by then; a timer is set only if there is something to advertise. One timer serves all settling.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, inner, pointer
from thyme.routing.dsdv.rows import ENTRY, can_advertise, earliest, follow, lose_over, note, note_route, take_out
from thyme.routing.layouts import TRIGGER

_TIME = np.dtype(np.float64)


@inner
def put_new(table: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    row.known, row.changed, row.lost = 1, 1, 0
    row.next_hop, row.hops, row.sequence = sender, hops, sequence
    row.heard_s, row.settling_s = now_s, table.settling_s
    table.known += 1
    note_route(row)


@inner
def read_loss(table: Any, rows: Any, at: int, sender: int, sequence: int, now_s: float) -> bool:
    """Whether routes were lost."""
    row = rows[at]
    if table.remember_lost and sequence < row.news_sequence:
        return False
    if sender != (row.next_hop if table.remember_lost else row.news_next_hop):
        if row.due_s == np.inf:
            row.news = 0
        return False
    next_hop, hops = row.news_next_hop, row.news_hops
    heard_s, settling_s = row.news_heard_s, row.news_settling_s
    lose_over(table, rows, row.destination, now_s, False)
    take_out(table, row, sequence, now_s)
    note(row, next_hop, hops, sequence, heard_s, settling_s, 1)
    if table.remember_lost:
        row.due_s = np.inf
    return True


@inner
def settle(table: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    """A route of another length: use it at once, advertise it when it has settled."""
    wait_s = row.settling_s
    if table.weight >= 0.0 and wait_s > 0.0:
        wait_s = table.weight * wait_s + (1.0 - table.weight) * (now_s - row.heard_s)
    note(row, sender, hops, sequence, now_s, wait_s, 1)
    follow(row, 1)
    table.orders += 1
    row.due_s, row.due_order = now_s + wait_s, table.orders


@inner
def read_route(table: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    """Handle an entry for a destination with a known route. It is compared with the change that waits to be advertised,
    or else with the route in use."""
    news = row.news != 0
    known_hops, known_sequence = (row.news_hops, row.news_sequence) if news else (row.hops, row.sequence)
    newer, same = sequence > known_sequence, sequence == known_sequence
    if newer and hops == known_hops:
        note(row, sender, hops, sequence, now_s, row.news_settling_s if news else row.settling_s, 1)
        row.due_s = np.inf
    elif newer or (same and hops < known_hops):
        settle(table, row, sender, hops, sequence, now_s)
    elif row.due_s < np.inf:
        note_route(row)
    else:
        if same and news and row.news_next_hop == sender:
            row.news_heard_s = now_s
            follow(row, row.news_changed)
        elif same and not news and row.next_hop == sender:
            row.heard_s = now_s
        row.news = 0


@inner
def read_entry(table: Any, rows: Any, at: int, sender: int, hops: int, sequence: int, now_s: float) -> bool:
    """Handle one entry of an update; whether routes of other rows were lost by it."""
    row = rows[at]
    if row.known:
        if sequence & 1:
            note_route(row)
            return read_loss(table, rows, at, sender, sequence, now_s)
        read_route(table, row, sender, hops, sequence, now_s)
    elif sequence & 1 == 0 and table.known < table.max_routes and not (row.lost and sequence <= row.lost_sequence):
        put_new(table, row, sender, hops, sequence, now_s)
    return False


@inner
def pending(table: Any) -> Any:
    return carray(pointer(table.triggers), table.trigger_room, _TIME)


@inner
def forget_past(table: Any, now_s: float) -> None:
    """Take out the moments that are over."""
    triggers, kept = pending(table), 0
    for i in range(table.trigger_count):
        if triggers[i] >= now_s:
            triggers[kept] = triggers[i]
            kept += 1
    table.trigger_count = kept


@inner
def draw_moment(table: Any, now_s: float, draw: float, ready: bool) -> int:
    """Draw the time of a triggered update; whether the timer for it must be set, to `triggered_s`."""
    triggers = pending(table)
    triggers[table.trigger_count] = now_s + table.jitter_s * draw
    table.trigger_count += 1
    if not ready and table.triggered_s == np.inf:
        return 0
    first_s = np.inf
    for i in range(table.trigger_count):
        first_s = min(first_s, triggers[i])
    if first_s >= table.triggered_s:
        return 0
    table.triggered_s = first_s
    return TRIGGER


@inner
def write(out: Any, at: int, destination: int, hops: int, sequence: int) -> int:
    for k in range(4):
        shift = 24 - 8 * k
        out[at + k] = (destination >> shift) & 255
        out[at + 4 + k] = (hops >> shift) & 255
        out[at + 8 + k] = (sequence >> shift) & 255
    return at + ENTRY


@inner
def buffer(table: Any) -> Any:
    return carray(pointer(table.out), (2 * table.capacity + 1) * ENTRY, np.uint8)


@inner
def write_news(table: Any, rows: Any, sequence: int) -> int:
    """Write a triggered update: this node, then all changes that are not settling; they count as advertised.
    Returns its size in bytes; 0 if there is nothing to advertise."""
    out = buffer(table)
    at = ENTRY
    for i in range(table.used):
        row = rows[i]
        if can_advertise(row):
            at = write(out, at, row.destination, row.news_hops + 1, row.news_sequence)
            if row.news_sequence & 1 == 0:
                follow(row, 0)
            row.news = 0
    if at == ENTRY:
        return 0
    write(out, 0, table.own, 1, sequence)
    return at


@inner
def tell_news(table: Any, rows: Any, sequence: int) -> int:
    """The timer of a triggered update has fired: write the update."""
    table.triggered_s = np.inf
    return write_news(table, rows, sequence)


@inner
def end_settling(table: Any, rows: Any, now_s: float) -> bool:
    """End the settling that is due first, if any is due by now. Those due at one instant end in the order in which
    they began, each on its own, as timers of their own would."""
    first = -1
    for i in range(table.used):
        row = rows[i]
        if row.due_s <= now_s and (
            first < 0
            or row.due_s < rows[first].due_s
            or (row.due_s == rows[first].due_s and row.due_order < rows[first].due_order)
        ):
            first = i
    if first >= 0:
        rows[first].due_s = np.inf
    table.due_s = earliest(table, rows)
    return first >= 0


@inner
def settle_next(table: Any, rows: Any, sequence: int, now_s: float) -> int:
    """End the settling times that are due, until one gives an update to send: its size in bytes. If none is left that
    is due, the timer must be set to `settled_s`, unless that is infinite."""
    table.settled_s, size = np.inf, 0
    while size == 0 and end_settling(table, rows, now_s):
        size = write_news(table, rows, sequence)
    if table.due_s > now_s:
        table.settled_s = table.due_s
    return size
