"""Which approach to choose in one place of a study.

The rule follows the papers' own words: the best approach has the lowest traffic and latency "while producing high
operations' success ratios" (Thyme FGCS §9). An approach is dependable if enough operations succeed and enough
notifications arrive. Among dependable ones the study's priority decides by its measure: an approach is ruled out if it
is worse than the best in every run that both have played. Of approaches whose runs overlap, one that needs no server
comes first, then the one with the better mean. If none is dependable, the one that delivers most is named, and said not
to suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from thyme.approaches.deciding import Priority
from thyme.approaches.decision_table import DEPENDABLE_RECALL, DEPENDABLE_SUCCESS
from thyme.approaches.registry import find_approach
from thyme.study.plan import StudyPoint
from thyme.study.results import Results, readable
from thyme.study.shown_metrics import AIR_BYTES, ENERGY, NOTIFICATION_LATENCY, RECALL, SUCCESS
from thyme.study.wording import duration, proportion, round_share

MIN_RUNS = 3
"""With fewer runs the variation between runs is unknown."""
NOTICED = 0.005
"""Smaller differences would read as 0 %, and count as none."""
NOTICED_S = 0.1
"""People do not notice shorter delays."""


class Criterion(msgspec.Struct, frozen=True):
    """A measure by which approaches are compared."""

    metric: str
    better: str
    """What the best one does."""
    verb: str
    """What is more or less: `sends`."""
    noun: str
    high_is_good: bool = False
    least: float = 0.0
    """Smaller differences count as none, however large they are in proportion."""

    def lead(self, best: float, other: float) -> float:
        """By how much the first is better than the second: relative, or for shares in points."""
        if self.high_is_good:
            return best - other
        if abs(other - best) <= self.least:
            return 0.0
        return other / best - 1.0 if best > 0.0 else float(other > 0.0)

    def difference(self, one: float, other: float) -> str:
        """The first beside the second, for a reader: `sends 9% less`."""
        if abs(self.lead(one, other)) < NOTICED:
            return f"{self.verb} about as {'much' if self.noun else 'soon'}"
        if self.high_is_good:
            more = "more" if one > other else "less"
            return f"{self.verb} {round_share(abs(one - other))} {more}"
        if self.metric == NOTIFICATION_LATENCY:
            return f"{self.verb} within {duration(one)} instead of {duration(other)}"
        ratio = one / other if other else float("inf")
        return f"{self.verb} {proportion(ratio, ratio, 0.0)}{self.noun}"


TRAFFIC = Criterion(AIR_BYTES, "sends least", "sends", " over the air")
DELAY = Criterion(NOTIFICATION_LATENCY, "notifies soonest", "notifies half of the time", "", least=NOTICED_S)
DELIVERY = Criterion(RECALL, "delivers most notifications", "delivers", " notifications", high_is_good=True)
BATTERY = Criterion(ENERGY, "uses least energy", "uses", " energy")
CRITERIA: dict[Priority, tuple[Criterion, ...]] = {
    "traffic": (TRAFFIC, DELAY),
    "battery": (BATTERY, TRAFFIC, DELAY),
    "delay": (DELAY, TRAFFIC),
    "delivery": (DELIVERY, TRAFFIC, DELAY),
}
"""What decides for each priority; the next one only where the one before finds no difference."""


class Score(msgspec.Struct, frozen=True):
    """An approach at a point, in the numbers that decide."""

    point: int
    approach: str
    needs_server: bool
    success: float
    recall: float
    latency_s: float | None
    air_bytes: float | None
    joules: float | None
    runs: int = 1

    @property
    def dependable(self) -> bool:
        return self.success >= DEPENDABLE_SUCCESS and self.recall >= DEPENDABLE_RECALL

    def value(self, criterion: Criterion) -> float | None:
        return {
            AIR_BYTES: self.air_bytes, NOTIFICATION_LATENCY: self.latency_s, RECALL: self.recall, ENERGY: self.joules
        }[criterion.metric]  # fmt: skip


class Choice(msgspec.Struct, frozen=True):
    """What is chosen in one place, and the approaches that its runs do not separate from it."""

    variation: str
    values: dict[str, Any]
    scores: tuple[Score, ...]
    best: tuple[Score, ...]
    """The chosen one first."""
    decided_by: Criterion | None = None
    """The criterion that ruled out the last of the others."""

    @property
    def chosen(self) -> Score:
        return self.best[0]

    @property
    def suffices(self) -> bool:
        return self.chosen.dependable

    def of(self, approach: str) -> Score | None:
        return next((score for score in self.scores if score.approach == approach), None)


def choices(results: Results) -> list[Choice]:
    """One for each place of the grid and each variation in which an approach has a result."""
    places: dict[tuple[str, str], list[int]] = {}
    for number, point in enumerate(results.points):
        places.setdefault((point.variation, readable(point.values)), []).append(number)
    found = []
    for numbers in places.values():
        scores = [score for number in numbers if (score := _score(results, number)) is not None]
        if scores:
            found.append(choose(results, results.points[numbers[0]], scores))
    return found


def choose(results: Results, place: StudyPoint, scores: Sequence[Score]) -> Choice:
    dependable = [score for score in scores if score.dependable]
    if not dependable:
        most = max(scores, key=lambda score: score.success * score.recall)
        return Choice(place.variation, place.values, tuple(scores), (most,))
    criteria = CRITERIA[results.plan.definition.priority]
    decided_by, best = None, dependable
    for criterion in criteria:
        leader = min(best, key=lambda score: _order(score, criterion))
        left = [score for score in best if score is leader or not _worse(results, score, leader, criterion)]
        decided_by = criterion if len(left) < len(best) else decided_by
        best = left
    first = sorted(best, key=lambda score: (score.needs_server, _order(score, criteria[0])))
    return Choice(place.variation, place.values, tuple(scores), tuple(first), decided_by)


def _order(score: Score, criterion: Criterion) -> float:
    """Smaller is better; an approach without the measure comes last."""
    value = score.value(criterion)
    return float("inf") if value is None else -value if criterion.high_is_good else value


def _worse(results: Results, score: Score, leader: Score, criterion: Criterion) -> bool:
    """Whether an approach is worse than the leader in the mean and in every run that both have played."""
    value, best = score.value(criterion), leader.value(criterion)
    if value is None or best is None or criterion.lead(best, value) < NOTICED:
        return False
    ours, theirs = (results.of_runs(one.point, criterion.metric) for one in (score, leader))
    return all(criterion.lead(theirs[run], ours[run]) > 0.0 for run in ours.keys() & theirs.keys())


def _score(results: Results, point: int) -> Score | None:
    success, recall = results.get(point, SUCCESS), results.get(point, RECALL)
    if success is None or recall is None:
        return None
    title = results.points[point].approach
    name = next(choice.name for choice in results.plan.definition.approaches if choice.title == title)
    return Score(
        point=point,
        approach=title,
        needs_server=find_approach(name).capabilities.needs_server,
        success=success.mean,
        recall=recall.mean,
        latency_s=results.mean(point, NOTIFICATION_LATENCY),
        air_bytes=results.mean(point, AIR_BYTES),
        joules=results.mean(point, ENERGY),
        runs=recall.runs,
    )
