"""What a paper states about its own evaluation, and how it is judged beside what was measured here.

`Claim` is the one record of a statement, whichever paper makes it. Two rules judge it. A `Bound` is a number, a range
or a ratio, and has to hold wherever it was measured: a number that is said to be equal holds within its tolerance;
where the paper leaves that open, within TOLERANCE_SHARE (of shares) or TOLERANCE_OTHER (of anything else, relative), or
if the 95 % interval covers it. A `Trend` is a direction from the first place of a line to its last. A statement for
which nothing was run is not tested. An `Expectation` says which part of a study tests a claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from thyme.study.results import Axis, Results, Summary
from thyme.study.wording import round_share, share

TOLERANCE_SHARE = 0.02
TOLERANCE_OTHER = 0.2
TREND_CHANGE = 0.05
Verdict = Literal["holds", "differs", "not tested"]
Relation = Literal["=", ">=", ">", "<=", "<", "between"]
Direction = Literal["falls", "grows", "holds"]
Found = Summary | float
"""What was measured in one place: with its interval, or a number that has none."""
SIGNS: dict[Relation, str] = {">=": "≥ ", "<=": "≤ ", ">": "> ", "<": "< "}


class Bound(msgspec.Struct, frozen=True, tag="bound"):
    relation: Relation
    value: float
    upper: float | None = None
    """Of `between`: from `value` to this."""
    near: float | None = None
    """How far a number may be from one that it is said to equal; the rule above if not given."""
    is_share: bool = False
    against: str = ""
    """What the number is a ratio to, if it is one."""

    def holds(self, line: Sequence[Found]) -> bool:
        """Whether it holds in every place."""
        return all(self._holds(found) for found in line)

    def _holds(self, found: Found) -> bool:
        match self.relation:
            case ">":
                return _mean(found) > self.value
            case "<":
                return _mean(found) < self.value
            case _:
                return self.distance(found) <= 0.0

    def distance(self, found: Found) -> float:
        """How far from holding, not above 0 where it holds."""
        mean = _mean(found)
        match self.relation:
            case "between":
                return max(self.value - mean, mean - (self.value if self.upper is None else self.upper))
            case ">=" | ">":
                return self.value - mean
            case "<=" | "<":
                return mean - self.value
        if self.near is not None:
            return abs(mean - self.value) - self.near
        if isinstance(found, Summary) and found.covers(self.value):
            return 0.0
        tolerance = TOLERANCE_SHARE if 0.0 <= self.value <= 1.0 else TOLERANCE_OTHER * abs(self.value)
        return abs(mean - self.value) - tolerance

    def stated(self) -> str:
        ends = [end for end in (self.value, self.upper) if end is not None]
        shown = "–".join(round_share(end) if self.is_share else f"{end:g}" for end in ends)
        return f"{SIGNS.get(self.relation, '')}{shown}{self._times}"

    def told(self, line: Sequence[Found]) -> str:
        """The place that is farthest from holding."""
        worst = _mean(max(line, key=self.distance))
        if self.against:
            return f"{worst:.2f}{self._times}"
        return share(worst) if self.is_share else f"{worst:.3g}"

    @property
    def _times(self) -> str:
        return f" × {self.against}" if self.against else ""


class Trend(msgspec.Struct, frozen=True, tag="trend"):
    direction: Direction
    change: float = TREND_CHANGE
    """The share of the first by which the last has to differ."""
    is_share: bool = False

    def holds(self, line: Sequence[Found]) -> bool:
        first, last = _mean(line[0]), _mean(line[-1])
        least = self.change * abs(first)
        seen = "falls" if last - first < -least else "grows" if last - first > least else "holds"
        return seen == self.direction

    def stated(self) -> str:
        return self.direction

    def told(self, line: Sequence[Found]) -> str:
        ends = (_mean(line[0]), _mean(line[-1]))
        return " → ".join(share(end) if self.is_share else f"{end:.3g}" for end in ends)


class Claim(msgspec.Struct, frozen=True):
    """A statement of a paper, the rule that judges it, and the result here."""

    id: str
    place: str
    """Where the paper makes it: a section or a figure."""
    statement: str
    rule: Bound | Trend | None = None
    """None where a statement is judged by several numbers at once, each by a rule."""
    subject: str = ""
    """The approach that it is about, where a study has several."""
    measured: str = ""
    verdict: Verdict = "not tested"

    @property
    def stated(self) -> str:
        return "" if self.rule is None else self.rule.stated()

    @property
    def holds(self) -> bool:
        return self.verdict == "holds"

    def judged(self, measured: str, holds: bool) -> Claim:
        return msgspec.structs.replace(self, measured=measured, verdict="holds" if holds else "differs")

    def judged_by_rule(self, line: Sequence[Found]) -> Claim:
        """With what was measured along a line; of too few places it stays untested."""
        if self.rule is None or len(line) < (2 if isinstance(self.rule, Trend) else 1):
            return self
        return self.judged(self.rule.told(line), self.rule.holds(line))


def those_tested(claims: Iterable[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.verdict != "not tested"]


def agreement(claims: Iterable[Claim]) -> str:
    """How many of those that were tested hold, in a sentence."""
    judged = those_tested(claims)
    return f"{sum(claim.holds for claim in judged)} of {len(judged)} statements of the paper hold here too."


def _mean(found: Found) -> float:
    return found.mean if isinstance(found, Summary) else found


class Expectation(msgspec.Struct, frozen=True):
    """`approach` and `against` are titles as the study calls them."""

    claim: Claim
    approach: str
    metric: str
    at: float | None = None
    """The place on the axis; every place if none is given."""
    against: str = ""
    """The approach that this one's metric is compared with, as a ratio."""


def judge_study(expectations: Sequence[Expectation], results: Results, axis: Axis) -> list[Claim]:
    """Every claim, with what the study gave."""
    return [_judge_one(expected, results, axis) for expected in expectations]


def _judge_one(expected: Expectation, results: Results, axis: Axis) -> Claim:
    line = _line(results, axis, expected.approach, expected.metric)
    if expected.at is not None:
        line = {x: summary for x, summary in line.items() if x == expected.at}
    if not expected.against:
        return expected.claim.judged_by_rule(list(line.values()))
    other = _line(results, axis, expected.against, expected.metric)
    ratios = [line[x].mean / other[x].mean for x in line if x in other and other[x].mean > 0.0]
    return expected.claim.judged_by_rule(ratios)


def _line(results: Results, axis: Axis, approach: str, metric: str) -> dict[float, Summary]:
    places = axis.series.get(approach, {})
    return {x: found for x, point in sorted(places.items()) if (found := results.get(point, metric))}
