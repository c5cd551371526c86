"""The results of a study: for each point of its plan and each metric, what its runs gave.

Kept in `metrics.csv`: one line per point and metric, with the grid's columns first. Numbers are written with nine
digits, which is more than runs agree on and fewer than the order of an addition can change.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from scipy import stats

from thyme.study.plan import Plan, Point

CONFIDENCE = 0.95
SUMMARY_NAMES = ("metric", "mean", "deviation", "low", "high", "runs")


class Summary(msgspec.Struct, frozen=True):
    """Several runs of one point in one number and its 95 % interval (Student's t); of a single run, no interval."""

    mean: float
    deviation: float
    low: float
    high: float
    runs: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2 if self.runs > 1 else 0.0


def summarise(values: Sequence[float]) -> Summary:
    """The summary of one metric's values, in whatever order they come."""
    ordered = sorted(values)
    runs = len(ordered)
    mean = math.fsum(ordered) / runs
    if runs == 1:
        return Summary(mean, math.nan, math.nan, math.nan, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / (runs - 1))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, runs - 1)) * deviation / math.sqrt(runs)
    return Summary(mean, deviation, mean - half, mean + half, runs)


class Results:
    """What a study measured, by point and metric."""

    def __init__(self, plan: Plan, measured: Iterable[tuple[int, str, float]]) -> None:
        self.plan = plan
        values: dict[tuple[int, str], list[float]] = {}
        for point, metric, value in measured:
            if not math.isnan(value):
                values.setdefault((point, metric), []).append(value)
        self._summaries = {key: summarise(values[key]) for key in sorted(values)}

    @property
    def points(self) -> tuple[Point, ...]:
        return self.plan.points

    @property
    def metrics(self) -> list[str]:
        return sorted({metric for _, metric in self._summaries})

    def get(self, point: int, metric: str) -> Summary | None:
        return self._summaries.get((point, metric))

    def mean(self, point: int, metric: str) -> float | None:
        found = self.get(point, metric)
        return None if found is None else found.mean

    def rows(self) -> list[dict[str, str]]:
        """The lines of `metrics.csv`, in the order of points and metrics."""
        return [
            {name: _cell(value) for name, value in self.points[point].columns().items()}
            | {"metric": metric}
            | {name: _cell(value) for name, value in msgspec.structs.asdict(summary).items()}
            for (point, metric), summary in self._summaries.items()
        ]

    def csv(self) -> str:
        columns = ["approach", *self.plan.definition.grid, *SUMMARY_NAMES]
        sink = io.StringIO()
        writer = csv.DictWriter(sink, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return sink.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.9g}"


class Axis(msgspec.Struct, frozen=True):
    """The grid key along which figures are drawn, its values, and the series: points that differ in anything else."""

    key: str
    values: tuple[float, ...]
    series: dict[str, dict[float, int]]
    """For each series' name, the point at each value."""

    @property
    def is_line(self) -> bool:
        return len(self.values) > 1


def axis_of(plan: Plan) -> Axis:
    """Along the first key of the grid that has several numbers; with none, all points stand at one place."""
    grid = plan.definition.grid
    key = next((key for key, values in grid.items() if len(values) > 1 and _numbers(values)), "")
    others = [name for name, values in grid.items() if name != key and len(values) > 1]
    series: dict[str, dict[float, int]] = {}
    for number, point in enumerate(plan.points):
        name = ", ".join([point.approach, *(f"{other} {point.values[other]}" for other in others)])
        series.setdefault(name, {})[float(point.values[key]) if key else 0.0] = number
    values = tuple(float(value) for value in grid[key]) if key else (0.0,)
    return Axis(key, values, series)


def _numbers(values: Iterable[object]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def readable(columns: Mapping[str, object]) -> str:
    """Grid values for a person: `nodes 36, churn.fraction 0.2`."""
    return ", ".join(f"{key} {value}" for key, value in columns.items())
