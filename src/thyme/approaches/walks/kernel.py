"""The construction of an overlay on a graph: Algorithms 1 and 2 of the walks paper, compiled.

One hop per turn: the first two walks take turns, and so do the branches of a walk. A walk looks for another
walk, chooses the next node by its method, steps, or goes back one node when there is nobody new. What the
paper leaves open comes in as `Rules` (readings.py). No positions are used: only who hears whom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.approaches.walks.board import (
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
    new_board,
    pop,
    push,
    slot_of,
    take,
    write_trace,
)
from thyme.approaches.walks.compiled import compiled
from thyme.approaches.walks.costs import Links, beside, cost_of, mark_around
from thyme.approaches.walks.dice import Dice, below
from thyme.approaches.walks.readings import Rules


@compiled
def choose_next(links: Links, board: Board, rules: Rules, walk: int, branch: int, dice: Dice) -> int:
    """The candidate of least cost, or nobody; the first step of a walk and every pure step is at random."""
    slot = slot_of(walk)
    tip = board.tip[slot, branch]
    first = board.before[slot, branch] == NOBODY
    blind = rules.pure or (first and (branch == 0 or rules.by_weight))
    if blind and rules.revisits:
        around = beside(links, tip)
        return int(around[below(dice, around.shape[0])])
    best = NOBODY
    least = np.inf
    equals = 0
    for v in beside(links, tip):
        if board.stepped[slot, v] == walk + 1 and not rules.revisits:
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
def find_walk(links: Links, board: Board, walk: int, node: int) -> int:
    """The first neighbour that is part of another walk, or nobody."""
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
def start(links: Links, board: Board, rules: Rules, walk: int, node: int) -> bool:
    """Lines 1–9 of Algorithm 2; true when the initiator has met a walk without a step."""
    slot = slot_of(walk)
    for branch in range(2):
        board.tip[slot, branch] = node
        board.before[slot, branch] = NOBODY
        board.length[slot, branch] = 0
        push(board, walk, branch, node)
    met_here = board.owner[node] != NOBODY
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
    """Cuts the branch back to `node` where it has come round to it, and makes `node` its end."""
    slot = slot_of(walk)
    at = board.length[slot, branch] - 1
    while at >= 0 and board.stack[slot, branch, at] != node:
        at -= 1
    if at < 0:
        if board.owner[node] == walk:  # the other branch's, or left standing for a broker: never prune it
            board.holds[node] = True
        push(board, walk, branch, node)
    else:
        while board.length[slot, branch] > at + 1:
            pop(board, walk, branch, True)


@compiled
def step(links: Links, board: Board, rules: Rules, walk: int, branch: int, node: int) -> None:
    slot = slot_of(walk)
    tip = board.tip[slot, branch]
    board.before[slot, branch] = tip
    board.tip[slot, branch] = node
    write_trace(board, walk, branch, node, WENT_ON)
    if not rules.pure:
        mark_around(links, board, walk, node if rules.marks_last else tip, rules.second)
    if not rules.revisits:
        take(board, walk, node)
        push(board, walk, branch, node)
        return
    if rules.prunes:
        erase_loop(board, walk, branch, node)
    take(board, walk, node)


@compiled
def go_back(links: Links, board: Board, rules: Rules, walk: int, branch: int) -> bool:
    """Line 19 of Algorithm 2; false at the initiator, from where there is no way back."""
    slot = slot_of(walk)
    if board.length[slot, branch] == 1:
        return False
    tip = board.tip[slot, branch]
    if not rules.pure and not rules.marks_last:
        mark_around(links, board, walk, tip, rules.second)
    pop(board, walk, branch, rules.prunes)
    board.before[slot, branch] = tip
    board.tip[slot, branch] = board.stack[slot, branch, board.length[slot, branch] - 1]
    write_trace(board, walk, branch, board.tip[slot, branch], WENT_BACK)
    return True


@compiled
def take_turn(links: Links, board: Board, rules: Rules, walk: int, branch: int, dice: Dice) -> bool:
    """One hop of one branch; true when it met another walk."""
    slot = slot_of(walk)
    if not rules.steps_on:
        v = find_walk(links, board, walk, board.tip[slot, branch])
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
def advance(links: Links, board: Board, rules: Rules, walk: int, dice: Dice) -> bool:
    """One turn of every branch; the walk has met as soon as one branch has."""
    met = False
    for branch in range(rules.branches):
        met = met or take_turn(links, board, rules, walk, branch, dice)
    return met


@compiled
def build_overlay(
    links: Links, initiators: NDArray[np.int32], rules: Rules, trace_rows: int, dice: Dice
) -> tuple[bool, Board]:
    """Algorithm 1; false if the walks took more turns than the maximum of hops."""
    board = new_board(links.offsets.shape[0] - 1, trace_rows)
    start(links, board, rules, 0, initiators[0])
    met_second = start(links, board, rules, 1, initiators[1])
    met_first = met_second and not rules.each_meets
    turns = 0
    while not (met_first and met_second):
        turns += 1
        if turns > rules.max_hops:
            return False, board
        if not met_first:
            met_first = advance(links, board, rules, 0, dice)
            met_second = met_second or (met_first and not rules.each_meets)
        if not met_second:
            met_second = advance(links, board, rules, 1, dice)
            met_first = met_first or (met_second and not rules.each_meets)
    for walk in range(2, initiators.shape[0]):
        met = start(links, board, rules, walk, initiators[walk])
        while not met:
            turns += 1
            if turns > rules.max_hops:
                return False, board
            met = advance(links, board, rules, walk, dice)
    return True, board
