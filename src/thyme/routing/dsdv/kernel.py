"""DSDV's rules, compiled: a whole update is read, and a whole update is written, in one call (as ns-3 plays them).

A table is an array of rows in the order of destinations. A row holds what packets follow (the route), what has
changed and will be told (the news), what is remembered of a loss, and when its news have settled. Rows, and the
buffer in which updates are written, are found through a desk, of which Python knows the address: handing over one
number is what makes a call cheap. Python owns the memory; `dsdv_table` says what the rules mean.

Everything compiled stands in this one file, because the cache on disk sees changes of the file of an entry point only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

MAX_HOPS = 1000
"""No route is so long; an entry that says so is nonsense."""
ENTRY = 12
SHORT, READY, RESETTLED = -1, 1, 2
"""What `read` returns: there are too few rows, and nothing was done; or any of the other two: something can be told
at once, and the next settling time is another one."""

ROW = np.dtype(
    [
        ("destination", np.int64),
        ("next_hop", np.int64),
        ("sequence", np.int64),
        ("heard_s", np.float64),
        ("settling_s", np.float64),
        ("news_next_hop", np.int64),
        ("news_sequence", np.int64),
        ("news_heard_s", np.float64),
        ("news_settling_s", np.float64),
        ("due_s", np.float64),  # when the news have settled; infinite if they need not
        ("due_order", np.int64),
        ("lost_sequence", np.int64),
        ("lost_s", np.float64),
        ("hops", np.int32),
        ("news_hops", np.int32),
        ("known", np.uint8),
        ("changed", np.uint8),
        ("news", np.uint8),
        ("news_changed", np.uint8),
        ("lost", np.uint8),
        ("purged", np.uint8),  # out of the routes just now, and not told yet
    ],
    align=True,
)
DESK = np.dtype(
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
    ],
    align=True,
)

Function = TypeVar("Function", bound=Callable[..., Any])


def inner(function: Function) -> Function:
    return cast(Function, njit(error_model="numpy")(function))


def entry_point(function: Function) -> Function:
    return cast(Function, njit(cache=True, error_model="numpy")(function))


def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


pointer: Any = intrinsic(_pointer)


@inner
def opened(address: int) -> Any:
    """The desk, alone in a table, and the rows."""
    desks = carray(pointer(address), 1, DESK)
    return desks, carray(pointer(desks[0].rows), desks[0].capacity, ROW)


@inner
def find(desk: Any, rows: Any, destination: int, guess: int) -> int:
    """The row of a destination; if there is none, -1 - the place where it belongs. Updates are mostly in the order
    of destinations, so the row after the last one is looked at first."""
    if guess < desk.used and rows[guess].destination == destination:
        return guess
    low, high = 0, desk.used
    while low < high:
        middle = (low + high) >> 1
        if rows[middle].destination < destination:
            low = middle + 1
        else:
            high = middle
    if low < desk.used and rows[low].destination == destination:
        return low
    return -1 - low


@inner
def insert(desk: Any, rows: Any, at: int, destination: int) -> None:
    for i in range(desk.used, at, -1):
        rows[i] = rows[i - 1]
    desk.used += 1
    row = rows[at]
    row.destination = destination
    row.known = row.news = row.lost = row.purged = 0
    row.due_s = np.inf


@inner
def follow(row: Any, changed: int) -> None:
    """Packets take the way that the news tell of, if there is still a route."""
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
    """The news are the route, unless there are news already."""
    if not row.news:
        note(row, row.next_hop, row.hops, row.sequence, row.heard_s, row.settling_s, row.changed)


@inner
def take_out(desk: Any, row: Any, sequence: int, now_s: float) -> None:
    if row.known:
        row.known = 0
        desk.known -= 1
    if desk.remember_lost:
        row.lost, row.lost_sequence, row.lost_s = 1, sequence | 1, now_s


@inner
def tellable(row: Any) -> bool:
    return bool(row.news and row.news_changed and row.due_s == np.inf)


@inner
def lose_over(desk: Any, rows: Any, neighbour: int, now_s: float, stop: bool) -> int:
    """Every route over a neighbour is lost, and that is news; `stop` ends their settling too."""
    gone = 0
    for i in range(desk.used):
        row = rows[i]
        if row.known and row.next_hop == neighbour:
            gone += 1
            take_out(desk, row, row.sequence, now_s)
            note(row, row.next_hop, row.hops, row.sequence | 1, row.heard_s, row.settling_s, 1)
            if stop:
                row.due_s = np.inf
        if row.news and row.news_next_hop == neighbour and row.news_sequence & 1 == 0:
            row.news = 0
    return gone


@inner
def put_new(desk: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    row.known, row.changed, row.lost = 1, 1, 0
    row.next_hop, row.hops, row.sequence = sender, hops, sequence
    row.heard_s, row.settling_s = now_s, desk.settling_s
    desk.known += 1
    note_route(row)


@inner
def read_loss(desk: Any, rows: Any, at: int, sender: int, sequence: int, now_s: float) -> bool:
    """Whether routes were lost."""
    row = rows[at]
    if desk.remember_lost and sequence < row.news_sequence:
        return False
    if sender != (row.next_hop if desk.remember_lost else row.news_next_hop):
        if row.due_s == np.inf:
            row.news = 0
        return False
    next_hop, hops = row.news_next_hop, row.news_hops
    heard_s, settling_s = row.news_heard_s, row.news_settling_s
    lose_over(desk, rows, row.destination, now_s, False)
    take_out(desk, row, sequence, now_s)
    note(row, next_hop, hops, sequence, heard_s, settling_s, 1)
    if desk.remember_lost:
        row.due_s = np.inf
    return True


@inner
def settle(desk: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    """Another metric: follow it at once, tell of it when it has settled."""
    wait_s = row.settling_s
    if desk.weight >= 0.0 and wait_s > 0.0:
        wait_s = desk.weight * wait_s + (1.0 - desk.weight) * (now_s - row.heard_s)
    note(row, sender, hops, sequence, now_s, wait_s, 1)
    follow(row, 1)
    desk.orders += 1
    row.due_s, row.due_order = now_s + wait_s, desk.orders


@inner
def read_route(desk: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    """What a neighbour says of a destination to which there is a route."""
    newer, same = sequence > row.news_sequence, sequence == row.news_sequence
    if newer and hops == row.news_hops:
        note(row, sender, hops, sequence, now_s, row.news_settling_s, 1)
        row.due_s = np.inf
    elif newer or (same and hops < row.news_hops):
        settle(desk, row, sender, hops, sequence, now_s)
    elif row.due_s == np.inf:
        if same and row.news_next_hop == sender:
            row.news_heard_s = now_s
            follow(row, row.news_changed)
        row.news = 0


@inner
def read_entry(desk: Any, rows: Any, at: int, sender: int, hops: int, sequence: int, now_s: float) -> bool:
    """Whether other rows than this one have news of losses now."""
    row = rows[at]
    if row.known:
        note_route(row)
        if sequence & 1:
            return read_loss(desk, rows, at, sender, sequence, now_s)
        read_route(desk, row, sender, hops, sequence, now_s)
    elif sequence & 1 == 0 and desk.known < desk.max_routes and not (row.lost and sequence <= row.lost_sequence):
        put_new(desk, row, sender, hops, sequence, now_s)
    return False


@inner
def earliest(desk: Any, rows: Any) -> float:
    due_s = np.inf
    for i in range(desk.used):
        due_s = min(due_s, rows[i].due_s)
    return due_s


@inner
def number(entries: Any, at: int) -> int:
    """Four bytes in network order."""
    high = (np.int64(entries[at]) << 24) | (np.int64(entries[at + 1]) << 16)
    return int(high | (np.int64(entries[at + 2]) << 8) | np.int64(entries[at + 3]))


@entry_point
def read(address: int, entries: bytes, sender: int, now_s: float) -> int:
    """Take in a neighbour's update."""
    desks, rows = opened(address)
    desk = desks[0]
    count = len(entries) // ENTRY
    if desk.used + count > desk.capacity:
        return SHORT
    guess, ready, settles = 0, False, False
    for k in range(count):
        destination = number(entries, k * ENTRY)
        hops, sequence = number(entries, k * ENTRY + 4), number(entries, k * ENTRY + 8)
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
        settles = settles or rows[at].due_s != before_s
        guess = at + 1
    told = READY if ready else 0
    if settles:
        before_s = desk.due_s
        desk.due_s = earliest(desk, rows)
        if desk.due_s != before_s:
            told |= RESETTLED
    return told


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


@entry_point
def tell(address: int, sequence: int) -> int:
    """Write a triggered update: this node, then whatever is news and not settling, which is news no longer.
    Returns its bytes; 0 if there is nothing to tell."""
    desks, rows = opened(address)
    desk = desks[0]
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


@entry_point
def end_settling(address: int, now_s: float) -> bool:
    """End the settling that is due first, if any is due by now. Those due at one instant end in the order in which
    they began, each on its own, as timers of their own would."""
    desks, rows = opened(address)
    desk = desks[0]
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


@entry_point
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


@entry_point
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


@entry_point
def break_link(address: int, neighbour: int, now_s: float) -> int:
    """A link is broken: every route over it is lost. Returns how many were."""
    desks, rows = opened(address)
    desk = desks[0]
    gone = lose_over(desk, rows, neighbour, now_s, True)
    desk.due_s = earliest(desk, rows)
    return gone


@entry_point
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
