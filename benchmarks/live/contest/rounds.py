"""Rounds: all contenders in turns, several times, and what the rounds say together.

On a shared machine one round differs from the next by more than one version of a program from the next. So a ratio is
always to a contender of the same round, and the report gives the median over the rounds, with minimum and maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import msgspec

from benchmarks.live.contest.brokers import Mosquitto, Nats, Redis
from benchmarks.live.contest.contender import Contender
from benchmarks.live.contest.floors import BareUdp, Zenoh
from benchmarks.live.contest.measuring import Figures, Plan, measure
from benchmarks.live.contest.nodes import UNSIGNED, Nodes

CONTENDERS: tuple[Callable[[], Contender], ...] = (
    BareUdp,
    Zenoh,
    Nats,
    Mosquitto,
    Redis,
    partial(Nodes, "ls", signed=False),
    partial(Nodes, "ls"),
    partial(Nodes, "dcs", signed=False),
    partial(Nodes, "dcs"),
    partial(Nodes, "dcs", dies=True),
)
Round = list[Figures]


class Spread(msgspec.Struct, frozen=True):
    """One figure over the rounds in which it was measured."""

    median: float
    least: float
    most: float
    rounds: int


def play(
    plan: Plan, rounds: int, tell: Callable[[str], None] = lambda name: None, only: Sequence[str] = ()
) -> list[Round]:
    """The measurements of each round; empty if no contender has such a name."""
    chosen = [find for find in CONTENDERS if _is_named(find().name, only)]
    played = []
    for number in range(rounds if chosen else 0):
        found = []
        for find in chosen:
            contender = find()
            tell(contender.name if rounds == 1 else f"round {number + 1} of {rounds}: {contender.name}")
            found.append(measure(contender, find, plan))
        compare(found)
        played.append(found)
    return played


def compare(found: Round) -> None:
    """Note how each did beside others of the same round."""
    by_name = {figures.name: figures for figures in found}
    zenoh, jetstream = by_name.get(Zenoh.name), by_name.get(Nats.name)
    for figures in found:
        figures.p50_times = _times(figures.p50_s, zenoh.p50_s if zenoh else None)
        figures.past_times = _times(figures.past_s, jetstream.past_s if jetstream else None)
        plain = by_name.get(figures.name + UNSIGNED)
        if plain is not None and plain.p50_s is not None and figures.p50_s is not None:
            figures.signing_s = figures.p50_s - plain.p50_s


def of(name: str, rounds: Sequence[Round]) -> Round:
    """One contender's figures, round by round."""
    return [figures for found in rounds for figures in found if figures.name == name]


def spread(found: Round, measured: str) -> Spread | None:
    """A field of the figures over the rounds; None if it was measured in none."""
    values = [value for figures in found if (value := getattr(figures, measured)) is not None]
    return Spread(median(values), min(values), max(values), len(values)) if values else None


def _is_named(name: str, only: Sequence[str]) -> bool:
    return not only or any(part.lower() in name.lower() for part in only)


def _times(value_s: float | None, other_s: float | None) -> float | None:
    return None if value_s is None or not other_s else value_s / other_s
