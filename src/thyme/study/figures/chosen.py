"""Which figures a study has, by section of its report."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.study.expectations import Expectation
from thyme.study.figures.lines import breakdown_figure, metric_figure, trace_figure
from thyme.study.figures.pictures import Picture
from thyme.study.results import Axis, Results, scene_axis
from thyme.study.shown_metrics import COSTS, FAST, LATENCY_PARTS, SHOWN_METRICS, SUCCESS_PARTS, WORKS, Shown
from thyme.study.wording import duration, share, span
from thyme.study.workload import PlayedTrace

WORKLOAD = "What the crowd does"
MAX_BREAKDOWNS = 6
"""Series that get figures of their own."""
ALIKE_SHARE, ALIKE_OTHER = 0.005, 0.02
"""Within this nothing differs, in shares absolutely and in anything else relatively."""


class Shelf(msgspec.Struct):
    """The figures of a section, and what needs none: measures in which nothing differs, in a sentence each."""

    pictures: list[Picture] = []
    remarks: list[str] = []


def draw(
    results: Results, axis: Axis, expectations: Sequence[Expectation], traces: Sequence[PlayedTrace]
) -> dict[str, Shelf]:
    """The study's figures by section of the report. Scenes stand side by side; a grid with a line has its own."""
    shelves = {name: Shelf() for name in (WORKS, FAST, COSTS, WORKLOAD)}
    scenes = scene_axis(results.plan)
    for shown in SHOWN_METRICS:
        for along in (scenes, axis if axis.is_line or scenes is None else None):
            if along is not None:
                _put(results, along, shown, expectations, shelves[shown.group])
    pictures = {name: shelf.pictures for name, shelf in shelves.items()}
    for series in list(axis.series)[:MAX_BREAKDOWNS]:
        _break_down(results, axis, series, pictures)
    if traces:
        largest = max(traces, key=lambda trace: len(trace.operations))
        title = f"Operations over time, {largest.choice.title}"
        pictures[WORKLOAD].append(trace_figure(largest.operations, "operations-over-time", title))
    return shelves


def _put(results: Results, axis: Axis, shown: Shown, expectations: Sequence[Expectation], shelf: Shelf) -> None:
    points = [point for places in axis.series.values() for point in places.values()]
    means = [found.mean for point in points if (found := results.get(point, shown.metric)) is not None]
    if len(means) > 1 and not any(one.metric == shown.metric for one in expectations) and _alike(means, shown):
        shelf.remarks.append(f"{shown.title}: {_told(means, shown)} everywhere.")
        return
    drawn = metric_figure(results, axis, shown, expectations)
    if drawn is not None:
        shelf.pictures.append(drawn)


def _alike(means: Sequence[float], shown: Shown) -> bool:
    apart = max(means) - min(means)
    return apart <= ALIKE_SHARE if shown.is_share else apart <= ALIKE_OTHER * max(map(abs, means))


def _told(means: Sequence[float], shown: Shown) -> str:
    if shown.is_share:
        return span(share(min(means)), share(max(means)))
    if shown.unit == "s":
        return span(duration(min(means)), duration(max(means)))
    low, high = (f"{value * shown.scale:,.3g}" for value in (min(means), max(means)))
    return f"{span(low, high)} {shown.unit}".strip()


def _break_down(results: Results, axis: Axis, series: str, pictures: dict[str, list[Picture]]) -> None:
    name = "".join(letter if letter.isalnum() else "-" for letter in series.lower())
    success = breakdown_figure(
        results, axis, series, f"success-of-{name}", f"{series}: each operation",
        "The share of each operation that succeeds; for notifications, the recall.", SUCCESS_PARTS,
    )  # fmt: skip
    latency = breakdown_figure(
        results, axis, series, f"latency-of-{name}", f"{series}: each operation's latency",
        "Median time until each operation has succeeded.", LATENCY_PARTS,
    )  # fmt: skip
    if success is not None:
        pictures[WORKS].append(success)
    if latency is not None:
        pictures[FAST].append(latency)
