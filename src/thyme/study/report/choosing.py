"""Which approach to choose in one place of a study, and whether the runs suffice to say so.

The rule follows the papers' own words: the best approach has the lowest traffic and latency "while producing high
operations' success ratios" (Thyme FGCS §9). An approach is dependable if enough operations succeed and enough
notifications arrive. Among the dependable ones the study's criteria decide, one after the other; each rules out those
that are clearly worse than the best by it. Clearly means: by more than a person would care about, and in every run
that both have played; with fewer than MIN_RUNS runs nobody knows how much runs differ, so that only a large difference
counts. Those that remain cannot be told apart. If none is dependable, the one that brings most is named, and said not
to suffice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from thyme.approaches.deciding import DEPENDABLE_RECALL, DEPENDABLE_SUCCESS, Matters
from thyme.study.plan import Point
from thyme.study.results import Results, readable
from thyme.study.shown_metrics import AIR_BYTES, NOTIFICATION_LATENCY, RECALL, SUCCESS

MIN_RUNS = 3
"""With fewer, a difference has to exceed the criterion's `doubtful` to count."""


class Criterion(msgspec.Struct, frozen=True):
    """One thing by which approaches are compared."""

    metric: str
    better: str
    """What the best one does, in words."""
    margin: float
    """A difference that matters: relative, or for shares in points."""
    doubtful: float
    """The same where there are too few runs to know how much runs differ."""
    high_is_good: bool = False
    least: float = 0.0
    """Smaller differences than this are nobody's concern, however large they are in relation."""

    def lead(self, best: float, other: float) -> float:
        """By how much the best one is better."""
        if self.high_is_good:
            return best - other
        if other - best <= self.least:
            return 0.0
        return other / best - 1.0 if best > 0.0 else float("inf")


TRAFFIC = Criterion(AIR_BYTES, "sends least", margin=0.10, doubtful=0.50)
SOON = Criterion(NOTIFICATION_LATENCY, "notifies soonest", margin=0.10, doubtful=0.50, least=0.1)
ARRIVAL = Criterion(RECALL, "brings most notifications", margin=0.01, doubtful=0.10, high_is_good=True)
CRITERIA: dict[Matters, tuple[Criterion, ...]] = {
    "battery": (TRAFFIC, SOON),
    "soon": (SOON, TRAFFIC),
    "arrival": (ARRIVAL, TRAFFIC, SOON),
}


class Score(msgspec.Struct, frozen=True):
    """An approach at a point, in the numbers that decide."""

    point: int
    approach: str
    success: float
    recall: float
    latency_s: float | None
    air_bytes: float | None
    runs: int = 1

    @property
    def dependable(self) -> bool:
        return self.success >= DEPENDABLE_SUCCESS and self.recall >= DEPENDABLE_RECALL


class Choice(msgspec.Struct, frozen=True):
    """What is chosen in one place: all that cannot be told apart."""

    scene: str
    values: dict[str, Any]
    scores: tuple[Score, ...]
    best: tuple[Score, ...]
    decided_by: str = ""
    """What the last criterion that ruled somebody out was."""

    @property
    def chosen(self) -> Score:
        return self.best[0]

    @property
    def names(self) -> list[str]:
        return [score.approach for score in self.best]

    @property
    def suffices(self) -> bool:
        return self.chosen.dependable

    def of(self, approach: str) -> Score | None:
        return next((score for score in self.scores if score.approach == approach), None)


def choices(results: Results) -> list[Choice]:
    """One for each place of the grid and each scene in which an approach has a result."""
    places: dict[tuple[str, str], list[int]] = {}
    for number, point in enumerate(results.points):
        places.setdefault((point.scene, readable(point.values)), []).append(number)
    found = []
    for numbers in places.values():
        scores = [score for number in numbers if (score := _score(results, number)) is not None]
        if scores:
            found.append(choose(results, results.points[numbers[0]], scores))
    return found


def choose(results: Results, place: Point, scores: Sequence[Score]) -> Choice:
    dependable = [score for score in scores if score.dependable]
    if not dependable:
        most = max(scores, key=lambda score: score.success * score.recall)
        return Choice(place.scene, place.values, tuple(scores), (most,))
    decided_by = ""
    best = dependable
    for criterion in CRITERIA[results.plan.definition.matters]:
        left = list(_not_clearly_worse(results, best, criterion))
        decided_by = criterion.better if len(left) < len(best) else decided_by
        best = left
    return Choice(place.scene, place.values, tuple(scores), tuple(best), decided_by)


def _not_clearly_worse(results: Results, scores: Sequence[Score], criterion: Criterion) -> Iterator[Score]:
    known = [score for score in scores if results.mean(score.point, criterion.metric) is not None]
    if not known:
        yield from scores
        return
    pick = max if criterion.high_is_good else min
    best = pick(known, key=lambda score: results.mean(score.point, criterion.metric) or 0.0)
    for score in scores:
        if score is best or not clearly_worse(results, score.point, best.point, criterion):
            yield score


def clearly_worse(results: Results, point: int, best: int, criterion: Criterion) -> bool:
    mean, best_mean = results.mean(point, criterion.metric), results.mean(best, criterion.metric)
    if mean is None or best_mean is None:
        return False
    ours, theirs = results.of_runs(point, criterion.metric), results.of_runs(best, criterion.metric)
    shared = sorted(ours.keys() & theirs.keys())
    lead = criterion.lead(best_mean, mean)
    if len(shared) < MIN_RUNS:
        return lead > criterion.doubtful
    return lead > criterion.margin and all(criterion.lead(theirs[run], ours[run]) > 0.0 for run in shared)


def _score(results: Results, point: int) -> Score | None:
    success, recall = results.get(point, SUCCESS), results.get(point, RECALL)
    if success is None or recall is None:
        return None
    latency_s, air_bytes = results.mean(point, NOTIFICATION_LATENCY), results.mean(point, AIR_BYTES)
    approach = results.points[point].approach
    return Score(point, approach, success.mean, recall.mean, latency_s, air_bytes, recall.runs)
