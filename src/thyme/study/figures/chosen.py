"""Which figures a study has, by section of its report."""

from __future__ import annotations

from collections.abc import Sequence

from thyme.study.expectations import Expectation
from thyme.study.figures.lines import breakdown_figure, metric_figure, trace_figure
from thyme.study.figures.pictures import Picture
from thyme.study.results import Axis, Results
from thyme.study.shown_metrics import COSTS, FAST, LATENCY_PARTS, SHOWN_METRICS, SUCCESS_PARTS, WORKS
from thyme.study.workload import PlayedTrace

WORKLOAD = "What the crowd does"
MAX_BREAKDOWNS = 6
"""Series that get figures of their own."""


def draw(
    results: Results, axis: Axis, expectations: Sequence[Expectation], traces: Sequence[PlayedTrace]
) -> dict[str, list[Picture]]:
    """The study's figures by section of the report."""
    pictures: dict[str, list[Picture]] = {WORKS: [], FAST: [], COSTS: [], WORKLOAD: []}
    for shown in SHOWN_METRICS:
        drawn = metric_figure(results, axis, shown, expectations)
        if drawn is not None:
            pictures[shown.group].append(drawn)
    for series in list(axis.series)[:MAX_BREAKDOWNS]:
        _break_down(results, axis, series, pictures)
    if traces:
        largest = max(traces, key=lambda trace: len(trace.operations))
        title = f"Operations over time, {largest.choice.title}"
        pictures[WORKLOAD].append(trace_figure(largest.operations, "operations-over-time", title))
    return pictures


def _break_down(results: Results, axis: Axis, series: str, pictures: dict[str, list[Picture]]) -> None:
    name = "".join(letter if letter.isalnum() else "-" for letter in series.lower())
    success = breakdown_figure(
        results, axis, series, f"success-of-{name}", f"{series}: each operation",
        "The share of each operation that succeeds; for notifications, the recall.", SUCCESS_PARTS,
    )  # fmt: skip
    latency = breakdown_figure(
        results, axis, series, f"latency-of-{name}", f"{series}: each operation's latency",
        "Mean time until each operation has succeeded.", LATENCY_PARTS,
    )  # fmt: skip
    if success is not None:
        pictures[WORKS].append(success)
    if latency is not None:
        pictures[FAST].append(latency)
