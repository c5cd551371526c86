"""The points of the walks evaluation: what each box of Figures 8–10 comes to, and how active nodes grow.

Works on the columns of a batch (`thyme.papers.walks.batch`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = Mapping[str, NDArray[Any]]


class Points:
    """Means, outliers and correlations per (nodes, initiators, pure)."""

    def __init__(self, table: Table) -> None:
        keys = np.stack([np.asarray(table[name], np.int64) for name in ("nodes", "initiators", "pure")], axis=1)
        self.sizes = sorted({int(key) for key in keys[:, 0]})
        self.active: dict[tuple[int, int, bool], float] = {}
        self.depth: dict[tuple[int, int, bool], float] = {}
        self.depth_box: dict[tuple[int, int, bool], tuple[float, float]] = {}
        self.spread: dict[tuple[int, int, bool], float] = {}
        self.outliers: dict[tuple[int, int, bool], int] = {}
        self.correlation: dict[tuple[int, int, bool], float] = {}
        points, of_row = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(of_row.ravel(), kind="stable")
        borders = np.searchsorted(of_row.ravel()[order], np.arange(len(points) + 1))
        active = np.asarray(table["active_nodes"], np.float64)[order]
        depth = np.asarray(table["depth"], np.float64)[order]
        for at, (nodes, initiators, pure) in enumerate(points):
            key = (int(nodes), int(initiators), bool(pure))
            rows = slice(int(borders[at]), int(borders[at + 1]))
            self.active[key] = float(active[rows].mean())
            self.spread[key] = float(active[rows].std())
            self.depth[key] = float(depth[rows].mean())
            low, high = np.percentile(depth[rows], [25, 75])
            self.depth_box[key] = (float(low), float(high))
            self.outliers[key] = count_outliers(active[rows])
            varies = active[rows].std() > 0 and depth[rows].std() > 0
            self.correlation[key] = float(np.corrcoef(active[rows], depth[rows])[0, 1]) if varies else 0.0

    def counts(self, nodes: int) -> list[int]:
        return sorted({key[1] for key in self.active if key[0] == nodes})

    def shared_counts(self) -> list[int]:
        """The initiator counts that all sizes have."""
        return sorted(set.intersection(*(set(self.counts(nodes)) for nodes in self.sizes)))

    def growth(self, pure: bool, shared: bool = False) -> list[tuple[float, float, float]]:
        """Per size: active nodes per unit of ln(initiators), R² of that, and R² of a straight line, up to where
        half of the nodes are initiators, or over the initiator counts that all sizes have."""
        found = []
        for nodes in self.sizes:
            counts = self.shared_counts() if shared else [i for i in self.counts(nodes) if i <= nodes // 2]
            active = np.array([self.active[nodes, i, pure] for i in counts])
            slope, by_log = fit_quality(np.log(counts), active)
            found.append((slope, by_log, fit_quality(np.array(counts, np.float64), active)[1]))
        return found


def count_outliers(values: NDArray[np.float64]) -> int:
    """Values beyond 1.5 interquartile ranges of the box, as box plots draw them."""
    low, high = np.percentile(values, [25, 75])
    reach = 1.5 * (high - low)
    return int(np.count_nonzero((values < low - reach) | (values > high + reach)))


def fit_quality(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and R² of the straight line through (x, y)."""
    slope, offset = np.polyfit(x, y, 1)
    residual = y - slope * x - offset
    return float(slope), float(1.0 - residual.var() / y.var())
