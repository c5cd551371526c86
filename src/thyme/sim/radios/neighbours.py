"""Neighbours: who is within range of a node now, found through a grid so that only those nearby are looked at.

Static nodes are asked once. Where nodes move, the grid is built anew when the fastest node could have left its
square's margin, so that between two buildings a search over the square and its surroundings still finds everybody.
"""

from __future__ import annotations

from math import hypot, inf
from typing import Protocol

import numpy as np

from thyme.world.mobility.movement import Movement


class Reach(Protocol):
    """Who hears whom. Asked in the order of time."""

    def within(self, node: int, at_s: float) -> list[tuple[int, float]]:
        """The other nodes within range at `at_s`, by index, with their distances."""

    def distance_m(self, node: int, other: int, at_s: float) -> float | None:
        """How far the other is, None if it is out of range."""


class Neighbours:
    """Reach by distance."""

    def __init__(self, movement: Movement, range_m: float) -> None:
        self._movement = movement
        self._range_m = range_m
        speed_mps = float(np.hypot(movement.vx_mps, movement.vy_mps).max(initial=0.0))
        self._static = speed_mps == 0.0
        self._margin_m = 0.0 if self._static else 0.25 * range_m
        # Both ends may have moved since the grid was built, hence twice the speed.
        self._life_s = inf if self._static else self._margin_m / (2.0 * speed_mps)
        self._square_m = range_m + self._margin_m
        self._built_s = -inf
        self._squares: dict[tuple[int, int], list[int]] = {}
        self._square_of: list[tuple[int, int]] = []
        nowhere = (inf, -inf, 0.0, 0.0, 0.0, 0.0)
        self._legs: list[tuple[float, float, float, float, float, float]] = [nowhere] * movement.nodes
        self._static_cache: dict[int, list[tuple[int, float]]] = {}

    def distance_m(self, node: int, other: int, at_s: float) -> float | None:
        (here_x_m, here_y_m), (x_m, y_m) = self._place(node, at_s), self._place(other, at_s)
        distance_m = hypot(here_x_m - x_m, here_y_m - y_m)
        return distance_m if distance_m <= self._range_m else None

    def _place(self, node: int, at_s: float) -> tuple[float, float]:
        """As `Movement.position`, from the node's leg of the last time it was asked for, while that lasts."""
        begin_s, end_s, x_m, y_m, vx_mps, vy_mps = self._legs[node]
        if not begin_s <= at_s < end_s:
            begin_s, end_s, x_m, y_m, vx_mps, vy_mps = self._legs[node] = self._leg(node, at_s)
        elapsed_s = at_s - begin_s
        return x_m + vx_mps * elapsed_s, y_m + vy_mps * elapsed_s

    def _leg(self, node: int, at_s: float) -> tuple[float, float, float, float, float, float]:
        table, leg = self._movement, self._movement.leg(node, at_s)
        last = leg + 1 == int(table.first[node + 1])
        end_s = inf if last else float(table.start_s[leg + 1])
        begin_s = float(table.start_s[leg])
        place = (float(table.x_m[leg]), float(table.y_m[leg]), float(table.vx_mps[leg]), float(table.vy_mps[leg]))
        if at_s < begin_s:
            # Before its first leg starts, a node is where that leg starts.
            return at_s, begin_s, place[0], place[1], 0.0, 0.0
        return (begin_s, end_s, *place)

    def within(self, node: int, at_s: float) -> list[tuple[int, float]]:
        if self._static and node in self._static_cache:
            return self._static_cache[node]
        if not self._square_of or at_s - self._built_s > self._life_s:
            self._build(at_s)
        here_x_m, here_y_m = self._place(node, at_s)
        column, row = self._square_of[node]
        found: list[tuple[int, float]] = []
        range_m, place = self._range_m, self._place
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                for other in self._squares.get((column + dx, row + dy), ()):
                    if other == node:
                        continue
                    x_m, y_m = place(other, at_s)
                    distance_m = hypot(here_x_m - x_m, here_y_m - y_m)
                    if distance_m <= range_m:
                        found.append((other, distance_m))
        found.sort()
        if self._static:
            self._static_cache[node] = found
        return found

    def _build(self, at_s: float) -> None:
        positions = self._movement.positions(at_s)
        squares = np.floor_divide(positions, self._square_m).astype(np.int64).tolist()
        self._squares = {}
        self._square_of = []
        for node, (column, row) in enumerate(squares):
            self._squares.setdefault((column, row), []).append(node)
            self._square_of.append((column, row))
        self._built_s = at_s
