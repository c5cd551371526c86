"""The crowd as the judge sees it: which nodes were on, which were in range of each other, and when faults were in
force.

Two nodes are connected over a time span if a path of links connects them and every link on it lasted the whole span:
both its ends on and within range in each sample. Routes of Thyme-DCS follow from positions, so for it links between
adjacent cells, which are always in range (FGCS §4.3), need not last: a path in each sample is enough. A fault counts as
affecting every node while it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thyme.sim.faults import Rule
from thyme.world.churn import Churn
from thyme.world.movement import Movement

LOOK_S = 1.0
"""Interval between two samples of which nodes are in range."""


class NodeStates:
    """Positions and on/off states of all nodes, at any time."""

    def __init__(
        self, movement: Movement, churn: Churn, faults: Sequence[Rule], range_m: float, cell_m: float | None = None
    ) -> None:
        """`cell_m`: the side of the cells, where links between those that touch need not last."""
        self._movement = movement
        self._faults = faults
        self._range_m = range_m
        self._cell_m = cell_m
        self.nodes = movement.nodes
        self._changes = churn.changes
        self._absent = set(churn.starts_off())
        self._links: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}
        self.speed_mps = float(np.hypot(movement.vx_mps, movement.vy_mps).max(initial=0.0))
        self.walks = self.speed_mps > 0.0

    def disturbed(self, from_s: float, to_s: float) -> bool:
        """Whether a fault of the scenario was in force."""
        return any(rule.from_s < to_s and rule.to_s > from_s for rule in self._faults)

    def switched(self, from_s: float, to_s: float) -> bool:
        """Whether a node went on or off."""
        return any(from_s <= change.at_s <= to_s for change in self._changes)

    def forgot(self, from_s: float, to_s: float) -> bool:
        """Whether a node lost its store."""
        return any(
            from_s <= change.at_s <= to_s and not change.on and not change.keeps_store for change in self._changes
        )

    def went_off(self, node: int, from_s: float, to_s: float) -> bool:
        return any(from_s <= change.at_s <= to_s and change.node == node and not change.on for change in self._changes)

    def returned(self, from_s: float, to_s: float) -> bool:
        return any(from_s <= change.at_s <= to_s and change.on for change in self._changes)

    def on_throughout(self, node: int, from_s: float, to_s: float) -> bool:
        own = [change for change in self._changes if change.node == node]
        before = [change.on for change in own if change.at_s < from_s]
        on = before[-1] if before else node not in self._absent
        return on and not any(from_s <= change.at_s <= to_s for change in own)

    def all_on(self, from_s: float, to_s: float) -> bool:
        return all(self.on_throughout(node, from_s, to_s) for node in range(self.nodes))

    def joined(self, node: int, from_s: float, to_s: float) -> set[int]:
        """All nodes connected to `node` over this time span, including itself; none if it was not on."""
        on = np.array([self.on_throughout(one, from_s, to_s) for one in range(self.nodes)])
        if not on[node]:
            return set()
        present = on[:, None] & on[None, :]
        looks = [self._links_at(look) for look in range(int(from_s / LOOK_S), int(to_s / LOOK_S) + 2)]
        lasting = present & np.logical_and.reduce([links for links, _ in looks])
        if self._cell_m is None:
            return _around(node, lasting)
        return set.intersection(*(_around(node, lasting | (present & touching)) for _, touching in looks))

    def _links_at(self, look: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Pairs of nodes within range, and which of those pairs are in adjacent cells."""
        links = self._links.get(look)
        if links is None:
            places = self._movement.positions(look * LOOK_S)
            away_m = np.hypot(*(places[:, None, :] - places[None, :, :]).transpose(2, 0, 1))
            in_range = away_m <= self._range_m
            touching = in_range
            if self._cell_m is not None:
                cells = np.floor(places / self._cell_m)
                touching = in_range & (np.abs(cells[:, None, :] - cells[None, :, :]) <= 1.0).all(axis=2)
            links = self._links[look] = (in_range, touching)
        return links


def _around(node: int, links: NDArray[np.bool_]) -> set[int]:
    """All nodes that a path of links connects to `node`."""
    reached = np.zeros(len(links), dtype=np.bool_)
    reached[node] = True
    while True:
        further = reached | links[reached].any(axis=0)
        if (further == reached).all():
            return set(np.flatnonzero(reached).tolist())
        reached = further
