"""Box plots of the walks evaluation: Figures 8, 9 and 10 of the walks paper, and the table behind them.

A box per number of initiators, a panel per network size and kind of walk, laid out as the paper lays them out:
directional walks on the left, pure ones on the right. Works on the columns of a batch
(`thyme.papers.walks.batch`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thyme.papers.panels import DPI
from thyme.papers.walks.points import Table, count_outliers
from thyme.study.figures.pictures import COLOURS, INK, STYLE, Picture, to_picture
from thyme.study.results import csv_text

FEW_INITIATORS = 10
PANEL_IN = (5.6, 2.9)
KINDS = ((False, "directional"), (True, "pure"))
MEASURES = ("active_nodes", "visited_nodes", "hops", "depth")
QUARTILES = (0, 25, 50, 75, 100)


def walk_figures(table: Table) -> list[Picture]:
    """Figures 8, 9 and 10."""
    return [
        _boxes(
            table, "active_nodes", "walks_active_nodes", "Nodes in the active path (Figure 8)",
            "Active nodes of the overlay over the number of publishers and subscribers.", None,
        ),
        _boxes(
            table, "depth", "walks_depth", "Depth of the overlay (Figure 9)",
            "Largest distance within the overlay over the largest in the network.", None,
        ),
        _boxes(
            table, "depth", "walks_depth_few", "Depth of the overlay with few initiators (Figure 10)",
            f"The depth again, up to {FEW_INITIATORS} publishers and subscribers.", FEW_INITIATORS,
        ),
    ]  # fmt: skip


def summary_csv(table: Table) -> str:
    """One row per point: how many overlays, and mean, deviation, quartiles and outliers of each measure."""
    parts = ("mean", "deviation", "min", "q1", "median", "q3", "max", "outliers")
    names = [f"{measure}_{part}" for measure in MEASURES for part in parts]
    rows = (
        [
            *place.values(),
            int(box.sum()),
            *(number for measure in MEASURES for number in _describe(table[measure][box])),
        ]
        for place, box in boxes_of(table)
    )
    return csv_text(["nodes", "kind", "initiators", "overlays", *names], rows)


def boxes_of(table: Table) -> Iterator[tuple[dict[str, Any], NDArray[np.bool_]]]:
    """Each box of the figures: its nodes, kind and initiators, and which rows of the table are in it."""
    for nodes in _distinct(table["nodes"]):
        for pure, kind in KINDS:
            for initiators in _distinct(table["initiators"][table["nodes"] == nodes]):
                rows = _rows_of(table, nodes, pure) & (table["initiators"] == initiators)
                if rows.any():
                    yield {"nodes": nodes, "kind": kind, "initiators": initiators}, rows


def _describe(values: NDArray[Any]) -> list[str]:
    floats = values.astype(np.float64)
    numbers = [float(floats.mean()), float(floats.std()), *(float(q) for q in np.percentile(floats, QUARTILES))]
    return [*(f"{number:.6g}" for number in numbers), str(count_outliers(floats))]


def _distinct(values: NDArray[Any]) -> list[int]:
    return [int(value) for value in np.unique(values)]


def _rows_of(table: Table, nodes: int, pure: bool) -> NDArray[np.bool_]:
    chosen: NDArray[np.bool_] = (table["nodes"] == nodes) & (table["pure"] == pure)
    return chosen


def _boxes(table: Table, measure: str, name: str, title: str, caption: str, up_to: int | None) -> Picture:
    sizes = _distinct(table["nodes"])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2 * PANEL_IN[0], len(sizes) * PANEL_IN[1] + 0.4), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(sizes), 2, sharey="row", squeeze=False)
        for row, nodes in enumerate(sizes):
            for column, (pure, kind) in enumerate(KINDS):
                axes: Axes = panels[row, column]
                rows = _rows_of(table, nodes, pure)
                counts = [i for i in _distinct(table["initiators"][rows]) if up_to is None or i <= up_to]
                _panel(axes, [table[measure][rows & (table["initiators"] == i)] for i in counts], counts, pure)
                axes.set_title(f"{nodes:,} nodes, {kind} random walks", fontsize=10.5, color=INK)
                if column == 0:
                    axes.set_ylabel("active nodes" if measure == "active_nodes" else "depth")
                if measure == "depth":
                    axes.set_ylim(0, 1.02)
                else:
                    axes.set_ylim(0, nodes)
        for axes in panels[-1]:
            axes.set_xlabel("publishers and subscribers")
        figure.suptitle(title, color=INK)
        return to_picture(figure, name, title, caption, DPI)


def _panel(axes: Axes, groups: Sequence[NDArray[Any]], counts: Sequence[int], pure: bool) -> None:
    colour = COLOURS[1] if pure else COLOURS[0]
    axes.boxplot(
        groups,
        tick_labels=[str(count) for count in counts],
        patch_artist=True,
        widths=0.62,
        boxprops={"facecolor": colour, "alpha": 0.35, "edgecolor": colour},
        medianprops={"color": INK, "linewidth": 1.3},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": colour, "alpha": 0.5},
    )
    axes.grid(False, axis="x")
    if len(counts) > FEW_INITIATORS:
        axes.tick_params(axis="x", labelrotation=60, labelsize=8)
