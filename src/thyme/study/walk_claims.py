"""The walks paper's statements about its evaluation, put as numbers that our own evaluation gives (§VI).

Works on the columns of a batch (`thyme.approaches.walks.batch`). Each claim becomes a few numbers, and holds or
not by a rule that is stated here. W-ids follow the order of §VI; T1 is a sentence on Figure 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

Table = Mapping[str, NDArray[Any]]

SIMILAR_DEPTH = 0.05
EARLY_DEPTH = 0.85
EARLY_INITIATORS = 10
NO_CORRELATION = 0.2


class ClaimResult(msgspec.Struct, frozen=True):
    claim: str
    statement: str
    measured: str
    holds: bool


class _Means:
    """Means, outliers and correlations per (nodes, initiators, pure)."""

    def __init__(self, table: Table) -> None:
        keys = np.stack([np.asarray(table[name], np.int64) for name in ("nodes", "initiators", "pure")], axis=1)
        self.sizes = sorted({int(key) for key in keys[:, 0]})
        self.active: dict[tuple[int, int, bool], float] = {}
        self.depth: dict[tuple[int, int, bool], float] = {}
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
            self.outliers[key] = count_outliers(active[rows])
            varies = active[rows].std() > 0 and depth[rows].std() > 0
            self.correlation[key] = float(np.corrcoef(active[rows], depth[rows])[0, 1]) if varies else 0.0

    def counts(self, nodes: int) -> list[int]:
        return sorted({key[1] for key in self.active if key[0] == nodes})


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


def check_claims(table: Table) -> list[ClaimResult]:
    means = _Means(table)
    return [
        _fewer_nodes(means),
        _fewer_outliers(means),
        _less_spread(means),
        _logarithmic(means),
        _grows_with_size(means, pure=False),
        _grows_with_size(means, pure=True),
        _similar_depth(means),
        _deeper_at_two(means),
        _third_walk_deepens(means),
        _no_correlation(means),
    ]


def _fewer_nodes(means: _Means) -> ClaimResult:
    ratios = [means.active[n, i, False] / means.active[n, i, True] for n in means.sizes for i in means.counts(n)]
    below = sum(ratio < 1 for ratio in ratios)
    return ClaimResult(
        "W01",
        "DRW uses fewer active nodes than PRW",
        f"ratio {min(ratios):.2f} to {max(ratios):.2f}, below 1 at {below} of {len(ratios)} points",
        below == len(ratios),
    )


def _fewer_outliers(means: _Means) -> ClaimResult:
    directional, pure = (sum(v for k, v in means.outliers.items() if k[2] == kind) for kind in (False, True))
    return ClaimResult(
        "W01o",
        "DRW has fewer outliers than PRW",
        f"{directional} against {pure} outliers",
        directional < pure,
    )


def _less_spread(means: _Means) -> ClaimResult:
    points = [(n, i) for n in means.sizes for i in means.counts(n)]
    ratios = [means.spread[n, i, False] / means.spread[n, i, True] for n, i in points]
    return ClaimResult(
        "W01s",
        "DRW is the more reliable: its active nodes spread less than those of PRW",
        f"ratio of deviations {min(ratios):.2f} to {max(ratios):.2f}, median {np.median(ratios):.2f}",
        bool(np.median(ratios) < 1),
    )


def _logarithmic(means: _Means) -> ClaimResult:
    slopes, wins, parts = [], 0, []
    for nodes in means.sizes:
        counts = [i for i in means.counts(nodes) if i <= nodes // 2]
        active = np.array([means.active[nodes, i, False] for i in counts])
        slope, by_log = fit_quality(np.log(counts), active)
        _, by_line = fit_quality(np.array(counts, np.float64), active)
        slopes.append(slope)
        wins += by_log > by_line
        parts.append(f"{nodes}: slope {slope:.0f} per ln, R² {by_log:.2f} (line {by_line:.2f})")
    return ClaimResult(
        "W02",
        "DRW active nodes grow with the logarithm of the initiators, its base falling with density",
        "; ".join(parts),
        wins == len(means.sizes) and slopes == sorted(slopes),
    )


def _grows_with_size(means: _Means, pure: bool) -> ClaimResult:
    shared = sorted(set.intersection(*(set(means.counts(n)) for n in means.sizes)))
    rising = [
        i
        for i in shared
        if all(
            means.active[a, i, pure] < means.active[b, i, pure]
            for a, b in zip(means.sizes, means.sizes[1:], strict=False)
        )
    ]
    return ClaimResult(
        "W03p" if pure else "W03d",
        f"{'PRW' if pure else 'DRW'} active nodes grow with the network for the same initiators",
        f"at {len(rising)} of {len(shared)} initiator counts" + (f", from {rising[0]} on" if rising else ""),
        len(rising) == len(shared),
    )


def _similar_depth(means: _Means) -> ClaimResult:
    gaps = [
        abs(means.depth[n, i, False] - means.depth[n, i, True]) for n in means.sizes for i in means.counts(n) if i > 2
    ]
    early = min(means.depth[n, EARLY_INITIATORS, kind] for n in means.sizes for kind in (False, True))
    return ClaimResult(
        "W04",
        "depths are similar, and the largest distance is reached early",
        f"mean depths differ by at most {max(gaps):.3f} from 3 initiators on; "
        f"{early:.2f} or more at {EARLY_INITIATORS}",
        max(gaps) < SIMILAR_DEPTH and early >= EARLY_DEPTH,
    )


def _deeper_at_two(means: _Means) -> ClaimResult:
    ratios = [means.depth[n, 2, False] / means.depth[n, 2, True] for n in means.sizes]
    return ClaimResult(
        "W05",
        "with two initiators DRW is deeper than PRW",
        "ratio " + ", ".join(f"{n}: {r:.3f}" for n, r in zip(means.sizes, ratios, strict=True)),
        all(r > 1 for r in ratios),
    )


def _third_walk_deepens(means: _Means) -> ClaimResult:
    gains = []
    largest = True
    for nodes in means.sizes:
        for pure in (False, True):
            depths = [means.depth[nodes, i, pure] for i in means.counts(nodes)]
            steps = np.diff(depths)
            gains.append(float(steps[0]))
            largest = largest and bool(steps[0] == steps.max())
    return ClaimResult(
        "T1",
        "depth rises most from two initiators to three",
        f"by {min(gains):.3f} to {max(gains):.3f}",
        largest,
    )


def _no_correlation(means: _Means) -> ClaimResult:
    two = [r for k, r in means.correlation.items() if k[1] == 2]
    many = [r for k, r in means.correlation.items() if k[1] >= EARLY_INITIATORS]
    return ClaimResult(
        "W06",
        "active nodes and depth are not correlated",
        f"r within a point: {np.mean(two):.2f} at 2 initiators, "
        f"{np.mean(many):.2f} on average from {EARLY_INITIATORS} on",
        bool(abs(np.mean(many)) < NO_CORRELATION and abs(np.mean(two)) < NO_CORRELATION),
    )
