"""What a figure draws of its series: lines along an axis, bars, or bars in groups, each with the interval of its runs.

Every drawn value has a tooltip on the page (`pictures.Spot`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thyme.approaches.registry import with_plain_names
from thyme.study.figures.pictures import INK, MARKERS, MUTED, Spot, colours_of
from thyme.study.results import Summary
from thyme.study.shown_metrics import Shown
from thyme.study.wording import place, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Drawn = dict[str, list[tuple[float, Summary]]]
"""What is drawn of each series: where on the axis, and what was measured there."""

SIDE_STEP = 0.012
"""Lines are offset by this share of the axis, so that equal ones can be distinguished."""
BAR_WIDTH = 0.8
"""What a group of bars takes of its place."""
ALONE_WIDTH = 0.6
"""What a bar takes where there are no groups."""


def draw_lines(axes: Axes, drawn: Drawn, shown: Shown, order: Sequence[str], key: str) -> list[Spot]:
    """`key` is the axis: people, or how many of them walk."""
    places = [at for line in drawn.values() for at, _ in line]
    apart = max(places) - min(places)
    colours = colours_of(order)
    spots: list[Spot] = []
    for rank, (name, line) in enumerate(drawn.items()):
        colour, marker = colours[name], MARKERS[order.index(name) % len(MARKERS)]
        aside = (rank - (len(drawn) - 1) / 2) * SIDE_STEP * apart
        x = [at + aside for at, _ in line]
        mean = [summary.mean * shown.scale for _, summary in line]
        below, above = _whiskers([summary for _, summary in line], shown)
        axes.fill_between(x, np.subtract(mean, below), np.add(mean, above), color=colour, alpha=0.14, linewidth=0)
        axes.errorbar(
            x, mean, yerr=[below, above], color=colour, marker=marker, markersize=6, linewidth=2.0,
            capsize=3.5, elinewidth=1.1, label=with_plain_names(name),
        )  # fmt: skip
        half = SIDE_STEP * apart / 2
        spots.extend(
            Spot(at - half, at + half, value, _told(f"{name}, {place({key: where})}", summary, shown))
            for at, value, (where, summary) in zip(x, mean, line, strict=True)
        )
    return spots


def draw_bars(axes: Axes, drawn: Drawn, shown: Shown, order: Sequence[str]) -> list[Spot]:
    names = list(drawn)
    colours = colours_of(order)
    spots: list[Spot] = []
    for rank, name in enumerate(names):
        summary = drawn[name][0][1]
        ends = _whiskers([summary], shown)
        axes.bar(rank, summary.mean * shown.scale, ALONE_WIDTH, yerr=ends, color=colours[name], capsize=4, ecolor=INK)
        if shown.is_time and summary.mean <= 0.0:
            low = axes.get_xaxis_transform()
            axes.text(rank, 0.02, "at once", transform=low, ha="center", va="bottom", fontsize=8.5, color=MUTED)
        spots.append(Spot(rank - ALONE_WIDTH / 2, rank + ALONE_WIDTH / 2, None, _told(name, summary, shown)))
    shown_names = [with_plain_names(name).replace(" (", "\n(") for name in names]
    axes.set_xticks(range(len(names)), shown_names, rotation=20 if len(names) > 4 else 0)
    axes.grid(axis="x", visible=False)
    return spots


def draw_groups(axes: Axes, drawn: Drawn, shown: Shown, order: Sequence[str], labels: Sequence[str]) -> list[Spot]:
    width = BAR_WIDTH / len(drawn)
    colours = colours_of(order)
    spots: list[Spot] = []
    for rank, (name, line) in enumerate(drawn.items()):
        aside = (rank - (len(drawn) - 1) / 2) * width
        summaries = [summary for _, summary in line]
        mean = [summary.mean * shown.scale for summary in summaries]
        axes.bar(
            [at + aside for at, _ in line], mean, width * 0.92, yerr=_whiskers(summaries, shown), color=colours[name],
            capsize=2, ecolor=INK, error_kw={"linewidth": 0.8}, label=with_plain_names(name),
        )  # fmt: skip
        spots.extend(
            Spot(at + aside - width / 2, at + aside + width / 2, None, _told(f"{name}, {labels[int(at)]}", one, shown))
            for at, one in line
        )
    axes.grid(axis="x", visible=False)
    return spots


def _whiskers(summaries: Sequence[Summary], shown: Shown) -> list[list[float]]:
    """How far the intervals reach below and above the means; of a single run, not at all."""
    below = [0.0 if one.low is None else max(0.0, one.mean - one.low) * shown.scale for one in summaries]
    above = [0.0 if one.high is None else max(0.0, one.high - one.mean) * shown.scale for one in summaries]
    return [below, above]


def _told(what: str, summary: Summary, shown: Shown) -> str:
    """`Owners (Thyme-LS), everybody walks: 9.7 MB (9.6 MB to 9.8 MB)`."""
    ends = "" if summary.low is None or summary.high is None else span(*map(shown.told, (summary.low, summary.high)))
    return f"{with_plain_names(what)}: {shown.told(summary.mean)}" + (f" ({ends})" if " to " in ends else "")
