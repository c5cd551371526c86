"""The packets that wait at a node: first in, first out, bounded, each with a lifetime.

A packet leaves its queue when it was sent (broadcast), acknowledged, given up after too many tries, or when it has
waited longer than its lifetime, which is noticed the next time the node looks at its queue. That one was sent is told,
unless nobody wants to know (`config.quiet`): then it is noted, and whatever is told next is not earlier.
"""

from __future__ import annotations

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.state import Ether

# what a protocol is told
RECEIVED, SENT, GIVEN_UP, DROPPED = 0, 1, 2, 3


@borrowing
def tell(e: Ether, at: int, kind: int, n: int, peer: int, token: int) -> None:
    row = e.told[e.desk[0].told]
    row.at_s = max(at * 1e-9, e.desk[0].ended_s)
    row.kind, row.node, row.frame = kind, e.name[n], token
    row.peer = e.name[peer] if peer >= 0 else peer
    e.desk[0].told += 1


@borrowing
def note_ended(e: Ether, at: int, token: int) -> None:
    desk = e.desk[0]
    desk.ended_s = max(at * 1e-9, desk.ended_s)
    e.ended[desk.ended].at_s, e.ended[desk.ended].frame = desk.ended_s, token
    desk.ended += 1


@borrowing
def append_packet(e: Ether, n: int, to: int, token: int, size_bytes: int, now: int) -> None:
    desk, me = e.desk[0], e.station[n]
    k = desk.free_packet
    row = e.packet[k]
    desk.free_packet = row.next
    desk.packets_left -= 1
    row.token, row.to, row.bytes, row.tries, row.heard, row.next = token, to, size_bytes, 0, 0, -1
    row.expires = now + e.config[0].lifetime
    if me.queued == 0:
        me.head = k
    else:
        e.packet[me.tail].next = k
    me.tail = k
    me.queued += 1


@borrowing
def drop_head(e: Ether, n: int) -> None:
    desk, me = e.desk[0], e.station[n]
    k = me.head
    me.head = e.packet[k].next
    me.queued -= 1
    e.packet[k].next = desk.free_packet
    desk.free_packet = k
    desk.packets_left += 1


@borrowing
def finish_head(e: Ether, n: int, kind: int, at: int) -> None:
    """The packet at the head is done with: tell whoever owns its token, if need be."""
    row = e.packet[e.station[n].head]
    if kind == SENT and e.config[0].quiet != 0 and row.token >= 0:
        note_ended(e, at, row.token)
    else:
        tell(e, at, kind, n, row.to, row.token)
    drop_head(e, n)


@borrowing
def drop_expired(e: Ether, n: int, now: int, room: int) -> None:
    """Give up the packets that waited too long, as many as there is `room` to tell."""
    me = e.station[n]
    while me.queued > 0 and e.packet[me.head].expires < now and room > 0:
        e.tally[n].given_up_lifetime += 1
        finish_head(e, n, 2, now)
        room -= 1
