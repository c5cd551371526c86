"""What a step costs: Eq. (1), (2) and (3) of the walks paper, from marks and neighbour lists alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled
from thyme.papers.walks.overlay_state import Board, slot_of
from thyme.papers.walks.readings import Rules


class LinkArrays(NamedTuple):
    offsets: NDArray[np.int32]
    neighbours: NDArray[np.int32]


@compiled
def beside(links: LinkArrays, node: int) -> NDArray[np.int32]:
    return links.neighbours[links.offsets[node] : links.offsets[node + 1]]


@compiled
def mark_around(links: LinkArrays, board: Board, walk: int, node: int, second: bool) -> None:
    """The neighbours of a node overhear it and mark themselves; with `second`, so do their neighbours."""
    slot = slot_of(walk)
    for v in beside(links, node):
        if board.memory[slot, v].marked != walk + 1:
            board.memory[slot, v].marked = walk + 1
            if second:
                for w in beside(links, v):
                    board.memory[slot, w].marked_second = walk + 1


@compiled
def count_marked(links: LinkArrays, board: Board, walk: int, node: int) -> int:
    """|N(v) ∩ N(DRW)|: Eq. (3), and the first half of Eq. (2)."""
    slot = slot_of(walk)
    count = 0
    for v in beside(links, node):
        if board.memory[slot, v].marked == walk + 1:
            count += 1
    return count


@compiled
def count_marked_second(links: LinkArrays, board: Board, walk: int, node: int) -> int:
    """|N(v) ∩ N²(DRW)|: the second half of Eq. (2)."""
    slot = slot_of(walk)
    count = 0
    for v in beside(links, node):
        if board.memory[slot, v].marked_second == walk + 1:
            count += 1
    return count


@compiled
def count_shared(links: LinkArrays, a: int, b: int) -> int:
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
def cost_of(links: LinkArrays, board: Board, rules: Rules, walk: int, branch: int, node: int) -> float:
    slot = slot_of(walk)
    if rules.by_weight:
        cost = float(count_shared(links, board.branch[slot, branch].before, node))
        if board.memory[slot, node].stepped == walk + 1:
            cost += rules.penalty * board.memory[slot, node].visits
        return cost
    cost = float(count_marked(links, board, walk, node))
    if rules.second:
        return rules.alpha * cost + rules.beta * count_marked_second(links, board, walk, node)
    return cost
