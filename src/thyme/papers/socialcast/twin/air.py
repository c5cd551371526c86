"""The air between the nodes of a compiled SocialCast run: frames, and who is near whom.

As the disc radio over a table of contacts: a node sends one frame at a time, and a contact lasts to the very instant of
its end. What hearing a frame does is in `ears`.
"""

from __future__ import annotations

from heapq import heappush

from thyme.compiled import compiled
from thyme.papers.socialcast.twin.state import NOBODY, Air, Changes, Flags, Readers, Rules

Frame = tuple[float, int, int, int, int, int, int, int, int, int, int, float]
"""When it has left the air, its number, sender, receiver, message, hops, copy, tries, size, kind, and of an offer and
the answers to it its number; of a release, until when it is of use."""

DATA, OFFER, ACCEPT, RELEASE = 0, 1, 2, 3

RECEIVED, SENT, CONTROL, CONTROL_BYTES, FRAMES = 0, 1, 2, 3, 4


@compiled
def advance(changes: Changes, near: Flags, changed: int, at_s: float) -> int:
    """Who is near whom at this instant; a contact lasts to the very instant of its end."""
    while changed < len(changes.at_s):
        change_s, starts = changes.at_s[changed], changes.starts[changed]
        if change_s > at_s or (not starts and change_s >= at_s):
            break
        a, b = changes.a[changed], changes.b[changed]
        near[a, b] = near[b, a] = starts
        changed += 1
    return changed


@compiled
def send(rules: Rules, air: Air, frame: Frame, now_s: float, frames: list[Frame]) -> None:
    _, _, sender, to, message, hops, number, tries, size_bytes, kind, offer, until_s = frame
    size_bytes += rules.header_bytes
    if to == NOBODY:
        air.tally[CONTROL] += 1
        air.tally[CONTROL_BYTES] += size_bytes
    elif kind <= OFFER:
        air.tally[SENT] += 1
    enqueue(
        rules, air, (0.0, 0, sender, to, message, hops, number, tries, size_bytes, kind, offer, until_s), now_s, frames
    )


@compiled
def enqueue(rules: Rules, air: Air, frame: Frame, now_s: float, frames: list[Frame]) -> None:
    _, _, sender, to, message, hops, number, tries, size_bytes, kind, offer, until_s = frame
    end_s = max(now_s, air.busy_until_s[sender]) + size_bytes * 8.0 / rules.rate_bps
    air.busy_until_s[sender] = end_s
    air.tally[FRAMES] += 1
    seen = air.tally[FRAMES]
    heappush(frames, (end_s, seen, sender, to, message, hops, number, tries, size_bytes, kind, offer, until_s))


@compiled
def deliver(readers: Readers, node: int, message: int, hops: int, now_s: float) -> None:
    if readers.interest[node] != readers.message_topic[message] or readers.notified[node, message]:
        return
    readers.notified[node, message] = True
    row = readers.told[0]
    readers.rows[row, 0], readers.rows[row, 1] = node, message
    readers.rows[row, 2], readers.rows[row, 3] = now_s, hops
    readers.told[0] += 1
