"""The packet queue of a node: bounded, first in, first out, bulk packets after all others, each with a lifetime.

A packet leaves its queue when it was sent (broadcast), acknowledged, given up after too many tries, or after its
lifetime, which is checked the next time the node accesses its queue. A transmission is reported unless no one
subscribes (`config.quiet`): then its time is recorded, and the next report is not earlier.
"""

from __future__ import annotations

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.state import WifiTables

# kinds of reports to a protocol
RECEIVED, SENT, GIVEN_UP, DROPPED, EXPIRED = 0, 1, 2, 3, 4


@borrowing
def tell(e: WifiTables, at: int, kind: int, n: int, peer: int, token: int) -> None:
    row = e.report[e.scalars[0].reports]
    row.at_s = max(at * 1e-9, e.scalars[0].ended_s)
    row.kind, row.node, row.frame = kind, e.name[n], token
    row.peer = e.name[peer] if peer >= 0 else peer
    e.scalars[0].reports += 1


@borrowing
def note_ended(e: WifiTables, at: int, token: int) -> None:
    scalars = e.scalars[0]
    scalars.ended_s = max(at * 1e-9, scalars.ended_s)
    e.ended[scalars.ended].at_s, e.ended[scalars.ended].frame = scalars.ended_s, token
    scalars.ended += 1


@borrowing
def append_packet(e: WifiTables, n: int, to: int, token: int, size_bytes: int, bulk: bool, now: int) -> None:
    """At the end, or after the last packet that is not bulk: at least after the head, which may be under way."""
    scalars, me = e.scalars[0], e.station[n]
    k = scalars.free_packet
    row = e.packet[k]
    scalars.free_packet = row.next
    scalars.packets_left -= 1
    row.token, row.to, row.bytes, row.tries, row.heard, row.next = token, to, size_bytes, 0, 0, -1
    row.expires = now + e.config[0].lifetime
    if me.queued == 0:
        me.head = me.tail = k
    else:
        before = me.tail
        if not bulk:
            before = me.last_urgent if me.last_urgent >= 0 else me.head
        row.next = e.packet[before].next
        e.packet[before].next = k
        if before == me.tail:
            me.tail = k
    if not bulk:
        me.last_urgent = k
    me.queued += 1


@borrowing
def drop_head(e: WifiTables, n: int) -> None:
    scalars, me = e.scalars[0], e.station[n]
    k = me.head
    me.head = e.packet[k].next
    if me.last_urgent == k:
        me.last_urgent = -1
    me.queued -= 1
    e.packet[k].next = scalars.free_packet
    scalars.free_packet = k
    scalars.packets_left += 1


@borrowing
def finish_head(e: WifiTables, n: int, kind: int, at: int) -> None:
    """The packet at the head is done: report it to the owner of its token, if needed."""
    row = e.packet[e.station[n].head]
    if kind == SENT and e.config[0].quiet != 0 and row.token >= 0:
        note_ended(e, at, row.token)
    else:
        tell(e, at, kind, n, row.to, row.token)
    drop_head(e, n)


@borrowing
def drop_expired(e: WifiTables, n: int, now: int, room: int) -> None:
    """Drop the packets whose lifetime ended, at most as many as there is `room` to report."""
    me = e.station[n]
    while me.queued > 0 and e.packet[me.head].expires < now and room > 0:
        e.tally[n].given_up_lifetime += 1
        finish_head(e, n, GIVEN_UP if e.packet[me.head].tries > 0 else EXPIRED, now)
        room -= 1
