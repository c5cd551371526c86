"""What one overlay under construction remembers: who is on which walk, what is marked, and the trace.

A node belongs to the walk that first took it; where a second walk comes in, the node becomes a broker. Only
the first two walks ever run at the same time, so whatever a walk remembers for itself (where it has been,
what it marked, its branches) lies in one of two slots, stamped with the walk's number plus one, and is never
cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.approaches.walks.compiled import compiled

NOBODY = -1

STARTED, WENT_ON, WENT_BACK, MET, LEFT = 0, 1, 2, 3, 4
"""Kinds of trace rows: a walk's first node, a step, a step back, the broker it ended at, a node pruned."""

HOPS, MEMBERS, ACTIVE, VISITED, BROKERS, TRACED = 0, 1, 2, 3, 4, 5


class Board(NamedTuple):
    owner: NDArray[np.int32]
    broker: NDArray[np.bool_]
    holds: NDArray[np.bool_]  # on the way from its walk to a broker: pruning must leave it
    visited: NDArray[np.bool_]
    stepped: NDArray[np.int32]  # [slot, node] stamp of the walk that has been there
    visits: NDArray[np.int32]  # [slot, node] how often, valid under that stamp
    marked: NDArray[np.int32]  # [slot, node] stamp: N(DRW)
    marked_second: NDArray[np.int32]  # [slot, node] stamp: N²(DRW)
    stack: NDArray[np.int32]  # [slot, branch, i] the path from the initiator
    length: NDArray[np.int32]  # [slot, branch] of that path
    tip: NDArray[np.int32]  # [slot, branch] where the branch stands
    before: NDArray[np.int32]  # [slot, branch] where it came from
    tally: NDArray[np.int64]
    trace: NDArray[np.int32]  # [row, (walk, branch, node, kind)], as many rows as were asked for


@compiled
def new_board(nodes: int, trace_rows: int) -> Board:
    return Board(
        np.full(nodes, NOBODY, np.int32),
        np.zeros(nodes, np.bool_),
        np.zeros(nodes, np.bool_),
        np.zeros(nodes, np.bool_),
        np.zeros((2, nodes), np.int32),
        np.zeros((2, nodes), np.int32),
        np.zeros((2, nodes), np.int32),
        np.zeros((2, nodes), np.int32),
        np.zeros((2, 2, nodes), np.int32),
        np.zeros((2, 2), np.int32),
        np.full((2, 2), NOBODY, np.int32),
        np.full((2, 2), NOBODY, np.int32),
        np.zeros(6, np.int64),
        np.zeros((trace_rows, 4), np.int32),
    )


@compiled
def slot_of(walk: int) -> int:
    return 1 if walk == 1 else 0


@compiled
def write_trace(board: Board, walk: int, branch: int, node: int, kind: int) -> None:
    row = board.tally[TRACED]
    if row < board.trace.shape[0]:
        board.trace[row, 0] = walk
        board.trace[row, 1] = branch
        board.trace[row, 2] = node
        board.trace[row, 3] = kind
    board.tally[TRACED] += 1


@compiled
def is_elsewhere(board: Board, walk: int, node: int) -> bool:
    """Whether the node is part of another walk."""
    return bool(board.broker[node] or (board.owner[node] != NOBODY and board.owner[node] != walk))


@compiled
def take(board: Board, walk: int, node: int) -> None:
    """Adds a node to V'_x, once."""
    slot = slot_of(walk)
    if board.stepped[slot, node] != walk + 1:
        board.stepped[slot, node] = walk + 1
        board.visits[slot, node] = 0
    board.visits[slot, node] += 1
    if not board.visited[node]:
        board.visited[node] = True
        board.tally[VISITED] += 1
    if board.owner[node] == NOBODY:
        board.owner[node] = walk
        board.tally[ACTIVE] += 1
        board.tally[MEMBERS] += 1


@compiled
def push(board: Board, walk: int, branch: int, node: int) -> None:
    slot = slot_of(walk)
    board.stack[slot, branch, board.length[slot, branch]] = node
    board.length[slot, branch] += 1


@compiled
def pop(board: Board, walk: int, branch: int, prunes: bool) -> None:
    """Takes the last node off a branch's path; a pruned node is free again unless a broker hangs on it."""
    slot = slot_of(walk)
    board.length[slot, branch] -= 1
    node = board.stack[slot, branch, board.length[slot, branch]]
    if board.broker[node] or board.holds[node]:
        board.holds[board.stack[slot, branch, board.length[slot, branch] - 1]] = True
    elif prunes:
        board.owner[node] = NOBODY
        board.tally[ACTIVE] -= 1
        board.tally[MEMBERS] -= 1
        write_trace(board, walk, branch, node, LEFT)


@compiled
def make_broker(board: Board, node: int) -> None:
    if not board.broker[node]:
        board.broker[node] = True
        board.tally[BROKERS] += 1
