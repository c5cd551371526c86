"""What is wanted of live nodes beside others, and in how many rounds they reached it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from benchmarks.live.contest.nodes import DEAD
from benchmarks.live.contest.rounds import Round, of

LS, DCS = "Thyme-LS", "Thyme-DCS"


class Bound(msgspec.Struct, frozen=True):
    """A figure of a contender must be at most, or at least, this value."""

    name: str
    measured: str
    """A field of the figures."""
    most: float | None = None
    least: float | None = None

    def reached(self, value: float) -> bool:
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)


class Verdict(msgspec.Struct, frozen=True):
    bound: Bound
    reached: int
    rounds: int
    """In which it was measured."""


WANTED = (
    Bound(LS, "p50_times", most=2.0),
    Bound(DCS, "p50_times", most=3.0),
    Bound(LS, "signing_s", most=100e-6),
    Bound(DCS, "signing_s", most=100e-6),
    Bound(LS, "per_s", least=10_000.0),
    Bound(DCS, "per_s", least=10_000.0),
    Bound(LS, "cpu_s", most=73e-6),
    Bound(DCS, "cpu_s", most=165e-6),
    Bound(LS, "kept_per_s", least=5_000.0),
    Bound(DCS, "kept_per_s", least=5_000.0),
    Bound(LS, "past_times", most=1.5),
    Bound(DCS, "past_times", most=1.5),
    Bound(DCS + DEAD, "past_times", most=1.5),
)


def judge(rounds: Sequence[Round], wanted: Sequence[Bound] = WANTED) -> list[Verdict]:
    """Of the bounds on whatever was measured."""
    verdicts = []
    for bound in wanted:
        values = [value for found in of(bound.name, rounds) if (value := getattr(found, bound.measured)) is not None]
        if values:
            verdicts.append(Verdict(bound, sum(map(bound.reached, values)), len(values)))
    return verdicts
