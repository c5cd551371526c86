"""Figures 3 to 10 of the SocialCast paper, from runs of the points of `socialcast_points`, and the table behind them.

Every figure has panels for what the paper plots over the same axis (delivery, traffic, latency), or the distribution
of hops and of buffer sizes. Lines are means over runs; bands are the lowest and the highest run; hollow marks are what
the paper states in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import matplotlib as mpl
import msgspec
import numpy as np
from matplotlib.axes import Axes

from thyme.papers.panels import DPI, blank_panels, caption_of, draw_runs
from thyme.papers.socialcast.points import PREDICTION, RANDOM, SocialMeasure, SocialPoint
from thyme.study.figures.pictures import COLOURS, STYLE, Picture, to_picture
from thyme.study.results import csv_text

PANEL_IN = (4.6, 3.3)

Found = Mapping[bytes, Sequence[SocialMeasure]]
"""Runs by `SocialPoint.key`."""
Reading = tuple[str, Callable[[SocialMeasure], float]]

DELIVERY: Reading = ("delivered, share", lambda run: run.delivery)
TRAFFIC: Reading = ("forwarded messages", lambda run: float(run.traffic))
LATENCY: Reading = ("mean latency, s", lambda run: run.latency_s)


class _Layout(msgspec.Struct, frozen=True):
    title: str
    axis: str
    panels: tuple[Reading, ...]


_LINES = {
    "3": _Layout("Number of copies (Figure 3)", "copies γ", (DELIVERY, TRAFFIC)),
    "4": _Layout("Latency and who publishes (Figure 4)", "copies γ", (LATENCY, DELIVERY)),
    "5": _Layout("Time to live (Figure 5)", "largest number of hops", (DELIVERY, TRAFFIC)),
    "8": _Layout("Speed and weights (Figure 8)", "largest speed, m/s", (DELIVERY, TRAFFIC, LATENCY)),
    "9": _Layout("Number of interests (Figure 9)", "interests", (DELIVERY, TRAFFIC)),
    "10": _Layout("Density, without a limit of hops (Figure 10)", "side of the area, m", (DELIVERY, TRAFFIC)),
}

Stated = tuple[str, str, str, float, float]
"""⟨figure, series, what a panel shows, x, y⟩."""
SHARE = "share with at most as many"
STATED: tuple[Stated, ...] = (
    ("3", PREDICTION, DELIVERY[0], 5.0, 0.93),
    ("3", RANDOM, DELIVERY[0], 5.0, 0.40),
    ("3", RANDOM, DELIVERY[0], 15.0, 0.90),
    ("5", PREDICTION, DELIVERY[0], 15.0, 0.90),
    ("5", RANDOM, DELIVERY[0], 35.0, 0.90),
    ("6", PREDICTION, SHARE, 31.0, 1.0),
    ("6", RANDOM, SHARE, 93.0, 1.0),
    ("7", PREDICTION, SHARE, 4.0, 0.5),
    ("7", PREDICTION, SHARE, 30.0, 0.98),
    ("9", f"{PREDICTION}, γ = 3", TRAFFIC[0], 7.0, 15_000.0),
    ("9", f"{PREDICTION}, γ = 3", TRAFFIC[0], 20.0, 11_000.0),
)
"""Numbers that the paper gives in its text (S01–S03, S06, S07, S09, S10, S14); figures mark them."""


def socialcast_figures(points: Sequence[SocialPoint], found: Found) -> list[Picture]:
    """Every figure with at least one point that was run."""
    pictures = []
    for figure in dict.fromkeys(point.figure for point in points):
        own = [point for point in points if point.figure == figure and found.get(point.key)]
        if not own:
            continue
        if figure in _LINES:
            pictures.append(_lines(figure, _LINES[figure], own, found))
        elif figure == "6":
            pictures.append(_distribution(own, found, figure, "Hops to a subscriber (Figure 6)", "hops", _hops))
        elif figure == "7":
            pictures.append(_distribution(own, found, figure, "Buffers at 10,000 s (Figure 7)", "copies", _buffers))
    return pictures


def points_csv(points: Sequence[SocialPoint], found: Found) -> str:
    """One row per point that was run: means over runs, and the deviation of delivery."""
    names = [
        "figure", "series", "x", "runs", "delivery", "delivery_deviation", "traffic", "latency_s", "largest_hops",
        "buffer_below_5", "buffer_below_10", "buffer_above_30",
    ]  # fmt: skip
    rows: list[list[object]] = []
    for point in points:
        runs = found.get(point.key, ())
        if not runs:
            continue
        buffers = np.array([size for run in runs for size in run.buffered] or [0])
        delivery = np.array([run.delivery for run in runs])
        numbers = [
            delivery.mean(), delivery.std(), np.mean([run.traffic for run in runs]),
            np.mean([run.latency_s for run in runs]), max((hop for run in runs for hop in run.hops), default=0),
            (buffers < 5).mean(), (buffers < 10).mean(), (buffers > 30).mean(),
        ]  # fmt: skip
        told = [f"{float(number):.6g}" for number in numbers]
        rows.append([point.figure, point.series, f"{point.x:g}", len(runs), *told])
    return csv_text(names, rows)


def _lines(figure: str, layout: _Layout, points: Sequence[SocialPoint], found: Found) -> Picture:
    with mpl.rc_context(STYLE):
        drawing, panels = blank_panels(_size_in(len(layout.panels)), layout.title, len(layout.panels))
        for axes, (label, read) in zip(panels, layout.panels, strict=True):
            for number, series in enumerate(dict.fromkeys(point.series for point in points)):
                own = [point for point in points if point.series == series]
                line = sorted((point.x, [read(run) for run in found[point.key]]) for point in own)
                draw_runs(axes, line, series, number)
                _mark(axes, figure, series, label, number)
            axes.set_xlabel(layout.axis)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0.0, top=1.03 if (label, read) == DELIVERY else None)
        panels[0].legend()
        runs = min(len(found[point.key]) for point in points)
        return to_picture(drawing, f"socialcast_figure_{figure}", layout.title, caption_of(runs), DPI)


def _mark(axes: Axes, figure: str, series: str, shown: str, number: int) -> None:
    """Hollow marks for the paper's statements about a line."""
    stated = [(x, y) for of, line, what, x, y in STATED if (of, line, what) == (figure, series, shown)]
    if stated:
        axes.plot(
            *zip(*stated, strict=True), linestyle="none", marker="D", markersize=9, markerfacecolor="none",
            markeredgecolor=COLOURS[number % len(COLOURS)], markeredgewidth=1.8, label=f"paper, {series}", zorder=5,
        )  # fmt: skip


def _size_in(panels: int) -> tuple[float, float]:
    return panels * PANEL_IN[0], PANEL_IN[1] + 0.3


def _hops(run: SocialMeasure) -> Sequence[int]:
    return run.hops


def _buffers(run: SocialMeasure) -> Sequence[int]:
    return run.buffered


def _distribution(
    points: Sequence[SocialPoint],
    found: Found,
    figure: str,
    title: str,
    axis: str,
    read: Callable[[SocialMeasure], Sequence[int]],
) -> Picture:
    with mpl.rc_context(STYLE):
        drawing, panels = blank_panels(_size_in(1), title)
        for number, point in enumerate(points):
            values = np.sort([value for run in found[point.key] for value in read(run)])
            shares = np.arange(1, len(values) + 1) / max(len(values), 1)
            panels[0].step(values, shares, where="post", color=COLOURS[number % len(COLOURS)], label=point.series)
            _mark(panels[0], figure, point.series, SHARE, number)
        panels[0].set_xlabel(axis)
        panels[0].set_ylabel(SHARE)
        panels[0].set_ylim(0.0, 1.03)
        panels[0].legend(loc="lower right")
        caption = "Over all runs of the default setting."
        return to_picture(drawing, f"socialcast_figure_{figure}", title, caption, DPI)
