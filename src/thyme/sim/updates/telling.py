"""Telling updates to those who hear them, compiled: who listens draws, notes the sender, reads, and sets its alarms.

This is what an audience does (`sim.audience`), for frames that compiled code has sent. Where a node has more to do, as
to send what has waited for a route, nothing is done for it here, and the audience tells it, before the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.borrowed import LINE_BYTES
from thyme.compiled import borrowing, carray, inner, pointer, prefetch
from thyme.routing.dsdv.alarms import forget_past
from thyme.routing.dsdv.duties import SETTLE, TRIGGER
from thyme.routing.dsdv.kernel import SAID, hear
from thyme.routing.dsdv.rows import DESK as TABLE
from thyme.routing.dsdv.rows import ROW
from thyme.routing.dsdv.writing import ENTRY
from thyme.routing.noting import note_one
from thyme.sim.radios.wifi.queues import RECEIVED
from thyme.sim.radios.wifi.state import Ether
from thyme.sim.stops import GO, ROOM, TELL, TELL_ONE
from thyme.sim.updates.alarms import set_alarm
from thyme.sim.updates.mersenne import draw
from thyme.sim.updates.sending import end_frame, token_of
from thyme.sim.updates.state import DUTIES, Updates

_BYTE, _WORD = np.dtype(np.uint8), np.dtype(np.uint32)
_ROW_BYTES, _WORD_BYTES = ROW.itemsize, _WORD.itemsize
TABLE_LINES = -(-TABLE.itemsize // LINE_BYTES)
ROWS_AHEAD = 4
"""Most updates have no more entries; those of longer ones follow each other in memory."""


@inner
def number(entries: Any, at: int) -> int:
    """Four bytes in network order."""
    high = (np.int64(entries[at]) << 24) | (np.int64(entries[at + 1]) << 16)
    return int(high | (np.int64(entries[at + 2]) << 8) | np.int64(entries[at + 3]))


@inner
def numbers(u: Updates, frame: int, count: int) -> Any:
    """The entries of a frame as numbers."""
    desk = u.desk[0]
    entries = carray(pointer(desk.payload + frame * desk.piece_bytes), count * ENTRY, _BYTE)
    said = carray(pointer(desk.said), count, SAID)
    for k in range(count):
        said[k].destination = number(entries, k * ENTRY)
        said[k].hops, said[k].sequence = number(entries, k * ENTRY + 4), number(entries, k * ENTRY + 8)
    return said


@inner
def ready(u: Updates, node: int, sender: int, entries: int, clock_s: float) -> bool:
    """Whether a node can read an update with nothing left to do but to set its alarms. If it knows the sender, that it
    heard it is noted already, as it will be in any case."""
    desk = carray(pointer(u.table[node]), 1, TABLE)[0]
    forget_past(desk, clock_s)
    if desk.attends or desk.used + entries > desk.capacity or desk.trigger_count == desk.trigger_room:
        return False
    return len(u.heard) == 0 or note_one(u.heard[node], sender, clock_s)


@inner
def keep_time(u: Updates, node: int, left: int, now_s: float, clock_s: float) -> None:
    """Set the alarms that reading has left to be set."""
    desk = carray(pointer(u.table[node]), 1, TABLE)[0]
    if left & SETTLE and desk.due_s < desk.settled_s:
        desk.settled_s = desk.due_s
        set_alarm(u, node, SETTLE, now_s + max(0.0, desk.due_s - clock_s))
    if left & TRIGGER:
        set_alarm(u, node, TRIGGER, now_s + (desk.triggered_s - clock_s))


@inner
def look_ahead(u: Updates, e: Ether, end: int, entries: Any) -> None:
    """Have at hand what whoever comes next, and after that one, will need: hearers' memory is nowhere near, and to wait
    for it would take longer than all that is done with it. Who does not listen may have none."""
    at = u.desk[0].row
    if at + 2 < end and u.listens[e.told[at + 2].node]:
        node = e.told[at + 2].node
        for line in range(TABLE_LINES):
            prefetch(u.table[node] + LINE_BYTES * line)
        prefetch(u.random[node])
        if len(u.heard) > 0:
            prefetch(u.heard[node])
    if at + 1 < end and u.listens[e.told[at + 1].node]:
        node = e.told[at + 1].node
        desk = carray(pointer(u.table[node]), 1, TABLE)[0]
        for k in range(min(len(entries), ROWS_AHEAD)):
            prefetch(desk.rows + _ROW_BYTES * entries[k].destination)
        prefetch(desk.triggers)
        prefetch(u.random[node] + _WORD_BYTES * (1 + carray(pointer(u.random[node]), 1, _WORD)[0]))


@inner
def tell_rows(u: Updates, e: Ether, end: int, sender: int, frame: int) -> bool:
    """Tell a frame to one after the other of those who hear it, up to the first who is not ready; whether all were."""
    desk, count = u.desk[0], u.frame[frame].bytes // ENTRY
    entries = numbers(u, frame, count)
    size_bytes = u.message_bytes[count]
    while desk.row < end:
        look_ahead(u, e, end, entries)
        row = e.told[desk.row]
        node, now_s = row.node, max(desk.now_s, row.at_s)
        clock_s = now_s + u.skew_s[node]
        if desk.together == 0 or (u.listens[node] and not ready(u, node, sender, count, clock_s)):
            return False
        desk.now_s = now_s
        desk.row += 1
        if u.listens[node]:
            u.frames[node] += 1
            u.bytes[node] += size_bytes
            left = hear(u.table[node], entries, sender, clock_s, draw(u.random[node]))
            keep_time(u, node, left, now_s, clock_s)
    return True


@borrowing
def tell_next(u: Updates, e: Ether) -> int:
    """Tell the next of what has happened."""
    desk, head = u.desk[0], e.head[u.desk[0].head]
    frame = token_of(head.frame)
    desk.row = max(desk.row, head.begin)
    if head.frame >= 0:
        return TELL
    if head.kind != RECEIVED:
        desk.now_s = max(desk.now_s, head.at_s)
        end_frame(u, frame, head.at_s)
    elif min(desk.alarms_left, len(u.waiting) - desk.waiting) < DUTIES * (head.end - desk.row):
        return ROOM
    elif not tell_rows(u, e, head.end, head.peer, frame):
        return TELL_ONE
    desk.head += 1
    desk.row = head.end
    return GO
