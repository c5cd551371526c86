"""What a paper lets one expect of a study's metrics: its claims, each with the place of the study that tests it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.study.claims import Claim
from thyme.study.results import Axis, Results, Summary


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
    return [_judge(expected, results, axis) for expected in expectations]


def _judge(expected: Expectation, results: Results, axis: Axis) -> Claim:
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
