"""Sending updates, compiled: their entries are kept in pieces of the longest message until all have heard them.

What a node tells goes out of the buffer of its table into frames, which then go to the radio one after the other; the
radio may have no room for one, and then it is tried again when it has.
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import borrowing, carray, pointer
from thyme.routing.dsdv.rows import DESK as TABLE
from thyme.routing.dsdv.writing import ENTRY
from thyme.sim.radios.wifi.kernel import OUT_OF_ORDER, SHORT, enqueue_now
from thyme.sim.radios.wifi.state import EVERYBODY, Ether
from thyme.sim.stops import GO, LATE, ROOM
from thyme.sim.updates.state import Updates

_BYTE = np.dtype(np.uint8)

MEMORY_S = 0.01
"""How long a frame is remembered after its sender is done: the farthest hearer is told a little later."""


@borrowing
def nanoseconds(at_s: float) -> int:
    """As the radio counts them, rounded as Python rounds."""
    return int(np.int64(np.rint(at_s * 1e9)))


@borrowing
def token_of(frame: int) -> int:
    """What the radio is told to call a frame; frames of Python have numbers above zero."""
    return -2 - frame


@borrowing
def put_out(u: Updates, node: int, size: int) -> None:
    """What a table has written becomes frames."""
    desk = u.desk[0]
    out = carray(pointer(carray(pointer(u.table[node]), 1, TABLE)[0].out), size, _BYTE)
    for begin in range(0, size, desk.piece_bytes):
        k = desk.free_frame
        frame = u.frame[k]
        desk.free_frame = frame.next
        desk.frames_left -= 1
        frame.sender, frame.bytes, frame.next = node, min(desk.piece_bytes, size - begin), -1
        for i in range(frame.bytes):
            u.payload[k * desk.piece_bytes + i] = out[begin + i]
        if desk.out_first < 0:
            desk.out_first = k
        else:
            u.frame[desk.out_last].next = k
        desk.out_last = k


@borrowing
def send_out(u: Updates, e: Ether) -> int:
    """Give the first frame that waits to the radio."""
    desk, k = u.desk[0], u.desk[0].out_first
    node = u.frame[k].sender
    size_bytes = u.message_bytes[u.frame[k].bytes // ENTRY]
    now = nanoseconds(max(desk.now_s, e.desk[0].now * 1e-9))
    done = enqueue_now(e, now, e.number[node], EVERYBODY, token_of(k), size_bytes + desk.header_bytes)
    if done == SHORT:
        return ROOM
    if done == OUT_OF_ORDER:
        return LATE
    desk.out_first = u.frame[k].next
    u.sent[node].frames += 1
    u.sent[node].bytes += size_bytes
    if done == 0:
        u.sent[node].refused += 1
        u.sent[node].refused_bytes += size_bytes
        free_frame(u, k)
    return GO


@borrowing
def free_frame(u: Updates, k: int) -> None:
    u.frame[k].next = u.desk[0].free_frame
    u.desk[0].free_frame = k
    u.desk[0].frames_left += 1


@borrowing
def end_frame(u: Updates, k: int, at_s: float) -> None:
    """The sender is done with a frame."""
    desk = u.desk[0]
    u.frame[k].until_s, u.frame[k].next = at_s + MEMORY_S, -1
    if desk.ended_first < 0:
        desk.ended_first = k
    else:
        u.frame[desk.ended_last].next = k
    desk.ended_last = k


@borrowing
def forget_ended(u: Updates) -> None:
    desk = u.desk[0]
    while desk.ended_first >= 0 and u.frame[desk.ended_first].until_s < desk.now_s:
        k = desk.ended_first
        desk.ended_first = u.frame[k].next
        free_frame(u, k)
