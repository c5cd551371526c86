"""The walks paper's statements about its evaluation, put as numbers that our own evaluation gives (§VI).

Works on the columns of a batch (`thyme.papers.walks.batch`). Each claim becomes a few numbers, and holds or
not by a rule that is stated here. W-ids follow the order of §VI, with a letter where one paragraph makes several
statements; T1 is a sentence on Figure 10. "Proportionally" is per node of the network. Depths are "very similar" when
the boxes of all panels of Figure 9 have a value in common, or nearly: less than `BOX_GAP` of the axis apart.
"""

from __future__ import annotations

import numpy as np

from thyme.papers.walks.points import Points, Table
from thyme.study.claims import Bound, Claim

BOX_GAP = 0.01
EARLY_DEPTH = 0.85
EARLY_INITIATORS = 10
NO_CORRELATION = 0.2
FEWER, MORE = Bound("<", 1.0), Bound(">", 1.0)
"""Of ratios."""


def check_claims(table: Table) -> list[Claim]:
    means = Points(table)
    return [
        _fewer_nodes(means),
        _fewer_outliers(means),
        _less_spread(means),
        _logarithmic(means),
        _logarithmic(means, shared=True),
        _proportional(means),
        _pure_grow_apart(means),
        _base_changes(means),
        _grows_with_size(means, pure=False),
        _grows_with_size(means, pure=True),
        _similar_depth(means),
        _deeper_at_two(means),
        _third_walk_deepens(means),
        _no_correlation(means, few=False),
        _no_correlation(means, few=True),
        _no_correlation_of_panels(means),
    ]


def _fewer_nodes(means: Points) -> Claim:
    ratios = [means.active[n, i, False] / means.active[n, i, True] for n in means.sizes for i in means.counts(n)]
    below = sum(FEWER.holds([ratio]) for ratio in ratios)
    return Claim("W01", "Figure 8", "DRW uses fewer active nodes than PRW").judged(
        f"ratio {min(ratios):.2f} to {max(ratios):.2f}, below 1 at {below} of {len(ratios)} points",
        FEWER.holds(ratios),
    )


def _fewer_outliers(means: Points) -> Claim:
    directional, pure = (sum(v for k, v in means.outliers.items() if k[2] == kind) for kind in (False, True))
    return Claim("W01o", "Figure 8", "DRW has fewer outliers than PRW").judged(
        f"{directional} against {pure} outliers",
        directional < pure,
    )


def _less_spread(means: Points) -> Claim:
    points = [(n, i) for n in means.sizes for i in means.counts(n) if means.spread[n, i, True] > 0.0]
    ratios = [means.spread[n, i, False] / means.spread[n, i, True] for n, i in points] or [float("nan")]
    return Claim("W01s", "Figure 8", "DRW is the more reliable: its active nodes spread less than those of PRW").judged(
        f"ratio of deviations {min(ratios):.2f} to {max(ratios):.2f}, median {np.median(ratios):.2f}",
        FEWER.holds([float(np.median(ratios))]),
    )


def _logarithmic(means: Points, shared: bool = False) -> Claim:
    growth = means.growth(pure=False, shared=shared)
    parts = [
        f"{nodes}: R² {by_log:.3f} (line {by_line:.3f})"
        for nodes, (_, by_log, by_line) in zip(means.sizes, growth, strict=True)
    ]
    slopes = [slope for slope, _, _ in growth]
    where = "over the initiator counts that all sizes have" if shared else "up to half of the nodes as initiators"
    stated = "DRW active nodes grow with the logarithm of the initiators, its base falling with density"
    return Claim("W02s" if shared else "W02", "Figure 8", stated).judged(
        f"fitted {where}: " + "; ".join(parts),
        all(by_log > by_line for _, by_log, by_line in growth) and slopes == sorted(slopes),
    )


def _per_thousand(means: Points, pure: bool) -> list[float]:
    """The growth per unit of ln(initiators) and 1,000 nodes of the network, by size."""
    return [1000.0 * slope / n for n, (slope, _, _) in zip(means.sizes, means.growth(pure), strict=True)]


def _proportional(means: Points) -> Claim:
    directional, pure = _per_thousand(means, pure=False), _per_thousand(means, pure=True)
    apart = max(directional) / min(directional)
    other = max(pure) / min(pure)
    return Claim(
        "W02a", "Figure 8", "DRW curves are proportionally almost identical at all sizes, and more so than those of PRW"
    ).judged(
        "growth per ln and 1,000 nodes "
        + ", ".join(f"{n}: {slope:.0f}" for n, slope in zip(means.sizes, directional, strict=True))
        + f", largest over smallest {apart:.2f} (PRW {other:.2f})",
        apart <= other,
    )


def _pure_grow_apart(means: Points) -> Claim:
    pure = _per_thousand(means, pure=True)
    return Claim("W02b", "Figure 8", "PRW active nodes grow faster, proportionally, in less dense networks").judged(
        "growth per ln and 1,000 nodes "
        + ", ".join(f"{n}: {slope:.0f}" for n, slope in zip(means.sizes, pure, strict=True)),
        pure == sorted(pure, reverse=True),
    )


def _base_changes(means: Points) -> Claim:
    directional, pure = (growth[-1][0] / growth[0][0] for growth in (means.growth(pure=False), means.growth(pure=True)))
    return Claim("W02c", "Figure 8", "the base of the logarithm changes more with density for DRW than for PRW").judged(
        f"growth per ln is {directional:.2f} times as large in the largest network as in the smallest (PRW {pure:.2f})",
        directional > pure,
    )


def _grows_with_size(means: Points, pure: bool) -> Claim:
    shared = means.shared_counts()
    rising = [
        i
        for i in shared
        if all(
            means.active[a, i, pure] < means.active[b, i, pure]
            for a, b in zip(means.sizes, means.sizes[1:], strict=False)
        )
    ]
    return Claim(
        "W03p" if pure else "W03d",
        "Figure 8",
        f"{'PRW' if pure else 'DRW'} active nodes grow with the network for the same initiators",
    ).judged(
        f"at {len(rising)} of {len(shared)} initiator counts"
        + (f" ({', '.join(map(str, rising))})" if 0 < len(rising) < len(shared) else ""),
        len(rising) == len(shared),
    )


def _similar_depth(means: Points) -> Claim:
    apart = []
    for initiators in means.shared_counts():
        if initiators > 2:
            boxes = [means.depth_box[nodes, initiators, kind] for nodes in means.sizes for kind in (False, True)]
            apart.append(max(low for low, _ in boxes) - min(high for _, high in boxes))
    early = min(means.depth[n, EARLY_INITIATORS, kind] for n in means.sizes for kind in (False, True))
    overlap = sum(gap <= 0.0 for gap in apart)
    return Claim(
        "W04", "Figure 9", "depths are very similar in all cases, and the largest distance is reached early"
    ).judged(
        f"all boxes overlap at {overlap} of {len(apart)} initiator counts from 3 on and are at most "
        f"{max(0.0, *apart):.3f} apart; mean {early:.2f} or more at {EARLY_INITIATORS}",
        Bound("<", BOX_GAP).holds(apart) and Bound(">=", EARLY_DEPTH).holds([early]),
    )


def _deeper_at_two(means: Points) -> Claim:
    ratios = [means.depth[n, 2, False] / means.depth[n, 2, True] for n in means.sizes]
    return Claim("W05", "Figure 9", "with two initiators DRW is deeper than PRW").judged(
        "ratio " + ", ".join(f"{n}: {r:.3f}" for n, r in zip(means.sizes, ratios, strict=True)),
        MORE.holds(ratios),
    )


def _third_walk_deepens(means: Points) -> Claim:
    gains = []
    largest = True
    for nodes in means.sizes:
        for pure in (False, True):
            depths = [means.depth[nodes, i, pure] for i in means.counts(nodes)]
            steps = np.diff(depths)
            gains.append(float(steps[0]))
            largest = largest and bool(steps[0] == steps.max())
    return Claim("T1", "Figure 10", "depth rises most from two initiators to three").judged(
        f"by {min(gains):.3f} to {max(gains):.3f}",
        largest,
    )


def _no_correlation(means: Points, few: bool) -> Claim:
    """In two parts: the paper's reason, that the largest depth is reached early, does not hold for two walks."""
    chosen = [r for key, r in means.correlation.items() if (key[1] == 2 if few else key[1] >= EARLY_INITIATORS)]
    where = "with two initiators" if few else f"from {EARLY_INITIATORS} initiators on"
    r = float(np.mean(chosen)) if chosen else float("nan")
    return Claim("W06b" if few else "W06a", "§VI", f"active nodes and depth are not correlated, {where}").judged(
        f"r within a point {r:.2f} on average", Bound("<", NO_CORRELATION).holds([abs(r)])
    )


def _no_correlation_of_panels(means: Points) -> Claim:
    """Over the means of the figures' panels, a size and a kind of walk each, at one number of initiators."""
    panels = [(nodes, pure) for nodes in means.sizes for pure in (False, True)]
    found = []
    for initiators in means.shared_counts():
        at = [(nodes, initiators, pure) for nodes, pure in panels]
        active, depth = [means.active[key] for key in at], [means.depth[key] for key in at]
        varies = np.std(active) > 0 and np.std(depth) > 0
        found.append(float(np.corrcoef(active, depth)[0, 1]) if varies else 0.0)
    return Claim("W06c", "§VI", "active nodes and depth are not correlated, over the means of the panels").judged(
        f"r {min(found):.2f} to {max(found):.2f} at one number of initiators: more active nodes are not deeper",
        max(found) < NO_CORRELATION,
    )
