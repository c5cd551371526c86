"""Copies that change hands in three steps in a compiled SocialCast run: offered, accepted, released.

As `approaches.socialcast.handovers`, on a radio that loses nothing between those who are near each other: what is given
up did not arrive, so that every offer is answered once or not at all.
"""

from __future__ import annotations

from thyme.compiled import compiled
from thyme.papers.socialcast.twin.air import ACCEPT, OFFER, RELEASE, Frame, deliver, send
from thyme.papers.socialcast.twin.parts import add_copy, int_bytes
from thyme.papers.socialcast.twin.state import NOTHING, Hands, Rules, Sizes, State


@compiled
def make_offer(
    rules: Rules, sizes: Sizes, state: State, node: int, to: int, message: int, copy: int, hops: int, now_s: float,
    frames: list[Frame],
) -> None:  # fmt: skip
    """A copy that has just left the buffer is offered."""
    hands = state.hands
    hands.last[node] += 1
    number = hands.last[node]
    place = hands.open[node]
    if place >= hands.offers.shape[1]:
        hands.overflown[0] = True
        return
    row = hands.offers[node, place]
    row[0], row[1], row[2], row[3], row[4] = number, to, message, copy, hops
    hands.offered_s[node, place] = now_s
    hands.open[node] = place + 1
    size_bytes = sizes.offer_bytes[message] + int_bytes(hops) - 1 + int_bytes(copy) + int_bytes(number) - 1
    send(rules, state.air, (0.0, 0, node, to, message, hops, copy, 0, size_bytes, OFFER, number, 0.0), now_s, frames)


@compiled
def answer(rules: Rules, sizes: Sizes, state: State, frame: Frame, carries: bool, frames: list[Frame]) -> None:
    """The receiver keeps the copy aside, if it will carry it, and accepts."""
    now_s, _, sender, node, message, hops, copy, _, _, _, number, _ = frame
    hands = state.hands
    if carries:
        place = hands.kept[node]
        if place >= hands.aside.shape[1]:
            hands.overflown[0] = True
            return
        row = hands.aside[node, place]
        row[0], row[1], row[2], row[3], row[4] = sender, number, message, copy, hops
        hands.aside_until_s[node, place] = now_s + rules.unreleased_s
        hands.kept[node] = place + 1
    size_bytes = sizes.answer_bytes[0] + int_bytes(number) - 1
    send(rules, state.air, (0.0, 0, node, sender, 0, 0, NOTHING, 0, size_bytes, ACCEPT, number, 0.0), now_s, frames)


@compiled
def accepted(
    rules: Rules, sizes: Sizes, state: State, node: int, sender: int, number: int, now_s: float, frames: list[Frame]
) -> None:
    """The carrier gives the copy up for good, unless it was taken back meanwhile."""
    hands = state.hands
    for place in range(hands.open[node]):
        if hands.offers[node, place, 0] == number and hands.offers[node, place, 1] == sender:
            _close(hands, node, place)
            _release(rules, sizes, state, node, sender, number, now_s + rules.unreleased_s, now_s, frames)
            return


@compiled
def released(state: State, node: int, sender: int, number: int) -> None:
    """From now on the receiver carries what it kept aside."""
    hands = state.hands
    for place in range(hands.kept[node]):
        row = hands.aside[node, place]
        if row[0] == sender and row[1] == number:
            message, copy, hops = row[2], row[3], row[4]
            _forget(hands, node, place)
            add_copy(state.buffer, node, message, copy, hops + 1)
            return


@compiled
def keep_release(hands: Hands, node: int, to: int, number: int, until_s: float) -> None:
    """The link could not deliver it."""
    place = hands.waiting[node]
    if place >= hands.unheard.shape[1]:
        hands.overflown[0] = True
        return
    hands.unheard[node, place, 0], hands.unheard[node, place, 1] = to, number
    hands.unheard_until_s[node, place] = until_s
    hands.waiting[node] = place + 1


@compiled
def release_again(
    rules: Rules, sizes: Sizes, state: State, node: int, heard: int, now_s: float, frames: list[Frame]
) -> None:
    """Somebody is near again: what they were promised is released, if they still wait for it."""
    hands = state.hands
    place = 0
    while place < hands.waiting[node]:
        if hands.unheard[node, place, 0] != heard:
            place += 1
            continue
        number, until_s = hands.unheard[node, place, 1], hands.unheard_until_s[node, place]
        count = hands.waiting[node]
        hands.unheard[node, place : count - 1] = hands.unheard[node, place + 1 : count].copy()
        hands.unheard_until_s[node, place : count - 1] = hands.unheard_until_s[node, place + 1 : count].copy()
        hands.waiting[node] = count - 1
        if until_s > now_s:
            _release(rules, sizes, state, node, heard, number, until_s, now_s, frames)


@compiled
def settle_overdue(rules: Rules, state: State, node: int, now_s: float) -> None:
    """Take back what nobody accepted, and drop what nobody released."""
    hands = state.hands
    place = 0
    while place < hands.open[node]:
        if hands.offered_s[node, place] > now_s - rules.answer_wait_s:
            place += 1
            continue
        row = hands.offers[node, place]
        message, copy, hops = row[2], row[3], row[4]
        _close(hands, node, place)
        add_copy(state.buffer, node, message, copy, hops)
    place = 0
    while place < hands.kept[node]:
        if hands.aside_until_s[node, place] <= now_s:
            _forget(hands, node, place)
        else:
            place += 1


@compiled
def deliver_what_is_offered(state: State, node: int, now_s: float) -> None:
    """To a new subscription: what this node has on offer."""
    hands = state.hands
    for place in range(hands.open[node]):
        deliver(state.readers, node, hands.offers[node, place, 2], hands.offers[node, place, 4], now_s)


@compiled
def _release(
    rules: Rules, sizes: Sizes, state: State, node: int, to: int, number: int, until_s: float, now_s: float,
    frames: list[Frame],
) -> None:  # fmt: skip
    size_bytes = sizes.answer_bytes[1] + int_bytes(number) - 1
    send(rules, state.air, (0.0, 0, node, to, 0, 0, NOTHING, 0, size_bytes, RELEASE, number, until_s), now_s, frames)


@compiled
def _close(hands: Hands, node: int, place: int) -> None:
    count = hands.open[node]
    hands.offers[node, place : count - 1] = hands.offers[node, place + 1 : count].copy()
    hands.offered_s[node, place : count - 1] = hands.offered_s[node, place + 1 : count].copy()
    hands.open[node] = count - 1


@compiled
def _forget(hands: Hands, node: int, place: int) -> None:
    count = hands.kept[node]
    hands.aside[node, place : count - 1] = hands.aside[node, place + 1 : count].copy()
    hands.aside_until_s[node, place : count - 1] = hands.aside_until_s[node, place + 1 : count].copy()
    hands.kept[node] = count - 1
