"""Histories: what people and accidents do to a crowd of live nodes, drawn from a seed.

A history has an active phase, in which nodes start, applications insert, delete, subscribe and unsubscribe, and faults
happen: loss, duplication, jitter, partitions, missing multicast, killed and restarted nodes, pauses, suspended devices,
clocks that are set, and changed addresses. Then everything is repaired; after `SETTLE_S` the judge looks.
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from thyme.fuzz.live.machines import Weather

ACTIVE_S = 60.0
SETTLE_S = 90.0
"""After the repair: a unicast is given up after 3 s, a peer after 15 s, and the slowest retry comes within a minute."""
TAGS = ("a", "b", "c")
QUERIES: tuple[tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...]], ...] = (
    ("a", (("a",),), ()),
    ("b", (("b",),), ()),
    ("a & b", (("a", "b"),), ()),
    ("a & !c", (("a",),), ("c",)),
    ("b | c", (("b",), ("c",)), ()),
)
"""A query, its required tag sets (at least one must match), and its excluded tags."""


class Step(msgspec.Struct, frozen=True):
    at_s: float
    node: int
    what: str
    """start, insert, delete, subscribe, unsubscribe, kill, pause, suspend, set clock, part, weather or move"""
    given: Any = None
    lasts_s: float = 0.0


class History(msgspec.Struct, frozen=True):
    approach: str
    seed: int
    nodes: int
    everywhere: bool
    """Whether nodes listen to all addresses of both families, or to one of IPv4 with its multicast group."""
    steps: tuple[Step, ...]


def draw_history(approach: str, seed: int) -> History:
    draw = Random(f"history/{approach}/{seed}")
    nodes = draw.randint(3, 5)
    steps = [Step(draw.uniform(0.0, 5.0) * (i > 0), i, "start", 0.0) for i in range(nodes)]
    if draw.random() < 0.3:  # one wrong clock, and not among the first: the others would follow it for a long time
        steps[-1] = Step(7.0, nodes - 1, "start", draw.choice((-300.0, -5.0, 5.0, 300.0)))
    for number in range(draw.randint(2, 2 * nodes)):
        steps.append(Step(_when(draw), draw.randrange(nodes), "subscribe", draw.randrange(len(QUERIES))))
        if draw.random() < 0.2:
            steps.append(Step(_when(draw), draw.randrange(nodes), "unsubscribe", number))
    for number in range(draw.randint(10, 40)):
        tags = tuple(tag for tag in TAGS if draw.random() < 0.5) or ("a",)
        size = draw.choice((1, 20, 300, 20_000 if draw.random() < 0.2 else 40))
        step = Step(_when(draw), draw.randrange(nodes), "insert", (f"o{number}", tags, size))
        steps.append(step)
        if draw.random() < 0.15:
            steps.append(Step(min(ACTIVE_S, step.at_s + draw.uniform(0.5, 30.0)), step.node, "delete", f"o{number}"))
    steps += [_fault(draw, nodes) for _ in range(draw.choice((0, 1, 2, 3, 5)))]
    return History(approach, seed, nodes, draw.random() < 0.5, tuple(sorted(steps, key=lambda step: step.at_s)))


def _when(draw: Random) -> float:
    return draw.uniform(8.0, ACTIVE_S)


def _fault(draw: Random, nodes: int) -> Step:
    at_s, node = draw.uniform(5.0, ACTIVE_S - 5.0), draw.randrange(nodes)
    lasts_s = min(draw.choice((1.0, 4.0, 12.0, 20.0, 40.0)), ACTIVE_S - at_s)
    match draw.choice(("kill", "pause", "suspend", "set clock", "part", "weather", "weather", "move")):
        case "set clock":
            return Step(at_s, node, "set clock", draw.choice((-60.0, -2.0, 2.0, 60.0)))
        case "part":
            return Step(at_s, node, "part", draw.randint(1, nodes - 1), lasts_s)
        case "weather":
            weather = Weather(
                0.002,
                draw.choice((0.002, 0.05)),
                draw.choice((0.0, 0.02, 0.1, 0.3)),
                draw.choice((0.0, 0.1)),
                draw.random() < 0.7,
            )
            return Step(at_s, node, "weather", weather, lasts_s)
        case what:
            return Step(at_s, node, what, None, lasts_s)
