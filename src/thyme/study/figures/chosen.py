"""Which figures a study has, by section of its report."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.approaches.registry import find_approach, with_plain_names
from thyme.study.claims import Expectation
from thyme.study.figures.lines import breakdown_figure, metric_figure, trace_figure
from thyme.study.figures.pictures import Picture
from thyme.study.results import Axis, Results, variation_axis
from thyme.study.shown_metrics import COSTS, FAST, LATENCY_PARTS, SHOWN_METRICS, SUCCESS_PARTS, WORKS, Shown
from thyme.study.wording import listed, share, span
from thyme.study.workload import PlayedTrace

WORKLOAD = "What the crowd does"
MAX_BREAKDOWNS = 6
"""Series that get figures of their own."""
ALIKE_SHARE, ALIKE_OTHER = 0.005, 0.02
"""Within this nothing differs, in shares absolutely and in anything else relatively."""
ALIKE_BESIDE = 0.05
"""So do approaches in a variation, where what differs are the variations."""


class FigureGroup(msgspec.Struct):
    """The figures of a section, and what needs none: measures in which nothing differs, in a sentence each."""

    pictures: list[Picture] = []
    remarks: list[str] = []


def draw(
    results: Results, axis: Axis, expectations: Sequence[Expectation], traces: Sequence[PlayedTrace]
) -> dict[str, FigureGroup]:
    """The study's figures by section of the report. Variations are side by side; a grid with a line has its own."""
    groups = {name: FigureGroup() for name in (WORKS, FAST, COSTS, WORKLOAD)}
    variations = variation_axis(results.plan)
    for shown in SHOWN_METRICS:
        for along in (variations, axis if axis.is_line or variations is None else None):
            if along is not None:
                _put(results, along, shown, expectations, groups[shown.group])
    _break_down_all(results, axis, groups)
    if traces:
        largest = max(traces, key=lambda trace: trace.outline.operations)
        title = f"Operations over time, {largest.choice.title}"
        groups[WORKLOAD].pictures.append(trace_figure(largest.outline, "operations-over-time", title))
    return groups


def _put(results: Results, axis: Axis, shown: Shown, expectations: Sequence[Expectation], group: FigureGroup) -> None:
    points = [point for places in axis.series.values() for point in places.values()]
    means = [found.mean for point in points if (found := results.get(point, shown.metric)) is not None]
    if len(means) > 1 and not any(one.metric == shown.metric for one in expectations) and _alike(means, shown):
        group.remarks.append(f"{shown.title}: {span(shown.told(min(means)), shown.told(max(means)))} everywhere.")
        return
    beside = _by_place(results, axis, shown) if axis.labels and not shown.is_share else []
    if beside and all(max(found) - min(found) <= ALIKE_BESIDE * max(map(abs, found)) for found in beside):
        group.remarks.append(
            f"{shown.title}: {span(shown.told(min(means)), shown.told(max(means)))}, by variation; "
            "approaches differ little."
        )
        return
    drawn = metric_figure(results, axis, shown, expectations)
    if drawn is not None:
        group.pictures.append(drawn)


def _by_place(results: Results, axis: Axis, shown: Shown) -> list[list[float]]:
    """What approaches have beside each other, place by place; nothing unless several have all."""
    places = [
        [found.mean for line in axis.series.values() if (found := results.get(line.get(x, -1), shown.metric))]
        for x in axis.values
    ]
    return places if len(axis.series) > 1 and all(len(found) == len(axis.series) for found in places) else []


def _alike(means: Sequence[float], shown: Shown) -> bool:
    apart = max(means) - min(means)
    return apart <= ALIKE_SHARE if shown.is_share else apart <= ALIKE_OTHER * max(map(abs, means))


def _break_down_all(results: Results, axis: Axis, groups: dict[str, FigureGroup]) -> None:
    """Each kind of operation by itself, approach for approach; where all kinds do alike, in a sentence for all such."""
    alike: dict[str, list[str]] = {}
    for series in list(axis.series)[:MAX_BREAKDOWNS]:
        refused = _refused(results, series)
        if refused:
            told = f"{series} refuses to {listed(refused, 'or')}, and refused operations count as failed."
            groups[WORKS].remarks.append(told)
        parts = [part for part in SUCCESS_PARTS if part.short not in refused]
        means = [
            found.mean
            for part in parts
            for point in axis.series[series].values()
            if (found := results.get(point, part.metric)) is not None
        ]
        if len(means) > 1 and _alike(means, parts[0]):
            alike.setdefault(span(share(min(means)), share(max(means))), []).append(series)
            parts = []
        _break_down(results, axis, series, parts, groups)
    for told, names in alike.items():
        groups[WORKS].remarks.append(f"Each kind of operation by itself, with {listed(names, 'and')}: {told}.")


def _refused(results: Results, series: str) -> list[str]:
    """What the approach of a series does not offer."""
    title = series.partition(",")[0]
    chosen = next((one.name for one in results.plan.definition.approaches if one.title == title), None)
    if chosen is None:
        return []
    can = find_approach(chosen).capabilities
    return [kind for kind, is_so in (("delete", can.deletes), ("retrieve", can.retrieves)) if not is_so]


def _break_down(
    results: Results, axis: Axis, series: str, parts: Sequence[Shown], groups: dict[str, FigureGroup]
) -> None:
    name = "".join(letter if letter.isalnum() else "-" for letter in series.lower())
    success = breakdown_figure(
        results, axis, series, f"success-of-{name}", f"{with_plain_names(series)}: each operation",
        "The share of each operation that succeeds; of notifications, those that arrive.", parts,
    )  # fmt: skip
    latency = breakdown_figure(
        results, axis, series, f"latency-of-{name}", f"{with_plain_names(series)}: how long each operation takes",
        "Half of the operations of each kind, and of the notifications, take less.", LATENCY_PARTS,
    )  # fmt: skip
    if success is not None:
        groups[WORKS].pictures.append(success)
    if latency is not None:
        groups[FAST].pictures.append(latency)
