"""What hearing a frame does in a compiled SocialCast run, or that nobody heard it.

A message to somebody who does not hear it is tried again a few times and then given up. Control messages are heard by
everybody near.
"""

from __future__ import annotations

from thyme.compiled import compiled
from thyme.papers.socialcast.twin.air import ACCEPT, DATA, OFFER, RECEIVED, RELEASE, Frame, deliver, enqueue
from thyme.papers.socialcast.twin.hands import accepted, answer, keep_release, release_again, released
from thyme.papers.socialcast.twin.parts import add_copy, remember
from thyme.papers.socialcast.twin.state import NOTHING, Rules, Sizes, State


@compiled
def complete(rules: Rules, sizes: Sizes, state: State, frame: Frame, frames: list[Frame]) -> None:
    """A message to one other has left the air: it is heard, or tried again, or given up."""
    end_s, _, sender, to, message, hops, number, tries, size_bytes, kind, offer, until_s = frame
    if state.air.near[sender, to]:
        _hear(rules, sizes, state, frame, frames)
    elif tries < rules.retries:
        again = (0.0, 0, sender, to, message, hops, number, tries + 1, size_bytes, kind, offer, until_s)
        enqueue(rules, state.air, again, end_s + rules.retry_wait_s, frames)
    elif kind <= OFFER:
        state.table.known[sender, to] = False
        if kind == DATA and number != NOTHING:
            add_copy(state.buffer, sender, message, number, hops)
    elif kind == RELEASE:
        keep_release(state.hands, sender, to, offer, until_s)


@compiled
def _hear(rules: Rules, sizes: Sizes, state: State, frame: Frame, frames: list[Frame]) -> None:
    end_s, _, sender, to, message, hops, number, _, _, kind, offer, _ = frame
    if kind == ACCEPT:
        accepted(rules, sizes, state, to, sender, offer, end_s, frames)
        return
    if kind == RELEASE:
        released(state, to, sender, offer)
        return
    state.air.tally[RECEIVED] += 1
    remember(rules.memory_ids, state.memory, sizes.id_bytes, to, message)
    deliver(state.readers, to, message, hops + 1, end_s)
    carries = number != NOTHING and not 0 < rules.ttl_hops <= hops + 1
    if kind == OFFER:
        answer(rules, sizes, state, frame, carries, frames)
    elif carries:
        add_copy(state.buffer, to, message, number, hops + 1)


@compiled
def hear_control(rules: Rules, sizes: Sizes, state: State, sender: int, now_s: float, frames: list[Frame]) -> None:
    """Everybody near hears what the sender says of itself."""
    known, heard_s, version, has, utility, wants = state.table
    spoken, near = state.spoken, state.air.near
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
        if state.hands.waiting[node] > 0:
            release_again(rules, sizes, state, node, sender, now_s, frames)
