"""What a compiled SocialCast run remembers: of every node its neighbours, predictions, memory and buffer.

One array per kind of thing, by node, in groups that are changed together; a function is given the groups that it
needs, since compiled code copies what it is given. Messages and topics are numbers; sets of messages are bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.approaches.socialcast.options import SocialCastOptions
from thyme.world.mobility.movement import Floats, Ints

Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]

NOBODY, NOTHING = -1, -1
SUBSCRIBE, INSERT = 0, 1
MAX_HANDS = SocialCastOptions().pending_handovers
"""Copies of a node that are changing hands at once, as many as the protocol lets by default; a run with more is not for
the twin."""


class Kalman(NamedTuple):
    """How values are predicted, and what predictions are worth."""

    state_noise: float
    observation_noise: float
    first_estimate: float
    error_weight: float
    error_bound: float
    unit_colocation: float
    """UNIT times the weight: both are only used together."""
    unit_connectivity: float


class Rules(NamedTuple):
    """The settings of a run, as the approach and the radio have them."""

    predicts: bool
    """False: random carriers."""
    period_s: float
    lifetime_s: float
    """Of a neighbour."""
    copies: int
    ttl_hops: int
    hysteresis: int
    memory_ids: int
    sample_every_s: float
    rate_bps: float
    header_bytes: int
    retries: int
    retry_wait_s: float
    until_s: float
    confirmed: bool
    """Copies change hands in three steps; else by the link's word."""
    answer_wait_s: float
    unreleased_s: float


class Changes(NamedTuple):
    """Beginnings and ends of contacts, in the order in which a radio sees them."""

    at_s: Floats
    starts: Flags
    a: Ints
    b: Ints


class Asked(NamedTuple):
    """Operations."""

    at_s: Floats
    kind: Ints
    node: Ints
    topic: Ints
    message: Ints


class Sizes(NamedTuple):
    """Of what is sent, encoded."""

    data_bytes: Ints
    """A data message after no hops, with no copy."""
    id_bytes: Ints
    topic_bytes: Ints
    wanted_bytes: Ints
    """Interests of a node without and with its subscription: [node, 2]."""
    offer_bytes: Ints
    """An offer of a data message after no hops, with no copy and the number 0."""
    answer_bytes: Ints
    """An acceptance and a release with the number 0: [2]."""


class Table(NamedTuple):
    """What a node knows of another: [node, other]."""

    known: Flags
    heard_s: Floats
    version: Ints
    """Of the list of received messages that the other told last."""
    has: Bits
    utility: NDArray[np.int32]
    wants: Ints


class Spoken(NamedTuple):
    """What a node's last control message said."""

    version: Ints
    has: Bits
    utility: NDArray[np.int32]
    wants: Ints


class Predictors(NamedTuple):
    """(estimate, variance, error) of connectivity [node] and of topics [node, topic]."""

    connectivity: Floats
    colocation: Floats
    learned: Flags
    before: Flags


class Memory(NamedTuple):
    """The last λ messages received, oldest first, and the same as a set."""

    ids: Ints
    known: Ints
    """How many."""
    size_bytes: Ints
    version: Ints
    received: Bits


class Buffer(NamedTuple):
    """Messages in order of arrival, and their copies as (number, hops)."""

    order: Ints
    held: Ints
    carried: Ints
    copy: Ints


class Readers(NamedTuple):
    """Who wants what, and who was told of it: rows of (subscriber, message, instant, hops)."""

    interest: Ints
    message_topic: Ints
    notified: Flags
    rows: Floats
    told: Ints
    """How many rows there are: [1]."""


class Hands(NamedTuple):
    """Copies that are changing hands: of each node the offers without an answer as (number, to, message, copy, hops),
    the offers kept aside as (sender, number, message, copy, hops), and the releases that the link could not deliver as
    (to, number), each in order of time, with how many there are and an instant beside each."""

    offers: Ints
    offered_s: Floats
    open: Ints
    last: Ints
    """The number of a node's last offer."""
    aside: Ints
    aside_until_s: Floats
    kept: Ints
    unheard: Ints
    unheard_until_s: Floats
    waiting: Ints
    overflown: Flags
    """Whether there was ever more of one than fits: [1]."""


class Samples(NamedTuple):
    sampled_s: Floats
    buffered: Ints
    """Copies at the first sample, −1 before it."""


class Air(NamedTuple):
    near: Flags
    busy_until_s: Floats
    tally: Ints
    """Data messages received, data messages sent, control messages sent, their bytes, and all frames put on the air."""


class State(NamedTuple):
    table: Table
    spoken: Spoken
    predictors: Predictors
    memory: Memory
    buffer: Buffer
    readers: Readers
    samples: Samples
    air: Air
    hands: Hands
    dice: NDArray[np.uint32]
    """[node]: the 624 words of a Mersenne twister and its place in them."""


def new_state(
    nodes: int, message_topic: Ints, topics: int, rules: Rules, first: tuple[float, float], dice: NDArray[np.uint32]
) -> State:
    """Before anything happened; `first` is the first estimate and variance of a predictor."""
    messages = max(1, len(message_topic))
    words = -(-messages // 64)
    pairs = (nodes, nodes)
    connectivity = np.zeros((nodes, 3))
    connectivity[:, :2] = first
    numbers = [np.zeros(nodes, np.int64) for _ in range(6)]
    return State(
        Table(
            np.zeros(pairs, np.bool_), np.zeros(pairs), np.zeros(pairs, np.int64),
            np.zeros((*pairs, words), np.uint64), np.zeros((*pairs, topics), np.int32), np.full(pairs, NOTHING),
        ),
        Spoken(
            numbers[0], np.zeros((nodes, words), np.uint64), np.zeros((nodes, topics), np.int32),
            np.full(nodes, NOTHING),
        ),
        Predictors(
            connectivity, np.zeros((nodes, topics, 3)), np.zeros((nodes, topics), np.bool_), np.zeros(pairs, np.bool_)
        ),
        Memory(
            np.zeros((nodes, min(rules.memory_ids, messages) + 1), np.int64), numbers[1], numbers[2], numbers[3],
            np.zeros((nodes, words), np.uint64),
        ),
        Buffer(
            np.zeros((nodes, messages), np.int64), numbers[4], np.zeros((nodes, messages), np.int64),
            np.zeros((nodes, messages, rules.copies, 2), np.int64),
        ),
        Readers(
            np.full(nodes, NOTHING), message_topic, np.zeros((nodes, messages), np.bool_),
            np.zeros((nodes * messages, 4)), np.zeros(1, np.int64),
        ),
        Samples(np.zeros(nodes), np.full(nodes, -1)),
        Air(np.zeros(pairs, np.bool_), np.zeros(nodes), np.zeros(5, np.int64)),
        _new_hands(nodes, MAX_HANDS if rules.confirmed else 1),
        dice,
    )  # fmt: skip


def _new_hands(nodes: int, most: int) -> Hands:
    offers, aside = (np.zeros((nodes, most, 5), np.int64) for _ in range(2))
    offered_s, aside_until_s, unheard_until_s = (np.zeros((nodes, most)) for _ in range(3))
    counts = [np.zeros(nodes, np.int64) for _ in range(4)]
    return Hands(
        offers, offered_s, counts[0], counts[1], aside, aside_until_s, counts[2],
        np.zeros((nodes, most, 2), np.int64), unheard_until_s, counts[3], np.zeros(1, np.bool_),
    )  # fmt: skip
