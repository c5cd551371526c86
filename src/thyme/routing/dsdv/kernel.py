"""DSDV's rules, compiled: a whole update is read, and a whole update is written, in one call (as ns-3 plays them).

These are the functions that Python calls, each with the address of a desk (`dsdv.rows`); `dsdv.table` says what the
rules mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, entry, inner, pointer
from thyme.routing.dsdv.alarms import draw_moment, forget_past
from thyme.routing.dsdv.duties import ATTEND, MUST, READY, RESETTLED, SETTLE
from thyme.routing.dsdv.reading import read_entry
from thyme.routing.dsdv.rows import earliest, find, follow, insert, lose_over, note, opened, take_out, tellable
from thyme.routing.dsdv.writing import buffer, settle_next, tell_news, write
from thyme.routing.noting import columns, desk_of

MAX_HOPS = 1000
"""No route is so long; an entry that says so is nonsense."""
SHORT = -1
"""There are too few rows, and nothing was done."""
SAID = np.dtype([("destination", np.int64), ("hops", np.int64), ("sequence", np.int64)])
"""An entry of an update, as numbers: it is made of its bytes once, and read by everybody who hears it."""


@inner
def read_update(desk: Any, rows: Any, entries: Any, sender: int, now_s: float) -> int:
    """Take in a neighbour's update: any of READY and RESETTLED."""
    guess, ready, since_s, moved = 0, False, desk.due_s, False
    for k in range(len(entries)):
        destination, hops, sequence = entries[k].destination, entries[k].hops, entries[k].sequence
        if destination == desk.own or not 0 < hops < MAX_HOPS:
            continue
        at = find(desk, rows, destination, guess)
        if at < 0:
            if sequence & 1 or desk.known >= desk.max_routes:
                continue
            at = -1 - at
            insert(desk, rows, at, destination)
        before_s = rows[at].due_s
        if read_entry(desk, rows, at, sender, hops, sequence, now_s) or tellable(rows[at]):
            ready = True
        due_s = rows[at].due_s
        moved = moved or (before_s <= desk.due_s and before_s < due_s)
        desk.due_s = min(desk.due_s, due_s)
        guess = at + 1
    if moved:
        desk.due_s = earliest(desk, rows)
    told = READY if ready else 0
    return told | RESETTLED if desk.due_s != since_s else told


@inner
def hear(address: int, entries: Any, sender: int, now_s: float, draw: float) -> int:
    """Take in a neighbour's update, and say what it leaves to be done (`dsdv.duties`)."""
    desks, rows = opened(address)
    desk = desks[0]
    forget_past(desk, now_s)
    if desk.used + len(entries) > desk.capacity or desk.trigger_count == desk.trigger_room:
        return SHORT
    told = read_update(desk, rows, entries, sender, now_s)
    if told & RESETTLED and desk.due_s < desk.settled_s:
        told |= SETTLE
    told |= draw_moment(desk, now_s, draw, told & READY != 0)
    return told | ATTEND if desk.attends else told


@entry
def read(address: int, entries: int, count: int, sender: int, now_s: float, draw: float) -> int:
    """One node hears an update, whose entries stand as numbers at an address."""
    return hear(address, carray(pointer(entries), count, SAID), sender, now_s, draw)


@entry
def read_all(hearing: int, desks: int, entries: int, count: int, sender: int) -> int:
    """Many nodes hear an update; for how many of them something is left to be done."""
    nodes, now_s, draws, told = columns(hearing)
    said = carray(pointer(entries), count, SAID)
    busy = 0
    for i in range(len(nodes)):
        left = hear(desk_of(desks, nodes[i]), said, sender, now_s[i], draws[i])
        told[i] = left if left == SHORT else left & MUST
        busy += told[i] != 0
    return busy


@entry
def trigger(address: int, now_s: float, draw: float) -> int:
    """There is something to tell, though no update was heard: TRIGGER if the timer must be set for it."""
    desks, _ = opened(address)
    desk = desks[0]
    forget_past(desk, now_s)
    if desk.trigger_count == desk.trigger_room:
        return SHORT
    return draw_moment(desk, now_s, draw, True)


@entry
def tell(address: int, sequence: int) -> int:
    """The moment that was drawn is there: no timer is set for one, and the news are written."""
    desks, rows = opened(address)
    return tell_news(desks[0], rows, sequence)


@entry
def settle(address: int, sequence: int, now_s: float) -> int:
    """End what settles and is due by now (`writing.settle_next`)."""
    desks, rows = opened(address)
    return settle_next(desks[0], rows, sequence, now_s)


@inner
def purge(desk: Any, rows: Any, now_s: float) -> int:
    """Take out what was not confirmed for the hold time, and what went over it."""
    gone = 0
    for i in range(desk.used):
        row = rows[i]
        if row.lost and row.lost_s < now_s - 2.0 * desk.hold_s:
            row.lost = 0
        if not row.known or row.heard_s >= now_s - desk.hold_s:
            continue
        for j in range(desk.used):
            over = rows[j]
            if over.known and (j == i or (over.next_hop == row.destination and over.hops != row.hops)):
                over.purged = 1
                take_out(desk, over, over.sequence, now_s)
                gone += 1
    return gone


@entry
def note_purged(address: int, now_s: float) -> int:
    """Purge, and make it news. Returns how many routes are gone."""
    desks, rows = opened(address)
    desk = desks[0]
    gone = purge(desk, rows, now_s)
    for i in range(desk.used if gone else 0):
        row = rows[i]
        if row.purged:
            row.purged = 0
            if not row.news:
                note(row, row.next_hop, row.hops, row.sequence | 1, row.heard_s, row.settling_s, 1)
    return gone


@entry
def dump(address: int, sequence: int, now_s: float) -> int:
    """Write a full update: this node, all routes, then what is lost; with it, whatever a triggered update would tell
    is told. Returns its bytes."""
    desks, rows = opened(address)
    desk = desks[0]
    out = buffer(desk)
    purge(desk, rows, now_s)
    at = write(out, 0, desk.own, 1, sequence)
    for i in range(desk.used):
        row = rows[i]
        if tellable(row) and row.news_sequence & 1 == 0:
            follow(row, 0)
            row.news = 0
        if row.known:
            at = write(out, at, row.destination, row.hops + 1, row.sequence)
    for i in range(desk.used):
        row = rows[i]
        if row.purged:
            row.purged = 0
            at = write(out, at, row.destination, row.hops + 1, row.sequence | 1)
    for i in range(desk.used):
        row = rows[i]
        if tellable(row):
            row.news = 0
            at = write(out, at, row.destination, row.news_hops + 1, row.news_sequence)
    return at


@entry
def break_link(address: int, neighbour: int, now_s: float) -> int:
    """A link is broken: every route over it is lost. Returns how many were."""
    desks, rows = opened(address)
    desk = desks[0]
    gone = lose_over(desk, rows, neighbour, now_s, True)
    desk.due_s = earliest(desk, rows)
    return gone


@entry
def next_hop(address: int, destination: int) -> int:
    """The neighbour to which packets for a destination go; -1 if there is no route, or none to that neighbour."""
    desks, rows = opened(address)
    desk = desks[0]
    at = find(desk, rows, destination, 0)
    if at < 0 or not rows[at].known:
        return -1
    over = rows[at].next_hop
    at = find(desk, rows, over, 0)
    return over if at >= 0 and rows[at].known else -1
