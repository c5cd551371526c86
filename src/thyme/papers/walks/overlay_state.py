"""The state of one overlay under construction: the walk of each node, what is marked, and the trace.

A node belongs to the walk that reached it first; when a second walk reaches it, the node becomes a broker. Only the
first two walks ever run at the same time, so the state of a walk (its path, its marks, its branches) is in one of two
slots, stamped with the walk's number plus one, and is never cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled

NOBODY = -1

STARTED, WENT_ON, WENT_BACK, MET, LEFT = 0, 1, 2, 3, 4
"""Kinds of trace rows: a walk's first node, a step, a step back, the broker it ended at, a node pruned."""

HOPS, MEMBERS, ACTIVE, VISITED, BROKERS, TRACED = 0, 1, 2, 3, 4, 5


# what all walks know of a node: its walk, whether walks meet there, whether it is on the way from its walk to a
# broker (pruning must leave it), whether any walk has been there
PLACE = np.dtype([("owner", np.int32), ("broker", np.bool_), ("holds", np.bool_), ("visited", np.bool_)])

# what one walk knows of a node: the stamp of the walk that has been there and how often it was, and the stamps
# of the walks that marked it as part of N(DRW) and N²(DRW)
MEMORY = np.dtype([("stepped", np.int32), ("visits", np.int32), ("marked", np.int32), ("marked_second", np.int32)])

# length, position and origin of a branch's path
BRANCH = np.dtype([("length", np.int32), ("tip", np.int32), ("before", np.int32)])


class Board(NamedTuple):
    """Few arrays of records rather than many arrays: numba compiles calls that pass them in half the time."""

    place: NDArray[np.void]  # [node]
    memory: NDArray[np.void]  # [slot, node]
    branch: NDArray[np.void]  # [slot, branch]
    stack: NDArray[np.int32]  # [slot, branch, i] the path from the initiator
    tally: NDArray[np.int64]
    trace: NDArray[np.int32]  # [row, (walk, branch, node, kind)], as many rows as were asked for


def new_board(nodes: int, trace_rows: int = 0) -> Board:
    board = Board(
        np.zeros(nodes, PLACE),
        np.zeros((2, nodes), MEMORY),
        np.zeros((2, 2), BRANCH),
        np.zeros((2, 2, nodes), np.int32),
        np.zeros(6, np.int64),
        np.zeros((trace_rows, 4), np.int32),
    )
    clear(board)
    return board


@compiled
def clear(board: Board) -> None:
    """Reset the board for the next overlay."""
    for node in range(board.place.shape[0]):
        board.place[node].owner = NOBODY
        board.place[node].broker = False
        board.place[node].holds = False
        board.place[node].visited = False
        for slot in range(2):
            board.memory[slot, node].stepped = 0
            board.memory[slot, node].marked = 0
            board.memory[slot, node].marked_second = 0
    for number in range(board.tally.shape[0]):
        board.tally[number] = 0


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
    return bool(board.place[node].broker or (board.place[node].owner != NOBODY and board.place[node].owner != walk))


@compiled
def take(board: Board, walk: int, node: int) -> None:
    """Adds a node to V'_x, once."""
    slot = slot_of(walk)
    if board.memory[slot, node].stepped != walk + 1:
        board.memory[slot, node].stepped = walk + 1
        board.memory[slot, node].visits = 0
    board.memory[slot, node].visits += 1
    if not board.place[node].visited:
        board.place[node].visited = True
        board.tally[VISITED] += 1
    if board.place[node].owner == NOBODY:
        board.place[node].owner = walk
        board.tally[ACTIVE] += 1
        board.tally[MEMBERS] += 1


@compiled
def push(board: Board, walk: int, branch: int, node: int) -> None:
    slot = slot_of(walk)
    board.stack[slot, branch, board.branch[slot, branch].length] = node
    board.branch[slot, branch].length += 1


@compiled
def pop(board: Board, walk: int, branch: int, prunes: bool) -> None:
    """Takes the last node off a branch's path; a pruned node is free again unless a broker hangs on it."""
    slot = slot_of(walk)
    board.branch[slot, branch].length -= 1
    node = board.stack[slot, branch, board.branch[slot, branch].length]
    if board.place[node].broker or board.place[node].holds:
        board.place[board.stack[slot, branch, board.branch[slot, branch].length - 1]].holds = True
    elif prunes:
        board.place[node].owner = NOBODY
        board.tally[ACTIVE] -= 1
        board.tally[MEMBERS] -= 1
        write_trace(board, walk, branch, node, LEFT)


@compiled
def make_broker(board: Board, node: int) -> None:
    if not board.place[node].broker:
        board.place[node].broker = True
        board.tally[BROKERS] += 1
