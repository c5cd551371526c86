"""Figures of a study: one picture per question.

A figure draws one metric along the study's axis, one line per approach, with the interval of the runs as a band and
whiskers; where the grid has no axis, bars, in groups if there are variations. Times that differ widely are on a
logarithmic scale. A number from a paper is a hollow mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import matplotlib as mpl
import msgspec
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

from thyme.pipeline.traces.outline import STEP_S, TraceOutline
from thyme.study.claims import SIGNS, Bound, Expectation
from thyme.study.figures.pictures import OPERATION_COLOURS, STYLE, Picture, Spot, colours_of, marks_of, to_picture
from thyme.study.figures.series import Drawn, draw_bars, draw_groups, draw_lines
from thyme.study.results import Axis, Results
from thyme.study.shown_metrics import Shown
from thyme.study.wording import axis_tick, axis_title, round_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE_IN = (5.4, 3.45)
BINS_S = (STEP_S, 30.0, 60.0, 300.0, 600.0, 1_800.0, 3_600.0)
MAX_BINS = 120
LEGEND_MARK_IN, LEGEND_LETTER_IN, LEGEND_ROW_IN = 0.5, 0.08, 0.19
"""What a mark, a letter and a row of the legend take, about."""
LOG_RATIO = 3.0
"""Times that differ by more than this factor are on a logarithmic scale."""
LOG_STEPS = (1.0, 2.0, 5.0)
"""Where such a scale has its ticks, in each power of ten."""
LABEL_WIDTH_IN, LABEL_LETTER_IN, LABEL_POINTS = 4.6, 0.075, 8.5
"""What the names of all variations have beside each other, and what a letter of them takes, about."""


def metric_figure(
    results: Results, axis: Axis, shown: Shown, expectations: Sequence[Expectation] = ()
) -> Picture | None:
    """The metric along the axis; None if no run gave it."""
    drawn = {
        name: [(x, found) for x, point in sorted(places.items()) if (found := results.get(point, shown.metric))]
        for name, places in axis.series.items()
    }
    drawn = {name: line for name, line in drawn.items() if line}
    if not drawn:
        return None
    shown = _in_fitting_unit(shown, drawn)
    with mpl.rc_context(STYLE):
        figure, axes = _blank()
        spots = _draw(axes, axis, drawn, shown, list(axis.series))
        marked = _draw_stated(axes, axis, shown, expectations)
        _finish(axes, shown, drawn, legend=axis.is_line or bool(axis.labels) or marked)
        name = f"{shown.file}-by-variation" if axis.labels else shown.file
        return _picture(figure, axes, spots, name, shown.title, shown.caption)


def breakdown_figure(
    results: Results, axis: Axis, series: str, name: str, title: str, caption: str, parts: Sequence[Shown]
) -> Picture | None:
    """Several metrics of one series in one figure, such as the success of each operation (as FGCS Fig. 11)."""
    drawn = {}
    for part in parts:
        places = sorted(axis.series[series].items())
        line = [(x, found) for x, point in places if (found := results.get(point, part.metric))]
        if line:
            drawn[part.short] = line
    if not drawn:
        return None
    with mpl.rc_context(STYLE):
        figure, axes = _blank()
        shown = _in_fitting_unit(parts[0], drawn)
        spots = _draw(axes, axis, drawn, shown, list(drawn))
        _finish(axes, shown, drawn, legend=axis.is_line or bool(axis.labels))
        return _picture(figure, axes, spots, name, title, caption)


def trace_figure(trace: TraceOutline, name: str, title: str) -> Picture:
    """The operations of a trace over time (as FGCS Fig. 9)."""
    last_s = trace.when.last_s if trace.operations else BINS_S[0]
    bin_s = next((one for one in BINS_S if last_s <= MAX_BINS * one), BINS_S[-1])
    edges = np.arange(0.0, last_s + bin_s, bin_s)
    with mpl.rc_context(STYLE):
        figure, axes = _blank()
        below = np.zeros(len(edges) - 1)
        for kind, colour in OPERATION_COLOURS.items():
            pace = trace.paces.get(kind, {})
            if not pace:
                continue
            counts, _ = np.histogram(np.array(list(pace)) * STEP_S, edges, weights=list(pace.values()))
            axes.bar(
                edges[:-1], counts, bin_s * 0.92, bottom=below, align="edge", color=colour, label=kind, linewidth=0
            )
            below += counts
        axes.set_xlabel("seconds")
        axes.set_ylabel(f"operations per {bin_s:g} s")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="x", visible=False)
        _legend(axes)
        caption = f"{trace.operations} operations, as users issue them; bursts follow the posts."
        return to_picture(figure, name, title, caption)


def _in_fitting_unit(shown: Shown, drawn: Drawn) -> Shown:
    """Seconds as milliseconds where all are short."""
    largest = max(summary.high or summary.mean for line in drawn.values() for _, summary in line)
    if shown.unit != "s" or largest >= 1.0:
        return shown
    label = shown.axis_label.replace("seconds", "milliseconds")
    return msgspec.structs.replace(shown, scale=1_000.0, unit="ms", axis_label=label)


def _blank() -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE_IN, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _picture(figure: Figure, axes: Axes, spots: Sequence[Spot], name: str, title: str, caption: str) -> Picture:
    picture = to_picture(figure, name, title, caption)
    return msgspec.structs.replace(picture, marks=marks_of(axes, spots))


def _draw(axes: Axes, axis: Axis, drawn: Drawn, shown: Shown, order: list[str]) -> list[Spot]:
    if axis.labels:
        letters = int(LABEL_WIDTH_IN / len(axis.labels) / LABEL_LETTER_IN)
        labels = [fill(label, letters, break_long_words=False) for label in axis.labels]
        axes.set_xticks(axis.values, labels, fontsize=LABEL_POINTS)
        return draw_groups(axes, drawn, shown, order, axis.labels)
    if axis.is_line:
        axes.set_xlabel(axis_title(axis.key))
        axes.set_xticks(axis.values, [axis_tick(axis.key, value) for value in axis.values])
        return draw_lines(axes, drawn, shown, order, axis.key)
    return draw_bars(axes, drawn, shown, order)


def _draw_stated(axes: Axes, axis: Axis, shown: Shown, expectations: Sequence[Expectation]) -> bool:
    """Hollow marks where a paper states a number for a place on the axis, or for a bar."""
    marked = False
    names = list(axis.series)
    colours = colours_of(names)
    for expected in expectations:
        lines = [i for i, name in enumerate(names) if name.split(",")[0] == expected.approach]
        rule = expected.claim.rule
        # A ratio of two approaches is no place on this axis; the table of claims has it.
        if expected.metric != shown.metric or not lines or not isinstance(rule, Bound) or expected.against:
            continue
        if expected.at is not None and expected.at not in axis.values:
            continue
        places: Sequence[float] = lines
        if axis.is_line:
            places = axis.values if expected.at is None else [expected.at]
        marker = {">=": "^", ">": "^", "<": "v", "<=": "v"}.get(rule.relation, "D")
        stated = [value for value in (rule.value, rule.upper) if value is not None]
        told = "–".join(round_share(value) if shown.is_share else f"{value * shown.scale:g}" for value in stated)
        label = f"paper, {expected.approach}: {SIGNS.get(rule.relation, '')}{told} {shown.unit}".strip()
        for number, value in enumerate(stated):
            axes.plot(
                places, [value * shown.scale] * len(places), linestyle="none", marker=marker, markersize=10,
                markerfacecolor="none", markeredgecolor=colours[names[lines[0]]], markeredgewidth=1.8,
                label=None if number else label, zorder=5,
            )  # fmt: skip
        marked = True
    return marked


def _is_wide(shown: Shown, drawn: Drawn) -> bool:
    """Whether times differ so widely that only a logarithmic scale shows them all."""
    means = [summary.mean for line in drawn.values() for _, summary in line if summary.mean > 0.0]
    return shown.is_time and len(means) > 1 and max(means) > LOG_RATIO * min(means)


def _finish(axes: Axes, shown: Shown, drawn: Drawn, legend: bool) -> None:
    axes.set_ylabel(shown.axis_label)
    if _is_wide(shown, drawn):
        axes.set_yscale("log")
        least = min(one.mean for line in drawn.values() for _, one in line if one.mean > 0.0) * shown.scale
        axes.set_ylim(bottom=min(least / 2.0, axes.get_ylim()[0]))
        axes.yaxis.set_major_locator(LogLocator(subs=LOG_STEPS))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        if legend:
            _legend(axes)
        return
    if shown.high_is_good:
        axes.set_ylim(max(0.0, min(axes.get_ylim()[0], 0.8)), 1.02)
    else:
        axes.set_ylim(0.0, axes.get_ylim()[1] * 1.08)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    if shown.is_share:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(value * 100, 6):g}%"))
    else:
        plain = ScalarFormatter(useOffset=False)
        plain.set_scientific(False)
        top = axes.get_ylim()[1]
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}") if top >= 1_000 else plain)
    if legend:
        _legend(axes)


def _legend(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure = axes.figure
    if labels and isinstance(figure, Figure):
        entry_in = LEGEND_MARK_IN + LEGEND_LETTER_IN * max(map(len, labels))
        columns = max(1, min(len(labels), int((SIZE_IN[0] - LEGEND_MARK_IN) / entry_in)))
        # As many columns as needed for the fewest rows: five entries where four fit are better set as three and two.
        rows = -(-len(labels) // columns)
        figure.legend(
            handles, labels, loc="outside upper left", ncols=-(-len(labels) // rows), handlelength=1.3,
            columnspacing=1.4, borderpad=0.1,
        )  # fmt: skip
        figure.set_size_inches(SIZE_IN[0], SIZE_IN[1] + (rows - 1) * LEGEND_ROW_IN)
