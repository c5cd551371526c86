"""Telling updates to those who hear them, compiled: who listens draws, notes the sender, reads, and sets its alarms.

This is what an audience does (`sim.audience`), for frames that compiled code has sent. Where more is to be done, such
as to have a row for a neighbour that was never heard before, nothing is done here and the audience is told.
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import borrowing, carray, inner, pointer
from thyme.routing.dsdv.alarms import forget_past
from thyme.routing.dsdv.duties import SETTLE, TRIGGER
from thyme.routing.dsdv.kernel import hear
from thyme.routing.dsdv.rows import DESK as TABLE
from thyme.routing.dsdv.writing import ENTRY
from thyme.routing.noting import note_one
from thyme.sim.radios.wifi.queues import RECEIVED
from thyme.sim.radios.wifi.state import Ether
from thyme.sim.stops import GO, ROOM, TELL
from thyme.sim.updates.alarms import set_alarm
from thyme.sim.updates.mersenne import draw
from thyme.sim.updates.sending import end_frame, token_of
from thyme.sim.updates.state import DUTIES, Updates


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
def all_ready(u: Updates, e: Ether, begin: int, end: int, sender: int, entries: int) -> bool:
    now_s = u.desk[0].now_s
    for k in range(begin, end):
        node = e.told[k].node
        now_s = max(now_s, e.told[k].at_s)
        if u.listens[node] and not ready(u, node, sender, entries, now_s + u.skew_s[node]):
            return False
    return True


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
def tell_all(u: Updates, e: Ether, begin: int, end: int, sender: int, frame: int) -> None:
    desk, size = u.desk[0], u.frame[frame].bytes
    entries = carray(pointer(desk.payload + frame * desk.piece_bytes), size, np.dtype(np.uint8))
    size_bytes = u.message_bytes[size // ENTRY]
    for k in range(begin, end):
        desk.now_s = max(desk.now_s, e.told[k].at_s)
        node = e.told[k].node
        if u.listens[node]:
            clock_s = desk.now_s + u.skew_s[node]
            u.frames[node] += 1
            u.bytes[node] += size_bytes
            left = hear(u.table[node], entries, sender, clock_s, draw(u.random[node]))
            keep_time(u, node, left, desk.now_s, clock_s)


@borrowing
def tell_next(u: Updates, e: Ether) -> int:
    """Tell the next of what has happened."""
    desk, head = u.desk[0], e.head[u.desk[0].head]
    begin, end, frame = head.begin, head.end, token_of(head.frame)
    if head.frame >= 0:
        return TELL
    if head.kind != RECEIVED:
        desk.now_s = max(desk.now_s, head.at_s)
        end_frame(u, frame, head.at_s)
    elif desk.together == 0 or not all_ready(u, e, begin, end, head.peer, u.frame[frame].bytes // ENTRY):
        return TELL
    elif min(desk.alarms_left, len(u.waiting) - desk.waiting) < DUTIES * (end - begin):
        return ROOM
    else:
        tell_all(u, e, begin, end, head.peer, frame)
    desk.head += 1
    return GO
