"""Nodes within range of a node, by distance or by contacts. If no node moves, neighbours are computed once."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import address_book
from thyme.sim.radios.disc.neighbour_kernel import AROUND, LEG, SCALARS, SPOT, TABLES, reach, reach_one
from thyme.world.contacts.contact_table import Contacts
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


class ContactReach:
    """The nodes in contact with each other according to a table, for recorded contacts without positions, and for
    moving crowds whose exact contacts were computed once: they are looked up instead of measured for every frame.

    Queries must be in order of time. A contact includes the time of its end. Distances are unknown and count as 0,
    which neglects up to a microsecond of propagation delay."""

    def __init__(self, contacts: Contacts) -> None:
        count = len(contacts)
        at_s = np.concatenate((contacts.start_s, contacts.end_s))
        starts = np.arange(2 * count) < count
        order = np.lexsort((~starts, at_s))
        columns = (at_s, starts, np.tile(contacts.a, 2), np.tile(contacts.b, 2))
        self._changes = list(zip(*(column[order].tolist() for column in columns), strict=True))
        """Starts and ends of contacts in order of time, starts first: time, whether it starts, and the two nodes."""
        self._next = 0
        self._near: list[set[int]] = [set() for _ in range(contacts.nodes)]
        self._listed: list[Near | None] = [None] * contacts.nodes
        self._nobody = _touching([])

    def within(self, node: int, at_s: float) -> Near:
        self._advance(at_s)
        listed = self._listed[node]
        if listed is None:
            listed = self._listed[node] = _touching(sorted(self._near[node]))
        return listed

    def towards(self, node: int, other: int, at_s: float) -> Near:
        self._advance(at_s)
        return _touching([other]) if other in self._near[node] else self._nobody

    def _advance(self, at_s: float) -> None:
        changes = self._changes
        while self._next < len(changes):
            change_s, starts, a, b = changes[self._next]
            if change_s > at_s or (not starts and change_s >= at_s):
                return
            self._next += 1
            if starts:
                self._near[a].add(b)
                self._near[b].add(a)
            else:
                self._near[a].discard(b)
                self._near[b].discard(a)
            self._listed[a] = self._listed[b] = None


def _touching(nodes: list[int]) -> Near:
    return Near(np.array(nodes, np.int64), np.zeros(len(nodes)), len(nodes))
