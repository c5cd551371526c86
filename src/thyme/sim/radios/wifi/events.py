"""The event queue of the radio: a binary heap by (time, order of scheduling), so that equal times keep their order."""

from __future__ import annotations

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.state import WifiTables

# kinds of events: for a node (`who`) or for a frame on the air
ACCESS, SENT_OUT, WAITED, ANSWER, AFTER_CTS, NAV_RESET, DETECT, ARRIVED = 0, 1, 2, 3, 4, 5, 6, 7


@borrowing
def schedule(e: WifiTables, at: int, kind: int, who: int, a: int, b: int) -> None:
    scalars, event = e.scalars[0], e.event
    place = scalars.events
    scalars.events += 1
    while place > 0:
        parent = (place - 1) >> 1
        if event[parent].at <= at:
            break
        event[place] = event[parent]
        place = parent
    row = event[place]
    row.at = at
    row.order = scalars.order
    row.kind = kind
    row.who = who
    row.a = a
    row.b = b
    scalars.order += 1


@borrowing
def earlier(e: WifiTables, left: int, right: int) -> bool:
    a, b = e.event[left], e.event[right]
    return bool(a.at < b.at or (a.at == b.at and a.order < b.order))


@borrowing
def remove_first(e: WifiTables) -> None:
    """Drop the top of the heap (its fields must have been read before)."""
    scalars, event = e.scalars[0], e.event
    scalars.events -= 1
    last = scalars.events
    place = 0
    while True:
        child = 2 * place + 1
        if child >= last:
            break
        if child + 1 < last and earlier(e, child + 1, child):
            child += 1
        if not earlier(e, child, last):
            break
        event[place] = event[child]
        place = child
    event[place] = event[last]
