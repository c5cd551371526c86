"""The construction of an overlay on a graph: Algorithms 1 and 2 of the walks paper, compiled.

One hop per turn: the first two walks take turns, and so do the branches of a walk. A walk looks for another walk,
chooses the next node by its method, steps, or goes back one node when there is no new one. What the paper leaves open
is in `Rules` (readings.py). No positions are used, only links.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled
from thyme.papers.walks.costs import LinkArrays, beside, cost_of, mark_around
from thyme.papers.walks.overlay_state import (
    HOPS,
    MEMBERS,
    MET,
    NOBODY,
    STARTED,
    WENT_BACK,
    WENT_ON,
    Board,
    is_elsewhere,
    make_broker,
    pop,
    push,
    slot_of,
    take,
    write_trace,
)
from thyme.papers.walks.random_numbers import Dice, below
from thyme.papers.walks.readings import Rules


@compiled
def choose_next(links: LinkArrays, board: Board, rules: Rules, walk: int, branch: int, dice: Dice) -> int:
    """The candidate of least cost, or none; the first step of a walk and every pure step is random."""
    slot = slot_of(walk)
    tip = board.branch[slot, branch].tip
    first = board.branch[slot, branch].before == NOBODY
    blind = rules.pure or (first and (branch == 0 or rules.by_weight))
    if blind and rules.revisits:
        around = beside(links, tip)
        return int(around[below(dice, around.shape[0])])
    best = NOBODY
    least = np.inf
    equals = 0
    for v in beside(links, tip):
        if board.memory[slot, v].stepped == walk + 1 and not rules.revisits:
            continue
        cost = 0.0 if blind else cost_of(links, board, rules, walk, branch, v)
        if cost < least:
            least = cost
            best = v
            equals = 1
        elif cost == least and (blind or not rules.first_tie):
            equals += 1
            if below(dice, equals) == 0:
                best = v
    return int(best)


@compiled
def find_walk(links: LinkArrays, board: Board, walk: int, node: int) -> int:
    """The first neighbour that is part of another walk, or none."""
    for v in beside(links, node):
        if is_elsewhere(board, walk, v):
            return int(v)
    return NOBODY


@compiled
def join(board: Board, walk: int, branch: int, node: int) -> None:
    """The walk ends on a node of another walk: the node is on both and becomes a broker."""
    make_broker(board, node)
    board.tally[MEMBERS] += 1
    write_trace(board, walk, branch, node, MET)


@compiled
def start(links: LinkArrays, board: Board, rules: Rules, walk: int, node: int) -> bool:
    """Lines 1–9 of Algorithm 2; true when the initiator has met a walk without a step."""
    slot = slot_of(walk)
    for branch in range(2):
        board.branch[slot, branch].tip = node
        board.branch[slot, branch].before = NOBODY
        board.branch[slot, branch].length = 0
        push(board, walk, branch, node)
    met_here = board.place[node].owner != NOBODY
    write_trace(board, walk, 0, node, STARTED)
    if met_here:
        board.tally[MEMBERS] += 1
        make_broker(board, node)
        return True
    take(board, walk, node)
    if rules.as_printed:
        v = find_walk(links, board, walk, node)
        if v != NOBODY:
            make_broker(board, v)
            return True
    if rules.marks_last:
        mark_around(links, board, walk, node, rules.second)
    return False


@compiled
def erase_loop(board: Board, walk: int, branch: int, node: int) -> None:
    """Remove a loop: cut the branch back to `node`, which becomes its end."""
    slot = slot_of(walk)
    at = board.branch[slot, branch].length - 1
    while at >= 0 and board.stack[slot, branch, at] != node:
        at -= 1
    if at < 0:
        if board.place[node].owner == walk:  # the other branch's, or left standing for a broker: never prune it
            board.place[node].holds = True
        push(board, walk, branch, node)
    else:
        while board.branch[slot, branch].length > at + 1:
            pop(board, walk, branch, True)


@compiled
def step(links: LinkArrays, board: Board, rules: Rules, walk: int, branch: int, node: int) -> None:
    slot = slot_of(walk)
    tip = board.branch[slot, branch].tip
    board.branch[slot, branch].before = tip
    board.branch[slot, branch].tip = node
    write_trace(board, walk, branch, node, WENT_ON)
    if not rules.pure:
        mark_around(links, board, walk, node if rules.marks_last else tip, rules.second)
    if not rules.revisits:
        take(board, walk, node)
        push(board, walk, branch, node)
        return
    if rules.erases:
        erase_loop(board, walk, branch, node)
    take(board, walk, node)


@compiled
def go_back(links: LinkArrays, board: Board, rules: Rules, walk: int, branch: int) -> bool:
    """Line 19 of Algorithm 2; false at the initiator, from where there is no way back."""
    slot = slot_of(walk)
    if board.branch[slot, branch].length == 1:
        return False
    tip = board.branch[slot, branch].tip
    if not rules.pure and not rules.marks_last:
        mark_around(links, board, walk, tip, rules.second)
    pop(board, walk, branch, rules.prunes)
    board.branch[slot, branch].before = tip
    board.branch[slot, branch].tip = board.stack[slot, branch, board.branch[slot, branch].length - 1]
    write_trace(board, walk, branch, board.branch[slot, branch].tip, WENT_BACK)
    return True


@compiled
def take_turn(links: LinkArrays, board: Board, rules: Rules, walk: int, branch: int, dice: Dice) -> bool:
    """One hop of one branch; true when it met another walk."""
    slot = slot_of(walk)
    if not rules.steps_on:
        v = find_walk(links, board, walk, board.branch[slot, branch].tip)
        if v != NOBODY:
            board.tally[HOPS] += 1
            join(board, walk, branch, v)
            return True
    v = choose_next(links, board, rules, walk, branch, dice)
    if v == NOBODY:
        if go_back(links, board, rules, walk, branch):
            board.tally[HOPS] += 1
        return False
    board.tally[HOPS] += 1
    if is_elsewhere(board, walk, v):
        join(board, walk, branch, v)
        return True
    step(links, board, rules, walk, branch, v)
    return False


@compiled
def advance(links: LinkArrays, board: Board, rules: Rules, walk: int, dice: Dice) -> bool:
    """One turn of every branch; the walk has met as soon as one branch has."""
    met = False
    for branch in range(rules.branches):
        met = met or take_turn(links, board, rules, walk, branch, dice)
    return met


@compiled
def have_ended(one_met: bool, other_met: bool, rules: Rules) -> bool:
    return (one_met and other_met) if rules.each_meets else (one_met or other_met)


@compiled
def build_overlay(links: LinkArrays, board: Board, rules: Rules, initiators: NDArray[np.int32], dice: Dice) -> bool:
    """Algorithm 1 on a clear board; false if the walks took more turns than the maximum of hops."""
    met = np.zeros(initiators.shape[0], np.bool_)
    turns = 0
    low = 0
    high = 2
    while low < initiators.shape[0]:  # walks low … high − 1 run together: the first two, then one by one
        for walk in range(low, high):
            met[walk] = start(links, board, rules, walk, initiators[walk])
        while not have_ended(met[low], met[high - 1], rules):
            turns += 1
            if turns > rules.max_hops:
                return False
            for walk in range(low, high):
                if not met[walk] and not have_ended(met[low], met[high - 1], rules):
                    met[walk] = advance(links, board, rules, walk, dice)
        low = high
        high += 1
    return True
