"""The number-interval workload of DRIP (§VI-A2): events are numbers from 1 to 100, subscriptions are ranges.

A number is a tag and a range the disjunction of its numbers. Events come as a Poisson process. Detection follows from
abilities: either one node detects an event, drawn in proportion to them, or every node independently, with a
probability that gives the configured mean number of detectors ("we determine whether a node in the network detects the
event"). Each of these publishes it, under the event's name. Each node subscribes with probability one half, to a range
whose centre is uniform and whose length is normal. Subscriptions are on the future.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from math import ceil, floor, sqrt
from random import Random

import msgspec

from thyme.approaches.drip.election import detecting_ability
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind

NUMBERS = 100
EXPONENT = 2.0
"""Of the abilities, as in `DripOptions`."""
RATE_PER_S = 0.8
SUBSCRIBING = 0.5
LENGTH_MEAN, LENGTH_VARIANCE = 5.0, 2.0
SUBSCRIBE_S = (15.0, 20.0)
"""The paper's values; a time unit is a second."""


class NumberIntervals(msgspec.Struct, frozen=True):
    """What runs differ in."""

    nodes: int = 200
    seed: int = 1
    ability_seed: int = 0
    detectors: float = 1.0
    """How many nodes detect an event: exactly one, or more on average; where none would, one is drawn."""
    events_from_s: float = 30.0
    events_to_s: float = 530.0

    def __post_init__(self) -> None:
        if not 1.0 <= self.detectors <= self.nodes:
            raise InputError(f"detectors is {self.detectors:g}; expected 1 to as many as there are nodes, {self.nodes}")


def number_intervals(options: NumberIntervals) -> list[Operation]:
    """The operations, in order of time."""
    random = Random(f"{options.seed}/number intervals")
    found = [*_subscriptions(options, random), *_events(options, random)]
    found.sort(key=lambda operation: operation.at_s)
    return [msgspec.structs.replace(operation, operation=i) for i, operation in enumerate(found)]


def range_query(low: int, high: int) -> str:
    """The query for the numbers from `low` to `high`."""
    return " | ".join(number_tag(number) for number in range(low, high + 1))


def number_tag(number: int) -> str:
    return f"n{number}"


def _subscriptions(options: NumberIntervals, random: Random) -> list[Operation]:
    found = []
    for node in range(options.nodes):
        subscribes, centre = random.random() < SUBSCRIBING, random.uniform(1.0, NUMBERS)
        length = random.gauss(LENGTH_MEAN, sqrt(LENGTH_VARIANCE))
        at_s = random.uniform(*SUBSCRIBE_S)
        if not subscribes:
            continue
        low, high = max(1, ceil(centre - length / 2.0)), min(NUMBERS, floor(centre + length / 2.0))
        if high < low:
            low = high = min(NUMBERS, max(1, round(centre)))
        query = range_query(low, high)
        found.append(Operation(0, at_s, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query=query, start_s=at_s))
    return found


def _events(options: NumberIntervals, random: Random) -> list[Operation]:
    abilities = [detecting_ability(options.ability_seed, node, EXPONENT) for node in range(options.nodes)]
    shares = list(accumulate(abilities))
    found: list[Operation] = []
    at_s = options.events_from_s + random.expovariate(RATE_PER_S)
    events = 0
    while at_s < options.events_to_s:
        drawn = bisect_right(shares, random.random() * shares[-1])
        number = random.randint(1, NUMBERS)
        seeing: list[int] = []
        if options.detectors > 1.0:
            each = options.detectors / shares[-1]
            seeing = [node for node, ability in enumerate(abilities) if random.random() < each * ability]
        found.extend(
            Operation(
                0, at_s, NodeId(node), OperationKind.INSERT, oid=f"e{events}", tags=(number_tag(number),),
                text=str(number),
            )
            for node in seeing or [drawn]
        )  # fmt: skip
        events += 1
        at_s += random.expovariate(RATE_PER_S)
    return found
