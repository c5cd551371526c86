"""The analytical study beside its measurement: one table, Table 6 as lines with measured points, and Figure 8.

One constant per approach is fitted, the hops of a point-to-point message per √n, and to notifications alone, which are
one such message each. A scoped dissemination is taken as one broadcast. Everything else that is drawn follows from
Table 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import TYPE_CHECKING

import matplotlib as mpl
import msgspec
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator, ScalarFormatter

from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError
from thyme.papers.thyme.analysis import (
    TABLE_6,
    ApproachName,
    Cost,
    Load,
    Scale,
    Shape,
    hot_spot,
    messages_each,
    notifications_per_member,
)
from thyme.papers.thyme.crowds import CrowdTraffic, Shared
from thyme.study.figures.pictures import APPROACH_COLOURS, COLOURS, INK, MARKERS, MUTED, STYLE, Picture, to_picture
from thyme.study.results import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PNG_DPI = 140
MANY_DRAWN = 60
"""Points of a formula's line."""


class Counts(msgspec.Struct, frozen=True):
    """The measurements of one approach, over crowds of several sizes and several placements of each."""

    approach: ApproachName
    per_cell: int
    runs: tuple[CrowdTraffic, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(sorted({run.nodes for run in self.runs}))

    def each(self, cost: Cost, nodes: int) -> list[float]:
        """Transmissions per operation, in every placement of this size."""
        return [run.each(cost) for run in self.runs if run.nodes == nodes]

    def mean(self, cost: Cost, nodes: int) -> float:
        values = self.each(cost, nodes)
        return sum(values) / len(values)

    def load(self, nodes: float) -> Load:
        """One of everything, in a crowd of this size."""
        return Load(nodes, 1.0, 1.0, 1.0, 1.0, self.per_cell)

    def formula(self, cost: Cost, nodes: float, scale: Scale) -> float:
        """Table 6 for one operation in a crowd of this size."""
        return messages_each(self.approach, cost, self.load(nodes), scale)

    def scale(self) -> Scale:
        """Hops per √n by least squares over notifications, and one broadcast per scoped dissemination."""
        roots = [sqrt(nodes / self.per_cell if self.approach == "dcs" else nodes) for nodes in self.sizes]
        hops = [self.mean(Cost.NOTIFICATION, nodes) for nodes in self.sizes]
        fitted = sum(r * h for r, h in zip(roots, hops, strict=True)) / sum(r * r for r in roots)
        return Scale(fitted, 1.0)

    def exponent(self, cost: Cost) -> float | None:
        """The power of n that a cost grew by, from the smallest crowd to the largest; None if nothing was sent."""
        low, high = self.sizes[0], self.sizes[-1]
        first, last = self.mean(cost, low), self.mean(cost, high)
        return log(last / first) / log(high / low) if low < high and first > 0.0 and last > 0.0 else None


def analysis_csv(found: Sequence[Counts]) -> str:
    """A row per approach, size and cost: the measurement, the paper's formula, and the formula scaled."""
    rows: list[list[object]] = []
    for counts in found:
        scale = counts.scale()
        for nodes in counts.sizes:
            for cost in Cost:
                values = counts.each(cost, nodes)
                formulas = (counts.formula(cost, nodes, Scale()), counts.formula(cost, nodes, scale))
                numbers = (counts.mean(cost, nodes), min(values), max(values), *formulas)
                rows.append([counts.approach, nodes, cost.value, *(f"{number:.2f}" for number in numbers)])
            runs = [run for run in counts.runs if run.nodes == nodes]
            busiest = [float(run.hot_spot) for run in runs]
            k = float(runs[0].operations)
            bound = hot_spot(counts.approach, Load(nodes, k, k, k, k, counts.per_cell))
            numbers = (sum(busiest) / len(busiest), min(busiest), max(busiest), bound, bound)
            rows.append([counts.approach, nodes, "hot spot", *(f"{number:.2f}" for number in numbers)])
    return csv_text(["approach", "nodes", "cost", "measured", "least", "most", "formula", "scaled"], rows)


def messages_figure(found: Sequence[Counts]) -> Picture:
    """Transmissions per operation over nodes, both logarithmic: √n and n are straight lines."""
    title = "What one operation sends, by formula and measured (Table 6)"
    caption = (
        "Lines: the formulas with hops per √n fitted to notifications and one broadcast per cell; dotted: with the"
        " paper's constants. Marks: measured, mean and range over placements."
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 7.2), layout="constrained")
        FigureCanvasAgg(figure)
        for cost, axes in zip(Cost, figure.subplots(2, 2).flat, strict=True):
            for place, counts in enumerate(found):
                _draw_cost(axes, cost, counts, place)
            _finish(axes, cost, found)
        handles, labels = figure.axes[1].get_legend_handles_labels()
        handles.append(Line2D([], [], color=MUTED, linestyle=":"))
        labels.append("formula with the paper's constants")
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles))
        return to_picture(figure, "analysis_messages", title, caption, PNG_DPI)


def shared_figure(shared: Sequence[Shared]) -> Picture:
    """Figure 8: the more nodes a cell has, the fewer notifications each of them sends."""
    if not shared:
        raise InputError("Figure 8 needs at least one number of nodes per cell")
    title = "Messages per node for 100 notifications (Figure 8)"
    caption = "Line: the formula. Marks: mean over the nodes of the cell, with the least and the most busy of them."
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.45), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        x = np.linspace(shared[0].per_cell, shared[-1].per_cell, 4 * MANY_DRAWN)
        axes.plot(x, [notifications_per_member(at, shared[0].notifications) for at in x], color=MUTED, label="formula")
        mean = [one.mean for one in shared]
        ranges = [[one.mean - one.least for one in shared], [one.most - one.mean for one in shared]]
        axes.errorbar(
            [one.per_cell for one in shared], mean, yerr=ranges, linestyle="none", marker="o", color=COLOURS[0],
            capsize=3.5, label="measured",
        )  # fmt: skip
        axes.set_xticks([one.per_cell for one in shared])
        axes.set_xlabel("nodes per cell")
        axes.set_ylabel("messages per node")
        axes.set_ylim(0.0)
        axes.legend()
        return to_picture(figure, "analysis_shared", title, caption, PNG_DPI)


def analysis_table(found: Sequence[Counts]) -> str:
    """Markdown table: messages per operation in the smallest and the largest crowd, beside the scaled formula."""
    lines = [
        "| approach | cost | Table 6, each | "
        + " | ".join(f"{nodes} nodes: measured (scaled formula)" for nodes in _ends(found[0]))
        + " | grew as |",
        "|---|---|---|---|---|---|",
    ]
    for counts in found:
        scale = counts.scale()
        for cost in Cost:
            cells = [
                f"{counts.mean(cost, nodes):.1f} ({counts.formula(cost, nodes, scale):.1f})" for nodes in _ends(counts)
            ]
            power = counts.exponent(cost)
            grew = "–" if power is None else f"n^{power:.2f}"
            formula = formula_text(TABLE_6[counts.approach][cost])
            title = find_approach(counts.approach).title
            lines.append(f"| {title} | {cost.value} | {formula} | {' | '.join(cells)} | {grew} |")
    return "\n".join(lines) + "\n"


def formula_text(shape: Shape) -> str:
    """An entry of Table 6 as the paper writes it, for one operation."""
    terms = [
        f"{count if count > 1 else ''}{term}"
        for count, term in ((shape.messages, "√n"), (shape.floods, "n"), (shape.scoped, "c"))
        if count
    ]
    return " + ".join(terms) or "∅"


def _ends(counts: Counts) -> tuple[int, int]:
    return counts.sizes[0], counts.sizes[-1]


def _draw_cost(axes: Axes, cost: Cost, counts: Counts, place: int) -> None:
    title = find_approach(counts.approach).title
    colour = APPROACH_COLOURS[title]
    if TABLE_6[counts.approach][cost] == Shape() and not any(run.frames[cost] for run in counts.runs):
        axes.annotate(f"{title} sends nothing", (0.97, 0.05), xycoords="axes fraction", ha="right", color=colour)
        return
    low, high = _ends(counts)
    x = np.geomspace(low, high, MANY_DRAWN)
    for scale, style in ((counts.scale(), "-"), (Scale(), ":")):
        axes.plot(x, [counts.formula(cost, nodes, scale) for nodes in x], color=colour, linestyle=style, linewidth=1.6)
    mean = np.array([counts.mean(cost, nodes) for nodes in counts.sizes])
    least = np.array([min(counts.each(cost, nodes)) for nodes in counts.sizes])
    most = np.array([max(counts.each(cost, nodes)) for nodes in counts.sizes])
    axes.errorbar(
        counts.sizes, mean, yerr=[mean - least, most - mean], linestyle="none", marker=MARKERS[place], markersize=6,
        color=colour, capsize=3, label=title,
    )  # fmt: skip


def _finish(axes: Axes, cost: Cost, found: Sequence[Counts]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = found[0].sizes
    axes.xaxis.set_major_locator(FixedLocator(list(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(cost.value, fontsize=10.5, color=INK)
    axes.set_xlabel("nodes")
    axes.set_ylabel("transmissions each")
