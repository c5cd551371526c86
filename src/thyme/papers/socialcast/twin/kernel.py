"""SocialCast over a table of contacts, compiled: the protocol of `approaches.socialcast` and the radio below it.

A twin for evaluations of thousands of runs, not another protocol: every decision, random draw and instant is the
one that the classes make and the disc radio gives, and a test holds it to that, run for run. It knows what the
paper's evaluation needs (topics of one tag, time frames without an end, prediction or random carriers); `dtn_social`
refuses the rest.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from thyme.compiled import compiled
from thyme.papers.socialcast.twin.air import DATA, Frame, advance, deliver, send
from thyme.papers.socialcast.twin.ears import complete, hear_control
from thyme.papers.socialcast.twin.hands import deliver_what_is_offered, make_offer, settle_overdue
from thyme.papers.socialcast.twin.parts import (
    add_copy,
    draw_below,
    elsewhere_of,
    fewest_hops,
    int_bytes,
    lacks,
    learn_and_predict,
    mask,
    own_score,
    remember,
    remove_copy,
)
from thyme.papers.socialcast.twin.state import (
    INSERT,
    NOBODY,
    NOTHING,
    Asked,
    Changes,
    Kalman,
    Rules,
    Sizes,
    State,
    Table,
)
from thyme.world.mobility.movement import Floats, Ints

_FIRST_BYTES = 4
"""Version, array and tag of a control message; the header of its interests is among theirs."""


@compiled
def play(
    rules: Rules, kalman: Kalman, changes: Changes, asked: Asked, sizes: Sizes, state: State, turns_s: Floats
) -> None:
    """Everything up to the end."""
    frames = [(np.inf, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0)]
    turns = [(turns_s[node], node) for node in range(len(turns_s))]
    turns.sort()
    changed = issued = 0
    while True:
        next_s = turns[0][0]
        operation = issued < len(asked.at_s) and asked.at_s[issued] <= next_s
        if operation:
            next_s = asked.at_s[issued]
        if frames[0][0] <= min(next_s, rules.until_s):
            frame = heappop(frames)
            changed = advance(changes, state.air.near, changed, frame[0])
            if frame[3] == NOBODY:
                hear_control(rules, sizes, state, frame[2], frame[0], frames)
            else:
                complete(rules, sizes, state, frame, frames)
        elif next_s > rules.until_s:
            return
        elif operation:
            _issue(rules, sizes, state, asked, issued)
            issued += 1
        else:
            now_s, node = heappop(turns)
            heappush(turns, (now_s + rules.period_s, node))
            _turn(rules, kalman, sizes, state, node, now_s, frames)


@compiled
def _issue(rules: Rules, sizes: Sizes, state: State, asked: Asked, issued: int) -> None:
    at_s, node, message = asked.at_s[issued], asked.node[issued], asked.message[issued]
    buffer = state.buffer
    if asked.kind[issued] == INSERT:
        remember(rules.memory_ids, state.memory, sizes.id_bytes, node, message)
        for number in range(rules.copies):
            add_copy(buffer, node, message, number, 0)
        deliver(state.readers, node, message, 0, at_s)
        return
    state.readers.interest[node] = asked.topic[issued]
    for place in range(buffer.held[node]):
        held = buffer.order[node, place]
        deliver(state.readers, node, held, fewest_hops(buffer, node, held), at_s)
    deliver_what_is_offered(state, node, at_s)


@compiled
def _turn(
    rules: Rules, kalman: Kalman, sizes: Sizes, state: State, node: int, now_s: float, frames: list[Frame]
) -> None:
    """The three phases of a node, one after the other."""
    present = _present(state.table, node, now_s - rules.lifetime_s)
    learn_and_predict(kalman, state.predictors, node, present, state.table.wants)
    size_bytes = _announce(kalman, sizes, state, node)
    send(rules, state.air, (0.0, 0, node, NOBODY, 0, 0, NOTHING, 0, size_bytes, DATA, 0, 0.0), now_s, frames)
    buffer, samples = state.buffer, state.samples
    if rules.sample_every_s > 0.0 and now_s >= samples.sampled_s[node] + rules.sample_every_s:
        samples.sampled_s[node] = now_s - now_s % rules.sample_every_s
        if samples.buffered[node] < 0:
            samples.buffered[node] = buffer.carried[node].sum()
    if rules.confirmed:
        settle_overdue(rules, state, node, now_s)
    if buffer.held[node] == 0 or len(present) == 0:
        return
    ranked: dict[int, Ints] = {NOTHING: present}
    has, wants, message_topic = state.table.has, state.table.wants, state.readers.message_topic
    for message in buffer.order[node, : buffer.held[node]].copy():
        topic = message_topic[message]
        if not rules.predicts:
            _disseminate(rules, sizes, state, node, message, present, present, now_s, frames)
            continue
        if topic not in ranked:
            bound = own_score(kalman, state.predictors, node, topic) + rules.hysteresis
            ranked[topic] = _rank(state.table, node, topic, present, bound)
        better = ranked[topic]
        idle = True
        for other in better:
            if lacks(has, node, other, message):
                idle = False
        for other in present:
            if wants[node, other] == topic and lacks(has, node, other, message):
                idle = False
        if not idle:
            _disseminate(rules, sizes, state, node, message, present, better, now_s, frames)


@compiled
def _present(table: Table, node: int, oldest_s: float) -> Ints:
    """Those heard of late; the others are forgotten."""
    known, heard_s = table.known, table.heard_s
    present = np.empty(known.shape[0], np.int64)
    count = 0
    for other in range(known.shape[0]):
        if known[node, other]:
            if heard_s[node, other] >= oldest_s:
                present[count] = other
                count += 1
            else:
                known[node, other] = False
    return present[:count]


@compiled
def _announce(kalman: Kalman, sizes: Sizes, state: State, node: int) -> int:
    """Set down what the node's control message says; gives its size."""
    spoken, predictors, memory = state.spoken, state.predictors, state.memory
    elsewhere = elsewhere_of(kalman, predictors, node)
    interest = state.readers.interest[node]
    size_bytes = _FIRST_BYTES + sizes.wanted_bytes[node, 0 if interest == NOTHING else 1] + int_bytes(int(elsewhere))
    listed = 0
    for topic in range(spoken.utility.shape[1]):
        spoken.utility[node, topic] = int(elsewhere)
        if not predictors.learned[node, topic]:
            continue
        value = kalman.unit_colocation * predictors.colocation[node, topic, 0]
        if value >= 1.0 and predictors.colocation[node, topic, 2] <= kalman.error_bound:
            utility = int(elsewhere + value)
            spoken.utility[node, topic] = utility
            size_bytes += sizes.topic_bytes[topic] + int_bytes(utility)
            listed += 1
    spoken.version[node] = memory.version[node]
    spoken.wants[node] = interest
    for word in range(spoken.has.shape[1]):
        spoken.has[node, word] = memory.received[node, word]
    headers = 2 * _header_bytes(listed) + _header_bytes(memory.known[node])
    return int(size_bytes + headers + memory.size_bytes[node])


@compiled
def _header_bytes(items: int) -> int:
    return 1 if items < 16 else 3


@compiled
def _rank(table: Table, node: int, topic: int, present: Ints, bound: int) -> Ints:
    """Those who beat the bound, the best first, and of equals the one with the lower number."""
    utility = table.utility
    better = [(-utility[node, other, topic], other) for other in present if utility[node, other, topic] > bound]
    better.sort()
    return np.array([other for _, other in better], np.int64)


@compiled
def _disseminate(
    rules: Rules,
    sizes: Sizes,
    state: State,
    node: int,
    message: int,
    present: Ints,
    better: Ints,
    now_s: float,
    frames: list[Frame],
) -> None:
    """Copies to other carriers, and the message to whoever wants it and lacks it."""
    has, wants, topic = state.table.has, state.table.wants, state.readers.message_topic[message]
    hops = fewest_hops(state.buffer, node, message)
    copies = state.buffer.copy[node, message, : state.buffer.carried[node, message]].copy()
    for place in range(len(copies)):
        number, made = int(copies[place, 0]), int(copies[place, 1])
        to = NOBODY
        if rules.predicts:
            for other in better:
                if lacks(has, node, other, message):
                    to = other
                    break
        else:
            drawn = draw_below(state.dice[node], len(present) + 1)
            if drawn < len(present) and lacks(has, node, present[drawn], message):
                to = present[drawn]
        if to != NOBODY:
            has[node, to, message >> 6] |= mask(message)
            remove_copy(state.buffer, node, message, number)
            if rules.confirmed:
                make_offer(rules, sizes, state, node, to, message, number, made, now_s, frames)
                continue
            size_bytes = sizes.data_bytes[message] + int_bytes(made) - 1 + int_bytes(number)
            frame = (0.0, 0, node, to, message, made, number, 0, size_bytes, DATA, 0, 0.0)
            send(rules, state.air, frame, now_s, frames)
    for other in present:
        if wants[node, other] == topic and lacks(has, node, other, message):
            has[node, other, message >> 6] |= mask(message)
            size_bytes = sizes.data_bytes[message] + int_bytes(hops) - 1
            frame = (0.0, 0, node, int(other), message, hops, NOTHING, 0, size_bytes, DATA, 0, 0.0)
            send(rules, state.air, frame, now_s, frames)
