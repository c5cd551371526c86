"""What the papers state about their own evaluation, beside what a study measured.

A claim is a number or a range at a place of the axis (or at every place), a ratio of two approaches, or a trend along
the axis. It is judged by a stated rule: a number that is said to be equal holds within TOLERANCE_SHARE (of shares) or
TOLERANCE_OTHER (of anything else, relative), or if the 95 % interval covers it; bounds, ratios and the direction of a
trend hold or not. A trend falls (or grows) if first and last differ by more than TREND_CHANGE of the first, and holds
otherwise. Claims belong to the study of the paper's own setting; other studies are not judged by them.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from typing import Literal

import msgspec

from thyme.study.measures import is_share
from thyme.study.results import Axis, Results, Summary

TOLERANCE_SHARE = 0.02
TOLERANCE_OTHER = 0.2
TREND_CHANGE = 0.05


class Claim(msgspec.Struct, frozen=True):
    """One statement. `approach` and `against` are titles as the study calls them."""

    id: str
    place: str
    approach: str
    metric: str
    relation: str
    value: float | None
    at: float | None
    against: str
    statement: str
    upper: float | None = None
    """Of `between`: from `value` to this."""


class Judgement(msgspec.Struct, frozen=True):
    claim: Claim
    stated: str
    measured: str
    verdict: Literal["holds", "differs"]


def claims_for(results: Results) -> list[Claim]:
    """The claims of the paper about this study and its approaches."""
    definition = results.plan.definition
    # Where an approach runs twice, the paper's statements are about the paper's configuration.
    by_paper = sorted(definition.approaches, key=lambda choice: bool(choice.settings.get("paper")))
    titles = {choice.name: choice.title for choice in by_paper}
    text = files("thyme.study").joinpath("claims.csv").read_text("utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        known = row["approach"] in titles and (not row["against"] or row["against"] in titles)
        if row["study"] == definition.name and known:
            found.append(_claim(row, titles))
    return found


def _claim(row: dict[str, str], titles: dict[str, str]) -> Claim:
    return Claim(
        id=row["id"],
        place=row["place"],
        approach=titles[row["approach"]],
        metric=row["metric"],
        relation=row["relation"],
        value=_number(row["value"]),
        at=_number(row["at"]),
        against=titles.get(row["against"], ""),
        statement=row["statement"],
        upper=_number(row["upper"]),
    )


def judge(claims: Sequence[Claim], results: Results, axis: Axis) -> list[Judgement]:
    """Every claim that the study measured, with what it gave."""
    judged = []
    for claim in claims:
        line = _line(results, axis, claim.approach, claim.metric)
        if claim.at is not None:
            line = {x: summary for x, summary in line.items() if x == claim.at}
        if claim.against:
            other = _line(results, axis, claim.against, claim.metric)
            answer = _judge_ratio(claim, line, other)
        elif claim.relation in ("falls", "grows", "holds"):
            answer = _judge_trend(claim, line)
        else:
            answer = _judge_number(claim, line)
        if answer is not None:
            judged.append(answer)
    return judged


def _line(results: Results, axis: Axis, approach: str, metric: str) -> dict[float, Summary]:
    places = axis.series.get(approach, {})
    return {x: found for x, point in sorted(places.items()) if (found := results.get(point, metric))}


def _judge_number(claim: Claim, line: dict[float, Summary]) -> Judgement | None:
    if not line or claim.value is None:
        return None
    value = claim.value
    worst = max(line.values(), key=lambda summary: _distance(claim, summary, value))
    stated = [value] if claim.upper is None else [value, claim.upper]
    show = "–".join(f"{one:.0%}" if is_share(claim.metric) else f"{one:g}" for one in stated)
    seen = f"{worst.mean:.1%}" if is_share(claim.metric) else f"{worst.mean:.3g}"
    holds = _distance(claim, worst, value) <= 0.0
    return Judgement(claim, f"{_sign(claim.relation)}{show}", seen, "holds" if holds else "differs")


def _distance(claim: Claim, summary: Summary, value: float) -> float:
    """How far from holding: not above 0 means that it holds."""
    match claim.relation:
        case "between":
            return max(value - summary.mean, summary.mean - (claim.upper if claim.upper is not None else value))
        case ">=" | ">":
            return value - summary.mean
        case "<=" | "<":
            return summary.mean - value
        case _:
            if summary.low is not None and summary.high is not None and summary.low <= value <= summary.high:
                return 0.0
            tolerance = TOLERANCE_SHARE if 0.0 <= value <= 1.0 else TOLERANCE_OTHER * abs(value)
            return abs(summary.mean - value) - tolerance


def _judge_ratio(claim: Claim, line: dict[float, Summary], other: dict[float, Summary]) -> Judgement | None:
    ratios = [line[x].mean / other[x].mean for x in line if x in other and other[x].mean > 0.0]
    if not ratios or claim.value is None:
        return None
    worst = min(ratios) if claim.relation.startswith(">") else max(ratios)
    holds = worst > claim.value if claim.relation.startswith(">") else worst < claim.value
    stated = f"{_sign(claim.relation)}{claim.value:g} × {claim.against}"
    return Judgement(claim, stated, f"{worst:.2f} × {claim.against}", "holds" if holds else "differs")


def _judge_trend(claim: Claim, line: dict[float, Summary]) -> Judgement | None:
    if len(line) < 2:
        return None
    first, last = line[min(line)].mean, line[max(line)].mean
    change = (last - first) / first if first else 0.0
    trend = "falls" if change < -TREND_CHANGE else "grows" if change > TREND_CHANGE else "holds"
    seen = f"{first:.1%} → {last:.1%}" if is_share(claim.metric) else f"{first:.3g} → {last:.3g}"
    return Judgement(claim, claim.relation, seen, "holds" if trend == claim.relation else "differs")


def _sign(relation: str) -> str:
    return {">=": "≥ ", "<=": "≤ ", "=": "", "between": ""}.get(relation, f"{relation} ")


def _number(text: str) -> float | None:
    return float(text) if text else None
