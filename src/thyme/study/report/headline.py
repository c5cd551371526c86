"""The headline: which approach to choose for this crowd, and why, by rules that the report states.

The rule follows the papers' own words: the best approach has the lowest traffic and latency "while producing high
operations' success ratios" (Thyme FGCS §9). At each point of the grid an approach is dependable if enough operations
succeed and enough notifications arrive. Among the dependable ones the cheapest on the air is chosen; if others cost
hardly more, the fastest of them. If none is dependable, the one that brings most is named, and said not to suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from thyme.study.results import Results, readable
from thyme.study.shown_metrics import AIR_BYTES, NOTIFICATION_LATENCY, RECALL, SUCCESS
from thyme.study.wording import duration, round_share, share, span

DEPENDABLE_SUCCESS = 0.95
DEPENDABLE_RECALL = 0.90
HARDLY_MORE = 0.10
"""Approaches within this share of the cheapest traffic count as equally cheap."""

RULES = (
    (
        f"An approach is dependable where at least {round_share(DEPENDABLE_SUCCESS)} of operations succeed and at "
        f"least {round_share(DEPENDABLE_RECALL)} of expected notifications arrive."
    ),
    (
        f"Among dependable approaches, the one with the least traffic on the air is chosen; if others need at most "
        f"{round_share(HARDLY_MORE)} more, the one of them that notifies soonest."
    ),
    (
        "Where no approach is dependable, the one with the largest product of success and recall is named as the "
        "best of those that do not suffice."
    ),
    "The answer for the whole study is the approach that is chosen at most points; its exceptions are listed.",
)


class Score(msgspec.Struct, frozen=True):
    """An approach at a point, in the four numbers that decide."""

    point: int
    approach: str
    success: float
    recall: float
    latency_s: float | None
    air_bytes: float | None

    @property
    def dependable(self) -> bool:
        return self.success >= DEPENDABLE_SUCCESS and self.recall >= DEPENDABLE_RECALL


class Choice(msgspec.Struct, frozen=True):
    """What is chosen in one place of the grid."""

    values: dict[str, Any]
    scores: tuple[Score, ...]
    chosen: Score

    @property
    def suffices(self) -> bool:
        return self.chosen.dependable


class Headline(msgspec.Struct, frozen=True):
    answer: str
    reasons: tuple[str, ...]
    choices: tuple[Choice, ...]


def headline(results: Results) -> Headline:
    choices = _choices(results)
    if not choices:
        return Headline("No run finished, so there is nothing to choose from.", (), ())
    counts: dict[str, int] = {}
    for choice in choices:
        counts[choice.chosen.approach] = counts.get(choice.chosen.approach, 0) + 1
    winner = max(counts, key=lambda approach: counts[approach])
    return Headline(_answer(winner, choices), tuple(_reasons(winner, choices)), tuple(choices))


def _choices(results: Results) -> list[Choice]:
    places: dict[str, list[int]] = {}
    for number, point in enumerate(results.points):
        places.setdefault(readable(point.values), []).append(number)
    choices = []
    for numbers in places.values():
        scores = [score for number in numbers if (score := _score(results, number)) is not None]
        if scores:
            choices.append(Choice(results.points[numbers[0]].values, tuple(scores), choose(scores)))
    return choices


def _score(results: Results, point: int) -> Score | None:
    success, recall = results.mean(point, SUCCESS), results.mean(point, RECALL)
    if success is None or recall is None:
        return None
    latency_s, air_bytes = results.mean(point, NOTIFICATION_LATENCY), results.mean(point, AIR_BYTES)
    return Score(point, results.points[point].approach, success, recall, latency_s, air_bytes)


def choose(scores: Sequence[Score]) -> Score:
    """By the rules above; equal ones by their order."""
    dependable = [score for score in scores if score.dependable]
    if not dependable:
        return max(scores, key=lambda score: score.success * score.recall)
    least = min(score.air_bytes or 0.0 for score in dependable)
    cheap = [score for score in dependable if (score.air_bytes or 0.0) <= least * (1.0 + HARDLY_MORE)]
    return min(cheap, key=lambda score: (score.latency_s is None, score.latency_s or 0.0))


def _answer(winner: str, choices: Sequence[Choice]) -> str:
    single = all(len(choice.scores) == 1 for choice in choices)
    won = [choice for choice in choices if choice.chosen.approach == winner]
    enough = [choice for choice in won if choice.suffices]
    if single and len(enough) == len(choices):
        return f"{winner} works for this crowd: it is dependable at every point measured."
    if single and enough:
        return f"{winner} is dependable at {len(enough)} of {len(choices)} points, and not at the others."
    if single or not enough:
        best = f"{winner} comes closest" if not single else f"{winner} alone"
        return f"No approach measured is dependable for this crowd; {best} does not suffice."
    if len(won) == len(choices):
        return f"Choose {winner} for this crowd."
    return f"Choose {winner}: it is the best choice at {len(won)} of {len(choices)} points."


def _reasons(winner: str, choices: Sequence[Choice]) -> list[str]:
    own = [score for choice in choices for score in choice.scores if score.approach == winner]
    succeed, arrive = _shares([score.success for score in own]), _shares([score.recall for score in own])
    reasons = [f"{succeed} of its operations succeed and {arrive} of the expected notifications arrive."]
    latencies = [score.latency_s for score in own if score.latency_s is not None]
    if latencies:
        reasons.append(f"A notification takes {span(duration(min(latencies)), duration(max(latencies)))} on average.")
    reasons.extend(_compare(winner, choices))
    for choice in choices:
        where = readable(choice.values) or "the only point"
        if choice.chosen.approach != winner:
            reasons.append(f"At {where}, {choice.chosen.approach} is the better choice: {why(choice)}.")
        elif not choice.suffices:
            reasons.append(f"At {where} it does not suffice: {why(choice)}.")
    return reasons


def _compare(winner: str, choices: Sequence[Choice]) -> list[str]:
    """The winner's traffic beside each other approach's, over the points where both were measured."""
    ratios: dict[str, list[float]] = {}
    undependable: dict[str, int] = {}
    for choice in choices:
        own = next((score for score in choice.scores if score.approach == winner), None)
        for score in choice.scores:
            if own is None or score is own:
                continue
            undependable[score.approach] = undependable.get(score.approach, 0) + (not score.dependable)
            if own.air_bytes and score.air_bytes:
                ratios.setdefault(score.approach, []).append(score.air_bytes / own.air_bytes)
    sentences = []
    for approach, values in ratios.items():
        low, high = min(values), max(values)
        times = span(f"{low:.1f}", f"{high:.1f}")
        failing = undependable.get(approach, 0)
        weak = f", and is not dependable at {failing} of {len(values)} points" if failing else ""
        sentences.append(f"{approach} sends {times} times as much over the air{weak}.")
    return sentences


def why(choice: Choice) -> str:
    """What decided at this point."""
    chosen = choice.chosen
    if not chosen.dependable:
        return f"{share(chosen.success)} of operations succeed and {share(chosen.recall)} of notifications arrive"
    if len(choice.scores) == 1:
        return "the only one measured"
    dependable = [score for score in choice.scores if score.dependable]
    if len(dependable) == 1:
        return "the only dependable one"
    least = min(dependable, key=lambda score: score.air_bytes or 0.0)
    return "the least traffic of the dependable ones" if least is chosen else "the soonest of those with least traffic"


def _shares(values: Sequence[float]) -> str:
    return span(share(min(values)), share(max(values)))
