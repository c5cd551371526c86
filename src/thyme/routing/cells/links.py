"""The cells that a node's cell can send to, from beacons heard in both directions.

Devices of cells that touch are in range of each other, so those links need no proof. Where an empty row of cells lies
between two groups the radio may reach across it. Each node names in its beacons the far cells that it hears and that
populated cells that touch do not connect to its own, as far as it hears them: in a dense crowd none. A far cell is a
neighbour if this node and a node of it name each other's cells, or if another member of this node's cell says so of
itself; then packets go over that member. A node that does not route gives its packets to any cell that it hears.
"""

from __future__ import annotations

from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.beacons import Beacons
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.planar import NONE_FAR, Far


class Links:
    """One node's far links, recomputed when the cells in range, or what their nodes list, have changed."""

    __slots__ = ("_beacons", "_far", "_grid", "_here", "_populated", "_used")

    def __init__(self, grid: Grid, beacons: Beacons, used: bool = True) -> None:
        self._grid = grid
        self._used = used
        self._beacons = beacons
        self._far = NONE_FAR
        self._here: CellId | None = None
        self._populated: frozenset[CellId] | None = None

    def far(self, here: CellId, populated: frozenset[CellId]) -> Far:
        if not self._used:
            return NONE_FAR
        if not self._beacons.participates():
            return Far(frozenset(CellId(far // 2) for far in self._beacons.far(here)))
        if populated is not self._populated or here != self._here:
            self._here, self._populated = here, populated
            self._far = self._find(here)
        return self._far

    def nodes_towards(self, here: CellId, cell: CellId) -> tuple[NodeId, ...]:
        """Whom to send a packet for a neighbouring cell to: nodes of it, or members of this cell that list it."""
        beacons = self._beacons
        nodes = beacons.nodes_in(cell)
        if self._grid.steps(here, cell) <= 1:
            return nodes
        direct = tuple(node for node in nodes if beacons.names(node, here))
        return direct or tuple(node for node in beacons.nodes_in(here) if beacons.reaches(node, cell)) or nodes

    def _find(self, here: CellId) -> Far:
        beacons, grid = self._beacons, self._grid
        known = beacons.far_links()
        if not known:
            return NONE_FAR
        cells = {CellId(far // 2) for far in beacons.far(here) if far % 2}
        links: set[tuple[CellId, CellId]] = set()
        for neighbour, reached in known:
            if neighbour.cell == here:
                cells.update(reached)
            else:
                links.update((neighbour.cell, cell) for cell in reached)
        return Far(frozenset(cell for cell in cells if cell in grid and grid.steps(here, cell) > 1), frozenset(links))
