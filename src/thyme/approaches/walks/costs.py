"""What a step costs: Eq. (1), (2) and (3) of the walks paper, from marks and neighbour lists alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.approaches.walks.board import Board, slot_of
from thyme.approaches.walks.compiled import compiled
from thyme.approaches.walks.readings import Rules


class Links(NamedTuple):
    offsets: NDArray[np.int32]
    neighbours: NDArray[np.int32]


@compiled
def beside(links: Links, node: int) -> NDArray[np.int32]:
    return links.neighbours[links.offsets[node] : links.offsets[node + 1]]


@compiled
def mark_around(links: Links, board: Board, walk: int, node: int, second: bool) -> None:
    """The neighbours of a node overhear it and mark themselves; with `second`, so do their neighbours."""
    slot = slot_of(walk)
    for v in beside(links, node):
        if board.marked[slot, v] != walk + 1:
            board.marked[slot, v] = walk + 1
            if second:
                for w in beside(links, v):
                    board.marked_second[slot, w] = walk + 1


@compiled
def count_marked(links: Links, marks: NDArray[np.int32], stamp: int, node: int) -> int:
    """|N(v) ∩ marked|: Eq. (3), and each half of Eq. (2)."""
    count = 0
    for v in beside(links, node):
        if marks[v] == stamp:
            count += 1
    return count


@compiled
def count_shared(links: Links, a: int, b: int) -> int:
    """|N(a) ∩ N(b)|: the weight of Eq. (1)."""
    left = beside(links, a)
    right = beside(links, b)
    i = j = count = 0
    while i < left.shape[0] and j < right.shape[0]:
        if left[i] == right[j]:
            count += 1
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return count


@compiled
def cost_of(links: Links, board: Board, rules: Rules, walk: int, branch: int, node: int) -> float:
    slot = slot_of(walk)
    if rules.by_weight:
        cost = float(count_shared(links, board.before[slot, branch], node))
        if board.stepped[slot, node] == walk + 1:
            cost += rules.penalty * board.visits[slot, node]
        return cost
    near = count_marked(links, board.marked[slot], walk + 1, node)
    if rules.second:
        far = count_marked(links, board.marked_second[slot], walk + 1, node)
        return rules.alpha * near + rules.beta * far
    return float(near)
