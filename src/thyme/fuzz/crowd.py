"""The crowd as the judge sees it: who was on, who could hear whom, and when something was in the way.

Two nodes are joined over a time if a chain of links joins them and every link of it lasted all that time, with both its
ends on and within range at each look. Thyme-DCS passes messages only between cells that touch (FGCS §4.3), so for it
they have to be in such cells, too; but its routes follow from where people are, so a chain at each look is enough,
whichever links it has. Faults count as in the way everywhere while they last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thyme.sim.faults import Rule
from thyme.world.churn import Churn
from thyme.world.mobility.movement import Movement

LOOK_S = 1.0
"""Between two looks at who is within range."""


class Crowd:
    """Where everybody was and whether they were on, at any time."""

    def __init__(
        self, movement: Movement, churn: Churn, faults: Sequence[Rule], range_m: float, cell_m: float | None = None
    ) -> None:
        """`cell_m`: the side of the cells, where only those that touch have links."""
        self._movement = movement
        self._faults = faults
        self._range_m = range_m
        self._cell_m = cell_m
        self.nodes = movement.nodes
        self._changes = churn.changes
        self._absent = set(churn.starts_off())
        self._links: dict[int, NDArray[np.bool_]] = {}
        self.speed_mps = float(np.hypot(movement.vx_mps, movement.vy_mps).max(initial=0.0))
        self.walks = self.speed_mps > 0.0

    def disturbed(self, from_s: float, to_s: float) -> bool:
        """Whether a fault of the scenario was in force."""
        return any(rule.from_s < to_s and rule.to_s > from_s for rule in self._faults)

    def switched(self, from_s: float, to_s: float) -> bool:
        """Whether anybody went on or off."""
        return any(from_s <= change.at_s <= to_s for change in self._changes)

    def forgot(self, from_s: float, to_s: float) -> bool:
        """Whether anybody lost what they had stored."""
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
        """Everybody who is joined to `node` over this time, itself included; nobody if it was not on."""
        on = np.array([self.on_throughout(one, from_s, to_s) for one in range(self.nodes)])
        if not on[node]:
            return set()
        present = on[:, None] & on[None, :]
        looks = [present & self._links_at(look) for look in range(int(from_s / LOOK_S), int(to_s / LOOK_S) + 2)]
        if self._cell_m is None:
            return _around(node, np.logical_and.reduce(looks))
        return set.intersection(*(_around(node, links) for links in looks))

    def _links_at(self, look: int) -> NDArray[np.bool_]:
        links = self._links.get(look)
        if links is None:
            places = self._movement.positions(look * LOOK_S)
            away_m = np.hypot(*(places[:, None, :] - places[None, :, :]).transpose(2, 0, 1))
            links = away_m <= self._range_m
            if self._cell_m is not None:
                cells = np.floor(places / self._cell_m)
                links &= (np.abs(cells[:, None, :] - cells[None, :, :]) <= 1.0).all(axis=2)
            self._links[look] = links
        return links


def _around(node: int, links: NDArray[np.bool_]) -> set[int]:
    """Whoever a chain of links joins to `node`."""
    reached = np.zeros(len(links), dtype=np.bool_)
    reached[node] = True
    while True:
        further = reached | links[reached].any(axis=0)
        if (further == reached).all():
            return set(np.flatnonzero(reached).tolist())
        reached = further
