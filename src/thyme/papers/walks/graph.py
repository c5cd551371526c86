"""Unit disc graphs: nodes placed uniformly in the unit square, linked below a radius (walks paper §VI).

Only connected graphs are of use, and at 1,000 nodes and r = 0.05 about nine placements in ten are not. A
placement is therefore judged before its graph is built: a cell grid finds the links, a union-find counts the
parts, and only a placement of one part gets its neighbour lists. A network is named by (seed, nodes,
network): the same name gives the same graph wherever it is drawn.

The largest distance within a set of points gives the depth of an overlay (Eq. 5). The two farthest points are on the
convex hull. Points come sorted by x (then y), so the hull is one pass of the monotone chain, and its few corners are
compared pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled
from thyme.model.errors import InputError
from thyme.papers.walks.random_numbers import Dice, reseed, unit
from thyme.papers.walks.readings import MAX_GRAPH_DRAWS, MAX_NODES, MAX_SEED, RADIUS


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


@dataclass(frozen=True)
class UnitDiscGraph:
    """A connected graph in compressed rows: the neighbours of v are neighbours[offsets[v]:offsets[v + 1]],
    ascending. `by_x` lists the nodes by (x, y); `widest` is the largest distance in the network;
    `placements` says how many placements were drawn until one was connected."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    offsets: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    by_x: NDArray[np.int32]
    widest: float
    placements: int

    @property
    def nodes(self) -> int:
        return int(self.x.shape[0])

    def neighbours_of(self, node: int) -> NDArray[np.int32]:
        return self.neighbours[self.offsets[node] : self.offsets[node + 1]]


def draw_graph(
    nodes: int, network: int, seed: int, radius: float = RADIUS, max_graph_draws: int = MAX_GRAPH_DRAWS
) -> UnitDiscGraph:
    """The connected unit disc graph named by (seed, nodes, network)."""
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"seed is {seed}; expected 0 to {MAX_SEED}")
    if not 2 <= nodes <= MAX_NODES:
        raise InputError(f"nodes is {nodes}; expected 2 to {MAX_NODES} nodes")
    if not (isfinite(radius) and 0.0 < radius <= sqrt(2.0)):
        raise InputError(f"radius is {radius}; in the unit square, expected more than 0 and at most √2")
    if max_graph_draws < 1:
        raise InputError(f"max_graph_draws is {max_graph_draws}; expected at least 1")
    dice = np.zeros(1, np.uint64)
    reseed(dice, seed, nodes, network, 0, 0)
    placements, x, y = _place_connected(dice, nodes, radius, max_graph_draws)
    if placements == 0:
        raise InputError(
            f"radius {radius} cannot connect {nodes} nodes: none of {max_graph_draws} placements (max_graph_draws) "
            "was connected; use a larger radius or more nodes"
        )
    return graph_of_points(x, y, radius, placements)


def graph_of_points(
    x: NDArray[np.float64], y: NDArray[np.float64], radius: float, placements: int = 1
) -> UnitDiscGraph:
    """The unit disc graph of given points in the unit square, connected or not."""
    offsets, neighbours = _link(x, y, radius)
    by_x = np.lexsort((y, x)).astype(np.int32)
    return UnitDiscGraph(x, y, offsets, neighbours, by_x, widest_distance(x, y, by_x), placements)


@compiled
def _place_connected(
    dice: Dice, nodes: int, radius: float, max_graph_draws: int
) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    x = np.empty(nodes)
    y = np.empty(nodes)
    for placement in range(max_graph_draws):
        for i in range(nodes):
            x[i] = unit(dice)
            y[i] = unit(dice)
        if _is_connected(x, y, radius):
            return placement + 1, x, y
    return 0, x, y


@compiled
def _sort_into_cells(
    x: NDArray[np.float64], y: NDArray[np.float64], cells: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where each cell's nodes start, and the nodes in cell order (ascending within a cell)."""
    nodes = x.shape[0]
    cell = np.empty(nodes, np.int32)
    starts = np.zeros(cells * cells + 1, np.int32)
    for i in range(nodes):
        column = min(cells - 1, int(x[i] * cells))
        row = min(cells - 1, int(y[i] * cells))
        cell[i] = row * cells + column
        starts[cell[i] + 1] += 1
    for c in range(cells * cells):
        starts[c + 1] += starts[c]
    free = starts[:-1].copy()
    sorted_nodes = np.empty(nodes, np.int32)
    for i in range(nodes):
        sorted_nodes[free[cell[i]]] = i
        free[cell[i]] += 1
    return starts, sorted_nodes


@compiled
def _cells_across(radius: float, nodes: int) -> int:
    """As many cells as leave each one at least a radius wide, but not far more cells than nodes."""
    return max(1, min(int(1.0 / radius), int(np.sqrt(nodes)) + 1))


@compiled
def _find_root(parent: NDArray[np.int32], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@compiled
def _is_connected(x: NDArray[np.float64], y: NDArray[np.float64], radius: float) -> bool:
    """Whether the graph is connected; a node without neighbours ends the search at once."""
    nodes = x.shape[0]
    cells = _cells_across(radius, nodes)
    starts, sorted_nodes = _sort_into_cells(x, y, cells)
    parent = np.arange(nodes).astype(np.int32)
    parts = nodes
    for i in range(nodes):
        alone = True
        column = min(cells - 1, int(x[i] * cells))
        row = min(cells - 1, int(y[i] * cells))
        for r in range(max(0, row - 1), min(cells, row + 2)):
            for k in range(starts[r * cells + max(0, column - 1)], starts[r * cells + min(cells - 1, column + 1) + 1]):
                j = sorted_nodes[k]
                if j != i and (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 < radius * radius:
                    alone = False
                    if j < i:
                        a = _find_root(parent, i)
                        b = _find_root(parent, j)
                        if a != b:
                            parent[a] = b
                            parts -= 1
        if alone:
            return False
    return bool(parts == 1)


@compiled
def _link(x: NDArray[np.float64], y: NDArray[np.float64], radius: float) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    nodes = x.shape[0]
    cells = _cells_across(radius, nodes)
    starts, sorted_nodes = _sort_into_cells(x, y, cells)
    offsets = np.zeros(nodes + 1, np.int32)
    found = np.empty(16 * nodes + 16, np.int32)
    size = 0
    for i in range(nodes):
        column = min(cells - 1, int(x[i] * cells))
        row = min(cells - 1, int(y[i] * cells))
        for r in range(max(0, row - 1), min(cells, row + 2)):
            for k in range(starts[r * cells + max(0, column - 1)], starts[r * cells + min(cells - 1, column + 1) + 1]):
                j = sorted_nodes[k]
                if j != i and (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 < radius * radius:
                    if size == found.shape[0]:
                        found = np.concatenate((found, np.empty(size, np.int32)))
                    found[size] = j
                    size += 1
        found[offsets[i] : size].sort()
        offsets[i + 1] = size
    return offsets, found[:size].copy()
