"""The results of a study: for each point of its plan and each metric, what its runs gave.

Kept in `metrics.csv`: one line per point and metric, with the grid's columns first. Numbers are written with nine
digits, which is more than runs agree on and fewer than the order of an addition can change.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from math import isfinite, sqrt

import msgspec

from thyme.pipeline.metrics.intervals import rank_of
from thyme.study.plan import VARIATION_COLUMN, Plan, StudyPoint

SUMMARY_NAMES = ("metric", "mean", "deviation", "low", "high", "runs")


OfRuns = Mapping[tuple[int, int], float]
"""Of a point: by topology and repetition, which all approaches share."""


class Summary(msgspec.Struct, frozen=True):
    """Several runs of one point in one number and its interval; a single run has neither that nor a deviation."""

    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    runs: int

    def covers(self, value: float) -> bool:
        """Whether a value is in the interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2 if self.high is not None and self.low is not None else 0.0


def summary_of(values: Iterable[float]) -> Summary | None:
    """The summary of some values, computed as the pipeline does for runs; None without any."""
    found = sorted(value for value in values if isfinite(value))
    if not found:
        return None
    mean = sum(found) / len(found)
    if len(found) == 1:
        return Summary(mean, None, None, None, 1)
    deviation = sqrt(sum((value - mean) ** 2 for value in found) / (len(found) - 1))
    rank = rank_of(len(found))
    return Summary(mean, deviation, found[rank - 1], found[-rank], len(found))


class Results:
    """What a study measured, by point and metric."""

    def __init__(
        self,
        plan: Plan,
        summaries: Mapping[tuple[int, str], Summary],
        of_runs: Mapping[tuple[int, str], OfRuns] | None = None,
    ) -> None:
        self.plan = plan
        self._summaries = {key: summaries[key] for key in sorted(summaries)}
        self._of_runs = of_runs or {}

    @property
    def points(self) -> tuple[StudyPoint, ...]:
        return self.plan.points

    @property
    def metrics(self) -> list[str]:
        return sorted({metric for _, metric in self._summaries})

    def get(self, point: int, metric: str) -> Summary | None:
        return self._summaries.get((point, metric))

    def mean(self, point: int, metric: str) -> float | None:
        found = self.get(point, metric)
        return None if found is None else found.mean

    def of_runs(self, point: int, metric: str) -> OfRuns:
        """What each run gave, of the metrics that decide; approaches are compared run by run."""
        return self._of_runs.get((point, metric), {})

    def rows(self) -> list[dict[str, str]]:
        """The lines of `metrics.csv`, in the order of points and metrics."""
        return [
            tidy_row(self.points[point].columns(), metric, summary)
            for (point, metric), summary in self._summaries.items()
        ]

    def csv(self) -> str:
        return tidy_csv(["approach", *self.plan.columns], self.rows())


def csv_text(names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return sink.getvalue()


def tidy_csv(columns: Iterable[str], rows: Iterable[Mapping[str, str]]) -> str:
    """`metrics.csv`: the given columns, then those of a summary."""
    names = [*columns, *SUMMARY_NAMES]
    return csv_text(names, ([row.get(name, "") for name in names] for row in rows))


def tidy_row(columns: Mapping[str, object], metric: str, summary: Summary) -> dict[str, str]:
    cells = {**columns, "metric": metric, **msgspec.structs.asdict(summary)}
    return {name: tidy_cell(value) for name, value in cells.items()}


def tidy_cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


class Axis(msgspec.Struct, frozen=True):
    """The grid key along which figures are drawn, its values, and the series: points that differ in anything else."""

    key: str
    values: tuple[float, ...]
    series: dict[str, dict[float, int]]
    """For each series' name, the point at each value."""
    labels: tuple[str, ...] = ()
    """Where values only number the places: the name of each place."""

    @property
    def is_line(self) -> bool:
        return len(self.values) > 1 and not self.labels


def axis_of(plan: Plan) -> Axis:
    """Of the crowd that was asked about, along the first grid key with several numbers, or the first with one; without
    any, all points are at one place."""
    grid = plan.definition.grid
    numeric = [key for key, values in grid.items() if _numbers(values)]
    key = next((key for key in numeric if len(grid[key]) > 1), next(iter(numeric), ""))
    others = [name for name, values in grid.items() if name != key and len(values) > 1]
    series: dict[str, dict[float, int]] = {}
    for number, point in enumerate(plan.points):
        if point.asked:
            name = ", ".join([point.approach, *(f"{other} {point.values[other]}" for other in others)])
            series.setdefault(name, {})[float(point.values[key]) if key else 0.0] = number
    values = tuple(float(value) for value in grid[key]) if key else (0.0,)
    return Axis(key, values, series)


def variation_axis(plan: Plan) -> Axis | None:
    """The variations side by side, at the first value of each grid key; None if a study has none."""
    variations = tuple(dict.fromkeys(point.variation for point in plan.points))
    if len(variations) < 2:
        return None
    series: dict[str, dict[float, int]] = {}
    for number, point in enumerate(plan.points):
        if not point.asked or point.values == plan.points[0].values:
            series.setdefault(point.approach, {})[float(variations.index(point.variation))] = number
    return Axis(VARIATION_COLUMN, tuple(map(float, range(len(variations)))), series, variations)


def _numbers(values: Iterable[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def readable(columns: Mapping[str, object]) -> str:
    """Grid values for a person: `nodes 36, churn.fraction 0.2`."""
    return ", ".join(f"{key} {value}" for key, value in columns.items())
