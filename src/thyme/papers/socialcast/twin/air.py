"""The air between the nodes of a compiled SocialCast run: frames, who hears them, and what hearing them does.

As the disc radio over a table of contacts: a node sends one frame at a time, a contact lasts to the very instant of
its end, and a data message that its receiver does not hear is tried again a few times and then given up.
"""

from __future__ import annotations

from heapq import heappush

from thyme.compiled import compiled
from thyme.papers.socialcast.twin.parts import add_copy, remember
from thyme.papers.socialcast.twin.state import (
    NOBODY,
    NOTHING,
    Air,
    Changes,
    Flags,
    Readers,
    Rules,
    Sizes,
    Spoken,
    State,
    Table,
)

Frame = tuple[float, int, int, int, int, int, int, int, int]
"""When it has left the air, its number, sender, receiver, message, hops, copy, tries and size."""

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
    _, _, sender, to, message, hops, number, tries, size_bytes = frame
    size_bytes += rules.header_bytes
    if to == NOBODY:
        air.tally[CONTROL] += 1
        air.tally[CONTROL_BYTES] += size_bytes
    else:
        air.tally[SENT] += 1
    _enqueue(rules, air, (0.0, 0, sender, to, message, hops, number, tries, size_bytes), now_s, frames)


@compiled
def _enqueue(rules: Rules, air: Air, frame: Frame, now_s: float, frames: list[Frame]) -> None:
    _, _, sender, to, message, hops, number, tries, size_bytes = frame
    end_s = max(now_s, air.busy_until_s[sender]) + size_bytes * 8.0 / rules.rate_bps
    air.busy_until_s[sender] = end_s
    air.tally[FRAMES] += 1
    heappush(frames, (end_s, air.tally[FRAMES], sender, to, message, hops, number, tries, size_bytes))


@compiled
def complete(rules: Rules, sizes: Sizes, state: State, frame: Frame, frames: list[Frame]) -> None:
    """A data message has left the air: it is heard, or tried again, or given up."""
    end_s, _, sender, to, message, hops, number, tries, size_bytes = frame
    if state.air.near[sender, to]:
        state.air.tally[RECEIVED] += 1
        remember(rules.memory_ids, state.memory, sizes.id_bytes, to, message)
        deliver(state.readers, to, message, hops + 1, end_s)
        if number != NOTHING and not 0 < rules.ttl_hops <= hops + 1:
            add_copy(state.buffer, to, message, number, hops + 1)
    elif tries < rules.retries:
        again = (0.0, 0, sender, to, message, hops, number, tries + 1, size_bytes)
        _enqueue(rules, state.air, again, end_s + rules.retry_wait_s, frames)
    else:
        state.table.known[sender, to] = False
        if number != NOTHING:
            add_copy(state.buffer, sender, message, number, hops)


@compiled
def hear_control(table: Table, spoken: Spoken, near: Flags, sender: int, now_s: float) -> None:
    """Everybody near hears what the sender says of itself."""
    known, heard_s, version, has, utility, wants = table
    for node in range(near.shape[0]):
        if not near[sender, node]:
            continue
        if not known[node, sender] or version[node, sender] != spoken.version[sender]:
            version[node, sender] = spoken.version[sender]
            for word in range(has.shape[2]):
                has[node, sender, word] = spoken.has[sender, word]
        known[node, sender] = True
        heard_s[node, sender] = now_s
        wants[node, sender] = spoken.wants[sender]
        for topic in range(utility.shape[2]):
            utility[node, sender, topic] = spoken.utility[sender, topic]


@compiled
def deliver(readers: Readers, node: int, message: int, hops: int, now_s: float) -> None:
    if readers.interest[node] != readers.message_topic[message] or readers.notified[node, message]:
        return
    readers.notified[node, message] = True
    row = readers.told[0]
    readers.rows[row, 0], readers.rows[row, 1] = node, message
    readers.rows[row, 2], readers.rows[row, 3] = now_s, hops
    readers.told[0] += 1
