"""The largest distance within a set of points, for the depth of an overlay (walks paper, Eq. 5).

The two farthest points are on the convex hull. Points come sorted by x (then y), so the hull is one pass of the
monotone chain, and its few corners are compared pair by pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled


@compiled
def _turns_left(x: NDArray[np.float64], y: NDArray[np.float64], a: int, b: int, c: int) -> bool:
    return bool((x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]) > 0.0)


@compiled
def _chain(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    order: NDArray[np.int32],
    hull: NDArray[np.int32],
    size: int,
) -> int:
    """Adds one side of the hull of `order` to `hull` after its first `size` corners."""
    start = size
    for point in order:
        while size - start >= 2 and not _turns_left(x, y, hull[size - 2], hull[size - 1], point):
            size -= 1
        hull[size] = point
        size += 1
    return size


@compiled
def widest_distance(x: NDArray[np.float64], y: NDArray[np.float64], order: NDArray[np.int32]) -> float:
    """The largest distance between two of the points named by `order`, which is sorted by (x, y)."""
    hull = np.empty(2 * order.shape[0] + 2, np.int32)
    size = _chain(x, y, order, hull, 0)
    size = _chain(x, y, order[::-1], hull, size)
    widest = 0.0
    for i in range(size):
        for j in range(i):
            dx = x[hull[i]] - x[hull[j]]
            dy = y[hull[i]] - y[hull[j]]
            widest = max(widest, dx * dx + dy * dy)
    return float(np.sqrt(widest))
