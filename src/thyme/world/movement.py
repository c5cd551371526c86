"""Movement: where every node is at any instant, as pieces of straight lines.

A movement is a table of legs, all nodes' legs one after the other (`first[i]` to `first[i + 1]` are node
i's). A leg says: from `start_s` on the node is at (`x_m`, `y_m`) and moves with (`vx_mps`, `vy_mps`) until
the next leg starts; a pause is a leg with no velocity, and the last leg lasts for ever. Every mobility model
and every trace reader produces this one table, and the radios read it by node index without asking anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.model.errors import InputError
from thyme.model.geometry import Point

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

JUMP_M = 0.5
"""A leg that starts this far from where the one before it ended is a jump."""


class Leg(NamedTuple):
    """One piece of a node's way: a start in time and space, and a constant velocity."""

    start_s: float
    x_m: float
    y_m: float
    vx_mps: float = 0.0
    vy_mps: float = 0.0


@dataclass(frozen=True, slots=True)
class Movement:
    """Positions of `nodes` nodes as a function of time, in an area of `width_m` × `height_m`."""

    width_m: float
    height_m: float
    first: Ints
    start_s: Floats
    x_m: Floats
    y_m: Floats
    vx_mps: Floats
    vy_mps: Floats

    def __post_init__(self) -> None:
        _check_area(self.width_m, self.height_m)
        _check_table(self)

    @property
    def nodes(self) -> int:
        return len(self.first) - 1

    def leg(self, node: int, at_s: float) -> int:
        """The index of the leg that `node` is on at `at_s` (its first leg before that leg starts)."""
        low, high = int(self.first[node]), int(self.first[node + 1])
        return max(low, low + int(np.searchsorted(self.start_s[low:high], at_s, side="right")) - 1)

    def position(self, node: int, at_s: float) -> Point:
        leg = self.leg(node, at_s)
        elapsed_s = max(0.0, at_s - float(self.start_s[leg]))
        return Point(
            float(self.x_m[leg] + self.vx_mps[leg] * elapsed_s),
            float(self.y_m[leg] + self.vy_mps[leg] * elapsed_s),
        )

    def legs(self, at_s: float) -> Ints:
        """The leg of every node at one instant: one bisection for all nodes at once."""
        low, high = self.first[:-1].copy(), self.first[1:].copy()
        for _ in range(int((high - low).max(initial=1)).bit_length()):
            middle = (low + high) >> 1
            started = (self.start_s[middle] <= at_s) & (middle > low)
            open_still = high - low > 1
            low = np.where(open_still & started, middle, low)
            high = np.where(open_still & ~started, middle, high)
        return low

    def positions(self, at_s: float) -> Floats:
        """All positions at one instant, as an array of (node, 2)."""
        legs = self.legs(at_s)
        elapsed_s = np.maximum(0.0, at_s - self.start_s[legs])
        return np.column_stack(
            (self.x_m[legs] + self.vx_mps[legs] * elapsed_s, self.y_m[legs] + self.vy_mps[legs] * elapsed_s)
        )

    def jumps_s(self) -> Floats:
        """Times at which a node's position jumps, in order."""
        lasted_s = np.diff(self.start_s)
        gap_m = np.hypot(
            np.diff(self.x_m) - self.vx_mps[:-1] * lasted_s, np.diff(self.y_m) - self.vy_mps[:-1] * lasted_s
        )
        same = np.ones(len(lasted_s), dtype=np.bool_)
        same[self.first[1:-1] - 1] = False
        return np.unique(self.start_s[1:][same & (gap_m > JUMP_M)])

    def node_legs(self, node: int) -> list[Leg]:
        """The legs of one node, as records."""
        low, high = int(self.first[node]), int(self.first[node + 1])
        columns = (self.start_s, self.x_m, self.y_m, self.vx_mps, self.vy_mps)
        return [Leg(*row) for row in zip(*(column[low:high].tolist() for column in columns), strict=True)]


def movement_of_legs(width_m: float, height_m: float, ways: Iterable[Sequence[Leg]]) -> Movement:
    """The movement in which node i follows the legs `ways[i]`."""
    rows: list[Leg] = []
    first = [0]
    for way in ways:
        rows.extend(way)
        first.append(len(rows))
    table = np.array(rows, dtype=np.float64).reshape(-1, 5)
    columns = [np.ascontiguousarray(table[:, column]) for column in range(5)]
    return Movement(width_m, height_m, np.array(first, dtype=np.int64), *columns)


def walk(waypoints: Sequence[tuple[float, float, float]]) -> list[Leg]:
    """The legs of a node that walks straight from waypoint (at_s, x_m, y_m) to waypoint and then stays."""
    legs: list[Leg] = []
    for (at_s, x_m, y_m), (then_s, to_x_m, to_y_m) in pairwise(waypoints):
        if then_s <= at_s:
            raise InputError(f"waypoints at {at_s:g} s and {then_s:g} s are not in ascending order of time")
        legs.append(Leg(at_s, x_m, y_m, (to_x_m - x_m) / (then_s - at_s), (to_y_m - y_m) / (then_s - at_s)))
    return [*legs, Leg(*waypoints[-1])]


def trip(start_s: float, here: Point, there: Point, speed_mps: float) -> tuple[Leg, float]:
    """The leg from `here` to `there` at `speed_mps`, and the instant of arrival."""
    distance_m = hypot(there.x_m - here.x_m, there.y_m - here.y_m)
    if distance_m == 0.0:
        return Leg(start_s, here.x_m, here.y_m), start_s
    toward = speed_mps / distance_m
    leg = Leg(start_s, here.x_m, here.y_m, (there.x_m - here.x_m) * toward, (there.y_m - here.y_m) * toward)
    return leg, start_s + (distance_m / speed_mps if speed_mps > 0.0 else inf)


def _check_area(width_m: float, height_m: float) -> None:
    if not (0.0 < width_m < inf and 0.0 < height_m < inf):
        raise InputError(f"area {width_m:g} m × {height_m:g} m: both sides must be positive and finite")


def _check_table(movement: Movement) -> None:
    first, columns = movement.first, ("start_s", "x_m", "y_m", "vx_mps", "vy_mps")
    if first.dtype != np.int64 or len(first) == 0 or first[0] != 0 or first[-1] != len(movement.start_s):
        raise InputError("movement: `first` must be 64-bit whole numbers from 0 to the number of legs")
    for name in columns:
        column: Floats = getattr(movement, name)
        if column.dtype != np.float64 or not column.flags.c_contiguous or column.shape != movement.start_s.shape:
            raise InputError(f"movement: `{name}` must be a contiguous column of 64-bit floats, one per leg")
        if not np.isfinite(column).all():
            leg = int(np.argmin(np.isfinite(column)))
            node = int(np.searchsorted(first, leg, side="right")) - 1
            raise InputError(f"movement: `{name}` of node {node}, leg {leg - int(first[node])} is not a finite number")
    short = np.flatnonzero(np.diff(first) < 1)
    if len(short):
        raise InputError(f"movement: node {int(short[0])} has no legs; give it at least its place")
    backward = np.diff(movement.start_s) <= 0.0
    backward[first[1:-1] - 1] = False
    if backward.any():
        leg = int(np.argmax(backward)) + 1
        node = int(np.searchsorted(first, leg, side="right")) - 1
        raise InputError(
            f"movement: legs of node {node} do not start in ascending order, at {movement.start_s[leg]:g} s"
        )
