"""Two studies side by side: the metrics of the points that both have, from their `metrics.csv`."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec

from thyme.model.errors import InputError
from thyme.study.folder import METRICS_FILE
from thyme.study.results import SUMMARY_NAMES
from thyme.study.shown_metrics import DECIDING, SHOWN_METRICS, Shown, is_share
from thyme.study.wording import share, span

TITLES: dict[str, Shown] = {shown.metric: shown for shown in SHOWN_METRICS}


class ComparedMetric(msgspec.Struct, frozen=True):
    """One metric of one point in both."""

    point: str
    metric: str
    """As reports call it."""
    first: str
    second: str
    equal: bool
    apart: bool
    """Whether each mean is outside the other's interval; single runs differ if they are not equal."""


class Comparison(msgspec.Struct, frozen=True):
    rows: tuple[ComparedMetric, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


class _Number(msgspec.Struct, frozen=True):
    mean: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def told(self, metric: str) -> str:
        mean, low, high = (_told(metric, value) for value in (self.mean, self.low, self.high))
        return mean if low == high else f"{mean} ({span(low, high)})"


Numbers = dict[tuple[str, str], _Number]


def compare_studies(first: Path, second: Path, every: bool = False) -> Comparison:
    """What the answer rests on, or every metric, of the points that both have."""
    one, other = _read(first), _read(second)
    points, others = ({point for point, _ in numbers} for numbers in (one, other))
    if not points & others:
        raise InputError(
            f"{first} and {second} have no point in common; expected studies of the same approaches and grid"
        )
    rows = [
        _compared(key, one[key], other[key]) for key in one if key in other and (every or key[1] in DECIDING)
    ]  # in the order of the first
    return Comparison(tuple(rows), tuple(sorted(points - others)), tuple(sorted(others - points)))


def _compared(key: tuple[str, str], one: _Number, other: _Number) -> ComparedMetric:
    equal = one.mean == other.mean
    apart = not equal and not one.holds(other.mean) and not other.holds(one.mean)
    point, metric = key
    title = TITLES[metric].title if metric in TITLES else metric
    return ComparedMetric(point, title, one.told(metric), other.told(metric), equal, apart)


def _told(metric: str, value: float) -> str:
    """As reports have it; what they do not show, as a plain number or share."""
    if metric in TITLES:
        return TITLES[metric].told(value)
    return share(value) if is_share(metric) else f"{value:,.4g}"


def _read(folder: Path) -> Numbers:
    path = folder if folder.suffix == ".csv" else folder / METRICS_FILE
    if not path.is_file():
        raise InputError(f"{folder}: there is no {METRICS_FILE}; expected the folder of a finished study")
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        names = reader.fieldnames or []
        missing = [name for name in SUMMARY_NAMES if name not in names]
        if missing:
            raise InputError(f"{path}: there is no column {missing[0]!r}; expected the {METRICS_FILE} of a study")
        places = [name for name in names if name not in SUMMARY_NAMES]
        return {(", ".join(row[name] for name in places if row[name]), row["metric"]): _number(row) for row in reader}


def _number(row: dict[str, str]) -> _Number:
    mean = float(row["mean"])
    return _Number(mean, float(row["low"] or mean), float(row["high"] or mean))
