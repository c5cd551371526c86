"""The compiled loops of Girvan and Newman's algorithm (Newman and Girvan 2004).

Remove the tie that most shortest paths run over, count again, and keep the partition with the largest
modularity. Only the component that lost a tie is counted again. Among equals the first tie in order goes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled
from thyme.world.movement import Floats, Ints

SAME_BETWEENNESS = 1e-9
"""Two ties whose betweenness differs by less (relatively) are equal: the order of sums must not decide."""


@compiled
def split_by_betweenness(adjacency: NDArray[np.bool_], further_splits: int) -> Ints:
    """The community of each node in the partition with the largest modularity on the way down."""
    remaining = adjacency.copy()
    between = np.zeros(adjacency.shape)
    label = _components(remaining)
    for component in range(label.max() + 1):
        _count_paths(remaining, label, component, between)
    best, best_q, parts, splits_since = label, _modularity(adjacency, label), label.max() + 1, 0
    while splits_since <= further_splits:
        one, other = _heaviest(remaining, between)
        if one < 0:
            break
        remaining[one, other] = remaining[other, one] = False
        between[one, other] = between[other, one] = 0.0
        label = _components(remaining)
        _count_paths(remaining, label, label[one], between)
        if label[other] != label[one]:
            _count_paths(remaining, label, label[other], between)
        if label.max() + 1 > parts:
            parts = label.max() + 1
            q = _modularity(adjacency, label)
            splits_since += 1
            if q > best_q + SAME_BETWEENNESS:
                best, best_q, splits_since = label, q, 0
    return best


@compiled
def _components(adjacency: NDArray[np.bool_]) -> Ints:
    """Components numbered from 0 by their lowest member."""
    nodes = len(adjacency)
    label = np.full(nodes, -1, np.int64)
    queue = np.empty(nodes, np.int64)
    parts = 0
    for root in range(nodes):
        if label[root] >= 0:
            continue
        label[root], queue[0], head, tail = parts, root, 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for near in range(nodes):
                if adjacency[node, near] and label[near] < 0:
                    label[near] = parts
                    queue[tail] = near
                    tail += 1
        parts += 1
    return label


@compiled
def _count_paths(adjacency: NDArray[np.bool_], label: Ints, component: int, between: Floats) -> None:
    """Brandes' count of shortest paths over each tie of one component, into `between`."""
    members = np.flatnonzero(label == component)
    for one in members:
        for other in members:
            between[one, other] = 0.0
    nodes = len(adjacency)
    depth, paths = np.empty(nodes, np.int64), np.empty(nodes)
    flow, queue = np.empty(nodes), np.empty(nodes, np.int64)
    for root in members:
        depth[members], paths[members], flow[members] = -1, 0.0, 0.0
        depth[root], paths[root], queue[0], head, tail = 0, 1.0, root, 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for near in members:
                if adjacency[node, near]:
                    if depth[near] < 0:
                        depth[near] = depth[node] + 1
                        queue[tail] = near
                        tail += 1
                    if depth[near] == depth[node] + 1:
                        paths[near] += paths[node]
        for place in range(tail - 1, 0, -1):
            node = queue[place]
            for near in members:
                if adjacency[node, near] and depth[near] == depth[node] - 1:
                    share = paths[near] / paths[node] * (1.0 + flow[node])
                    flow[near] += share
                    between[node, near] += share
                    between[near, node] += share


@compiled
def _heaviest(adjacency: NDArray[np.bool_], between: Floats) -> tuple[int, int]:
    best_one, best_other, best = -1, -1, -1.0
    for one in range(len(adjacency)):
        for other in range(one):
            if adjacency[one, other] and between[one, other] > best * (1.0 + SAME_BETWEENNESS):
                best_one, best_other, best = one, other, between[one, other]
    return best_one, best_other


@compiled
def _modularity(adjacency: NDArray[np.bool_], label: Ints) -> float:
    degree = np.zeros(len(label))
    inside, ends = 0.0, np.zeros(label.max() + 1)
    for one in range(len(label)):
        for other in range(len(label)):
            if adjacency[one, other]:
                degree[one] += 1.0
                if label[one] == label[other]:
                    inside += 1.0
        ends[label[one]] += degree[one]
    total = degree.sum()
    if total == 0.0:
        return 0.0
    return float(inside / total - ((ends / total) ** 2).sum())
