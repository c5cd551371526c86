"""Panels of the papers' figures: blank ones under a title, and lines of means with bands from lowest to highest run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from thyme.study.figures.pictures import COLOURS, INK, MARKERS

DPI = 130


def blank_panels(size_in: tuple[float, float], title: str, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Side by side; `size_in` is that of the whole figure."""
    figure = Figure(figsize=size_in, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, color=INK)
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def draw_runs(
    axes: Axes, line: Sequence[tuple[float, Sequence[float]]], series: str, number: int, colour: str = ""
) -> None:
    """Draw the runs at each x as line `number`, in that line's colour unless another is given."""
    xs = [x for x, _ in line]
    colour = colour or COLOURS[number % len(COLOURS)]
    means = [float(np.mean(values)) for _, values in line]
    lows, highs = [min(values) for _, values in line], [max(values) for _, values in line]
    axes.plot(xs, means, marker=MARKERS[number % len(MARKERS)], color=colour, label=series)
    axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)


def caption_of(least_runs: int) -> str:
    return f"Means over runs, at least {least_runs} for each point; bands from the lowest to the highest."
