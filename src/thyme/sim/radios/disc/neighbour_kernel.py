"""Nodes within range of a possibly moving node, compiled.

A node's position is that of its movement leg at the queried time. Nodes are sorted into squares as wide as the range
plus a margin, so that three by three squares hold all nodes in range until the fastest node could have used up half the
margin, or a node jumps; then all are sorted again. Positions outside the area count towards the border squares.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thyme.compiled import borrowing, entry, opener

_NUMBER, _REAL = np.dtype(np.int64), np.dtype(np.float64)

SCALARS = np.dtype(
    [
        *((name, np.float64) for name in ("range_m", "square_m", "life_s", "until_s", "from_x_m", "from_y_m")),
        *((name, np.int64) for name in ("across", "down", "next_jump")),
    ]
)
"""The range, how long a sorting is valid, until when the current one is, and the layout of the squares."""
LEG = np.dtype([(name, np.float64) for name in ("start_s", "x_m", "y_m", "vx_mps", "vy_mps")])
SPOT = np.dtype([("x_m", np.float64), ("y_m", np.float64), ("leg", np.int64), ("column", np.int64), ("row", np.int64)])
"""A node's last queried position and leg, and its square at the last sorting."""

TABLES = {
    "scalars": SCALARS, "leg": LEG, "leg_first": _NUMBER, "jump_s": _REAL, "spot": SPOT,
    "square_first": _NUMBER, "square_node": _NUMBER, "cursor": _NUMBER, "found": _NUMBER, "found_m": _REAL,
}  # fmt: skip
AROUND = 9
"""The squares examined: the rows of `cursor`."""

_opened = opener(TABLES)
Tables = Any


@borrowing
def _locate(t: Tables, node: int, at_s: float) -> None:
    """Update a node's position. Before its first leg starts, it is where that leg starts."""
    spot = t.spot[node]
    leg = spot.leg
    while leg + 1 < t.leg_first[node + 1] and t.leg[leg + 1].start_s <= at_s:
        leg += 1
    while leg > t.leg_first[node] and t.leg[leg].start_s > at_s:
        leg -= 1
    spot.leg = leg
    elapsed_s = max(0.0, at_s - t.leg[leg].start_s)
    spot.x_m = t.leg[leg].x_m + t.leg[leg].vx_mps * elapsed_s
    spot.y_m = t.leg[leg].y_m + t.leg[leg].vy_mps * elapsed_s


@borrowing
def _along(offset_m: float, square_m: float, squares: int) -> int:
    return int(min(max(math.floor(offset_m / square_m), 0.0), squares - 1.0))


@borrowing
def _sort(t: Tables, at_s: float) -> None:
    """Sort all nodes into squares, by index within each, and set how long that is valid."""
    scalars, squares = t.scalars[0], t.scalars[0].across * t.scalars[0].down
    for square in range(squares + 1):
        t.square_first[square] = 0
    for node in range(len(t.spot)):
        _locate(t, node, at_s)
        spot = t.spot[node]
        spot.column = _along(spot.x_m - scalars.from_x_m, scalars.square_m, scalars.across)
        spot.row = _along(spot.y_m - scalars.from_y_m, scalars.square_m, scalars.down)
        t.square_first[spot.row * scalars.across + spot.column] += 1
    for square in range(squares):
        t.square_first[square + 1] += t.square_first[square]
    for node in range(len(t.spot) - 1, -1, -1):
        square = t.spot[node].row * scalars.across + t.spot[node].column
        t.square_first[square] -= 1
        t.square_node[t.square_first[square]] = node
    while scalars.next_jump < len(t.jump_s) and t.jump_s[scalars.next_jump] <= at_s:
        scalars.next_jump += 1
    scalars.until_s = at_s + scalars.life_s
    if scalars.next_jump < len(t.jump_s):
        scalars.until_s = min(scalars.until_s, t.jump_s[scalars.next_jump])


@borrowing
def _apart_m(t: Tables, node: int, other: int) -> float:
    x_m, y_m = t.spot[node].x_m - t.spot[other].x_m, t.spot[node].y_m - t.spot[other].y_m
    return math.sqrt(x_m * x_m + y_m * y_m)


@borrowing
def _open_squares(t: Tables, node: int) -> int:
    """Point cursors at the non-empty squares around a node; returns their number."""
    scalars, spot = t.scalars[0], t.spot[node]
    count = 0
    for row in range(max(0, spot.row - 1), min(scalars.down, spot.row + 2)):
        for column in range(max(0, spot.column - 1), min(scalars.across, spot.column + 2)):
            square = row * scalars.across + column
            if t.square_first[square] < t.square_first[square + 1]:
                t.cursor[2 * count], t.cursor[2 * count + 1] = t.square_first[square], t.square_first[square + 1]
                count += 1
    return count


@entry
def reach(addresses: int, node: int, at_s: float) -> int:
    """Write the nodes within range of a node, by index, and their distances; returns their number."""
    t = _opened(addresses)
    scalars = t.scalars[0]
    if at_s >= scalars.until_s:
        _sort(t, at_s)
    _locate(t, node, at_s)
    squares, found = _open_squares(t, node), 0
    while squares > 0:
        # Squares are sorted: the smallest node at a cursor is the next one overall.
        first = 0
        for k in range(1, squares):
            if t.square_node[t.cursor[2 * k]] < t.square_node[t.cursor[2 * first]]:
                first = k
        other = t.square_node[t.cursor[2 * first]]
        t.cursor[2 * first] += 1
        if t.cursor[2 * first] == t.cursor[2 * first + 1]:
            squares -= 1
            t.cursor[2 * first], t.cursor[2 * first + 1] = t.cursor[2 * squares], t.cursor[2 * squares + 1]
        if other != node:
            _locate(t, other, at_s)
            away_m = _apart_m(t, node, other)
            if away_m <= scalars.range_m:
                t.found[found], t.found_m[found] = other, away_m
                found += 1
    return found


@entry
def reach_one(addresses: int, node: int, other: int, at_s: float) -> int:
    """The same for one other node."""
    t = _opened(addresses)
    _locate(t, node, at_s)
    _locate(t, other, at_s)
    t.found[0], t.found_m[0] = other, _apart_m(t, node, other)
    return 1 if t.found_m[0] <= t.scalars[0].range_m else 0
