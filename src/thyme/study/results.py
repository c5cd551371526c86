"""The results of a study: for each point of its plan and each metric, what its runs gave.

Kept in `metrics.csv`: one line per point and metric, with the grid's columns first. Numbers are written with nine
digits, which is more than runs agree on and fewer than the order of an addition can change.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

import msgspec

from thyme.study.plan import Plan, Point

SUMMARY_NAMES = ("metric", "mean", "deviation", "low", "high", "runs")


class Summary(msgspec.Struct, frozen=True):
    """Several runs of one point in one number and its 95 % interval; of a single run, neither spread nor interval."""

    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    runs: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2 if self.high is not None and self.low is not None else 0.0


class Results:
    """What a study measured, by point and metric."""

    def __init__(self, plan: Plan, summaries: Mapping[tuple[int, str], Summary]) -> None:
        self.plan = plan
        self._summaries = {key: summaries[key] for key in sorted(summaries)}

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
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


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
    """Along the first key of the grid that has several numbers, or the first that has one; with none, all points
    stand at one place."""
    grid = plan.definition.grid
    numeric = [key for key, values in grid.items() if _numbers(values)]
    key = next((key for key in numeric if len(grid[key]) > 1), next(iter(numeric), ""))
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
