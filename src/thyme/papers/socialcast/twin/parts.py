"""The parts of a node in a compiled SocialCast run: predictions, memory, buffer and dice.

Each does what the class of the same purpose does in `approaches.socialcast`, in the same order of operations, so
that floating-point numbers agree to the last bit; the dice are CPython's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled
from thyme.papers.socialcast.twin.state import Bits, Buffer, Kalman, Memory, Predictors
from thyme.world.mobility.movement import Ints

_WORDS, _SHIFT = 624, 397


@compiled
def bit(word: np.uint64, message: int) -> bool:
    """Whether a word of a set holds its message."""
    return bool((word >> np.uint64(message & 63)) & np.uint64(1))


@compiled
def mask(message: int) -> np.uint64:
    return np.uint64(1) << np.uint64(message & 63)


@compiled
def lacks(has: Bits, node: int, other: int, message: int) -> bool:
    """Whether `node` takes `other` for one that lacks the message."""
    return not bit(has[node, other, message >> 6], message)


@compiled
def int_bytes(value: int) -> int:
    """A small number on the wire."""
    if value < 128:
        return 1
    return 2 if value < 256 else 3


@compiled
def learn_and_predict(kalman: Kalman, predictors: Predictors, node: int, present: Ints, wants: Ints) -> None:
    """A period has passed in which these neighbours were heard."""
    connectivity, colocation, learned, before = predictors
    nodes, topics = learned.shape
    near = np.zeros(topics, np.bool_)
    now = np.zeros(nodes, np.bool_)
    for other in present:
        now[other] = True
        if wants[node, other] >= 0:
            near[wants[node, other]] = True
    for topic in range(topics):
        if near[topic] and not learned[node, topic]:
            learned[node, topic] = True
            colocation[node, topic, 0] = kalman.first_estimate
            colocation[node, topic, 1] = connectivity[node, 1]
        if learned[node, topic]:
            one = colocation[node, topic, 0], colocation[node, topic, 1], colocation[node, topic, 2]
            one = _observe(kalman, one, 1.0 if near[topic] else 0.0)
            colocation[node, topic, 0], colocation[node, topic, 1], colocation[node, topic, 2] = one
    met = changed = 0
    for other in range(nodes):
        if now[other] or before[node, other]:
            met += 1
            if now[other] != before[node, other]:
                changed += 1
                before[node, other] = now[other]
    one = connectivity[node, 0], connectivity[node, 1], connectivity[node, 2]
    one = _observe(kalman, one, changed / met if met else 0.0)
    connectivity[node, 0], connectivity[node, 1], connectivity[node, 2] = one


@compiled
def _observe(kalman: Kalman, one: tuple[float, float, float], value: float) -> tuple[float, float, float]:
    estimate, variance, error = one
    surprise = value - estimate
    error += kalman.error_weight * (abs(surprise) - error)
    gain = variance / (variance + kalman.observation_noise)
    return estimate + gain * surprise, variance + kalman.state_noise - gain * variance, error


@compiled
def elsewhere_of(kalman: Kalman, predictors: Predictors, node: int) -> float:
    """A node's utility for topics of which it knows nothing."""
    if predictors.connectivity[node, 2] > kalman.error_bound:
        return 0.0
    return float(kalman.unit_connectivity * predictors.connectivity[node, 0])


@compiled
def own_score(kalman: Kalman, predictors: Predictors, node: int, topic: int) -> int:
    best = 0.0
    if predictors.learned[node, topic] and predictors.colocation[node, topic, 2] <= kalman.error_bound:
        best = max(best, kalman.unit_colocation * predictors.colocation[node, topic, 0])
    return int(elsewhere_of(kalman, predictors, node) + best)


@compiled
def remember(maximum: int, memory: Memory, id_bytes: Ints, node: int, message: int) -> None:
    """The message is the last received; beyond λ the oldest is forgotten."""
    ids, count = memory.ids[node], memory.known[node]
    if bit(memory.received[node, message >> 6], message):
        place = 0
        while ids[place] != message:
            place += 1
        ids[place : count - 1] = ids[place + 1 : count].copy()
        ids[count - 1] = message
    else:
        ids[count] = message
        count += 1
        memory.received[node, message >> 6] |= mask(message)
        memory.size_bytes[node] += id_bytes[message]
        if count > maximum:
            oldest = ids[0]
            ids[: count - 1] = ids[1:count].copy()
            count -= 1
            memory.received[node, oldest >> 6] &= ~mask(oldest)
            memory.size_bytes[node] -= id_bytes[oldest]
    memory.known[node] = count
    memory.version[node] += 1


@compiled
def add_copy(buffer: Buffer, node: int, message: int, number: int, hops: int) -> None:
    """Carry a copy; one that is here already stays as it is."""
    count = buffer.carried[node, message]
    for place in range(count):
        if buffer.copy[node, message, place, 0] == number:
            return
    if count == 0:
        buffer.order[node, buffer.held[node]] = message
        buffer.held[node] += 1
    buffer.copy[node, message, count, 0] = number
    buffer.copy[node, message, count, 1] = hops
    buffer.carried[node, message] = count + 1


@compiled
def remove_copy(buffer: Buffer, node: int, message: int, number: int) -> None:
    count = buffer.carried[node, message]
    copies = buffer.copy[node, message]
    place = 0
    while copies[place, 0] != number:
        place += 1
    copies[place : count - 1] = copies[place + 1 : count].copy()
    buffer.carried[node, message] = count - 1
    if count > 1:
        return
    order, held = buffer.order[node], buffer.held[node]
    place = 0
    while order[place] != message:
        place += 1
    order[place : held - 1] = order[place + 1 : held].copy()
    buffer.held[node] = held - 1


@compiled
def fewest_hops(buffer: Buffer, node: int, message: int) -> int:
    hops = buffer.copy[node, message, 0, 1]
    for place in range(1, buffer.carried[node, message]):
        hops = min(hops, buffer.copy[node, message, place, 1])
    return int(hops)


@compiled
def draw_below(dice: NDArray[np.uint32], bound: int) -> int:
    """As `Random.randrange` draws: as many bits as the bound has, again until they are below it."""
    bits = 0
    while bound >> bits:
        bits += 1
    while True:
        drawn = int(_next_word(dice)) >> (32 - bits)
        if drawn < bound:
            return drawn


@compiled
def _next_word(dice: NDArray[np.uint32]) -> np.uint32:
    if dice[_WORDS] >= _WORDS:
        _twist(dice)
        dice[_WORDS] = 0
    word = np.uint32(dice[dice[_WORDS]])
    dice[_WORDS] += 1
    word ^= word >> np.uint32(11)
    word ^= (word << np.uint32(7)) & np.uint32(0x9D2C5680)
    word ^= (word << np.uint32(15)) & np.uint32(0xEFC60000)
    return np.uint32(word ^ (word >> np.uint32(18)))


@compiled
def _twist(dice: NDArray[np.uint32]) -> None:
    for k in range(_WORDS):
        mixed = (dice[k] & np.uint32(0x80000000)) | (dice[(k + 1) % _WORDS] & np.uint32(0x7FFFFFFF))
        word = dice[(k + _SHIFT) % _WORDS] ^ (mixed >> np.uint32(1))
        dice[k] = word ^ np.uint32(0x9908B0DF) if mixed & np.uint32(1) else word
