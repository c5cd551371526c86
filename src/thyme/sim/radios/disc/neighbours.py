"""Neighbours: who is within range of a node now, by distance. Where nobody ever moves, each node is looked at once."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import address_book
from thyme.sim.radios.disc.near import Near
from thyme.sim.radios.disc.reaching import AROUND, DESK, LEG, SPOT, TABLES, reach, reach_one
from thyme.world.mobility.movement import Movement

MARGIN = 0.25
"""Of the range: how far nodes may come nearer to each other before they are sorted into squares again."""
MOST_SQUARES = 1_000_000


class Neighbours:
    """Reach by distance."""

    def __init__(self, movement: Movement, range_m: float) -> None:
        speed_mps = float(np.hypot(movement.vx_mps, movement.vy_mps).max(initial=0.0))
        jumps_s = movement.jumps_s()
        self._nearby: list[Near | None] | None = None
        if speed_mps == 0.0 and len(jumps_s) == 0:
            self._nearby = [None] * movement.nodes
        desk = np.zeros(1, DESK)
        desk["range_m"], desk["until_s"] = range_m, -inf
        # Both ends may have moved since they were sorted, hence twice the speed.
        desk["life_s"] = MARGIN * range_m / (2.0 * speed_mps) if speed_mps > 0.0 else inf
        squares = _lay_squares(desk, movement, range_m * (1.0 + MARGIN))
        legs = np.zeros(len(movement.start_s), LEG)
        for name in LEG.names or ():
            legs[name] = getattr(movement, name)
        spots = np.zeros(movement.nodes, SPOT)
        spots["leg"] = movement.first[:-1]
        found, found_m = np.zeros(max(1, movement.nodes), np.int64), np.zeros(max(1, movement.nodes), np.float64)
        self._tables = {
            "desk": desk, "leg": legs, "leg_first": movement.first, "jump_s": jumps_s, "spot": spots,
            "square_first": np.zeros(squares + 1, np.int64), "square_node": np.zeros(movement.nodes, np.int64),
            "cursor": np.zeros(2 * AROUND, np.int64), "found": found, "found_m": found_m,
        }  # fmt: skip
        self._book = address_book(self._tables[name] for name in TABLES)
        self._address: int = self._book.ctypes.data
        self._found = Near(found, found_m, 0)

    def within(self, node: int, at_s: float) -> Near:
        if self._nearby is None:
            self._found.count = reach(self._address, node, at_s)
            return self._found
        near = self._nearby[node]
        if near is None:
            self._found.count = reach(self._address, node, at_s)
            near = self._nearby[node] = self._found.kept()
        return near

    def towards(self, node: int, other: int, at_s: float) -> Near:
        self._found.count = reach_one(self._address, node, other, at_s)
        return self._found


def _lay_squares(desk: NDArray[np.void], movement: Movement, square_m: float) -> int:
    """Over everywhere that a leg starts; how many squares that takes."""
    desk["from_x_m"], desk["from_y_m"] = movement.x_m.min(initial=inf), movement.y_m.min(initial=inf)
    width_m, height_m = (float(np.ptp(column)) if len(column) else 0.0 for column in (movement.x_m, movement.y_m))
    square_m = max(square_m, sqrt(width_m * height_m / MOST_SQUARES), max(width_m, height_m) / MOST_SQUARES)
    desk["square_m"] = square_m
    desk["across"], desk["down"] = int(width_m / square_m) + 1, int(height_m / square_m) + 1
    return int(desk["across"][0] * desk["down"][0])
