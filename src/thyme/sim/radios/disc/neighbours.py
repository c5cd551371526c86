"""Nodes within range of a node, by distance. If no node moves, each node's neighbours are computed once."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import address_book
from thyme.sim.radios.disc.neighbour_kernel import AROUND, LEG, SCALARS, SPOT, TABLES, reach, reach_one
from thyme.world.movement import Movement

MARGIN = 0.25
"""Share of the range that nodes may approach each other before they are sorted into squares again."""
MOST_SQUARES = 1_000_000


class Near:
    """Nodes by index, and their distances."""

    __slots__ = ("_metres", "_nodes", "count", "metres_at", "nodes_at")

    def __init__(self, nodes: NDArray[np.int64], metres: NDArray[np.float64], count: int) -> None:
        self._nodes = nodes
        self._metres = metres
        self.count = count
        """How many rows of the columns are in use."""
        self.nodes_at: int = nodes.ctypes.data
        self.metres_at: int = metres.ctypes.data

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(zip(self._nodes[: self.count].tolist(), self._metres[: self.count].tolist(), strict=True))

    def kept(self) -> Near:
        """A copy with its own columns."""
        return Near(self._nodes[: self.count].copy(), self._metres[: self.count].copy(), self.count)


class Reach(Protocol):
    """The nodes in range of each other. Queries must be in order of time; a result is valid until the next query."""

    def within(self, node: int, at_s: float) -> Near:
        """The other nodes within range at `at_s`."""

    def towards(self, node: int, other: int, at_s: float) -> Near:
        """The other node, or an empty result if it is out of range."""


class Neighbours:
    """Reach by distance."""

    def __init__(self, movement: Movement, range_m: float) -> None:
        speed_mps = float(np.hypot(movement.vx_mps, movement.vy_mps).max(initial=0.0))
        jumps_s = movement.jumps_s()
        self._nearby: list[Near | None] | None = None
        if speed_mps == 0.0 and len(jumps_s) == 0:
            self._nearby = [None] * movement.nodes
        scalars = np.zeros(1, SCALARS)
        scalars["range_m"], scalars["until_s"] = range_m, -inf
        # Both ends may have moved since they were sorted, hence twice the speed.
        scalars["life_s"] = MARGIN * range_m / (2.0 * speed_mps) if speed_mps > 0.0 else inf
        squares = _lay_squares(scalars, movement, range_m * (1.0 + MARGIN))
        legs = np.zeros(len(movement.start_s), LEG)
        for name in LEG.names or ():
            legs[name] = getattr(movement, name)
        spots = np.zeros(movement.nodes, SPOT)
        spots["leg"] = movement.first[:-1]
        found, found_m = np.zeros(max(1, movement.nodes), np.int64), np.zeros(max(1, movement.nodes), np.float64)
        self._tables = {
            "scalars": scalars, "leg": legs, "leg_first": movement.first, "jump_s": jumps_s, "spot": spots,
            "square_first": np.zeros(squares + 1, np.int64), "square_node": np.zeros(movement.nodes, np.int64),
            "cursor": np.zeros(2 * AROUND, np.int64), "found": found, "found_m": found_m,
        }  # fmt: skip
        self._addresses = address_book(self._tables[name] for name in TABLES)
        self._address: int = self._addresses.ctypes.data
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


def _lay_squares(scalars: NDArray[np.void], movement: Movement, square_m: float) -> int:
    """Lay squares over all start positions of legs; returns their number."""
    scalars["from_x_m"], scalars["from_y_m"] = movement.x_m.min(initial=inf), movement.y_m.min(initial=inf)
    width_m, height_m = (float(np.ptp(column)) if len(column) else 0.0 for column in (movement.x_m, movement.y_m))
    square_m = max(square_m, sqrt(width_m * height_m / MOST_SQUARES), max(width_m, height_m) / MOST_SQUARES)
    scalars["square_m"] = square_m
    scalars["across"], scalars["down"] = int(width_m / square_m) + 1, int(height_m / square_m) + 1
    return int(scalars["across"][0] * scalars["down"][0])
