"""One routing step between cells: where a packet in this cell goes next (Thyme FGCS §6.6.1–6.6.2).

Greedy: to the populated cell around that is closest to the target, if it is closer than this one. Where
there is none, the packet starts a detour around the void: it remembers this cell as its entry, takes the
first edge counter-clockwise from the line to the target, and then always the next edge counter-clockwise
from the one it came by (the right-hand rule). It is greedy again as soon as it is in a cell closer than its
entry. If it comes back to its entry and would take its first edge again, it has gone round the void that
holds the target: the target is empty or cut off, and the entry is the closest cell there is, the target's
proxy.

If the entry empties in the meantime, the detour begins anew in the first cell that can see it.

Not every tour is needed, and not every one ends. Who is in the target's cell, and wants its proxy (`beside`), hears
all cells around it, and the closest of them is the proxy: no other cell can be closer. Beside the target it is mostly
the same: where all cells that would be closer lie around this one, which hears that they are empty, it is the proxy
(`sure`; the papers make the tour). Who looks for a node makes the tour all the same, for it may have walked on and be
heard on the way. And where people walk, or links fail, no two cells see the same edges, and a packet may go round and
round without its first edge. Whoever notices (`turning_back`) sends it to its entry, where the tour is then over.

GPSR also changes face where an edge crosses the line from entry to target. On this graph such an edge
always leads to a cell closer than the entry (`planar`), which ends the detour, so taking the edge is the
change of face, and the reference edge needs no renewal. Since ranks are unique, all packets for a target
end at the same cell, wherever they start.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto

import msgspec

from thyme.model.ids import CellId
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.planar import edges, next_counterclockwise
from thyme.wire.geographic import ANY_NODE, Detour, Heading

MAX_WAYS = 1_000
"""Steps that a node remembers; with more, it begins anew."""


class End(Enum):
    """The packet goes no further."""

    ARRIVED = auto()
    """This is the target's cell."""
    PROXIED = auto()
    """This cell is the target's proxy."""
    STRANDED = auto()
    """This node may not route, and there is nobody to give the packet to."""


class Onward(msgspec.Struct, frozen=True):
    """To `cell` next, under the heading as it will be there."""

    cell: CellId
    heading: Heading


def next_step(
    grid: Grid,
    here: CellId,
    member: bool,
    populated: Collection[CellId],
    heading: Heading,
    reach_cells: int = 1,
    sure: bool = True,
) -> Onward | End:
    """Where to go from `here`. `member` says whether this node routes for its cell; `populated` are the cells
    with nodes to send to; `reach_cells` how far a greedy hop may go; `sure` whether a cell that must be the proxy
    takes itself for it."""
    target = heading.cell
    if heading.beside:
        populated = [cell for cell in populated if cell != target]
        member = member and here != target
    if not member:
        return _boarding(grid, here, populated, heading)
    if here == target:
        return End.ARRIVED
    detour = heading.detour
    if detour and (
        grid.rank(here, target) < grid.rank(detour.entry, target) or _has_lost_entry(grid, here, populated, detour)
    ):
        detour = None
    if detour and detour.over:
        return _towards_entry(grid, here, populated, heading, detour)
    if detour is None:
        near = grid.around(here) if reach_cells == 1 else grid.within(here, reach_cells)
        closest = grid.closest([cell for cell in near if cell in populated], target)
        if closest is not None and grid.rank(closest, target) < grid.rank(here, target):
            return Onward(closest, _with_detour(heading, None))
        if sure and heading.node == ANY_NODE and _sees_all_closer(grid, here, target):
            return End.PROXIED
    return _around(grid, here, edges(grid, here, populated), heading, detour)


class Ways:
    """Steps that were found before, from where a node is, as long as the same cells around are populated."""

    __slots__ = (
        "_found",
        "_grid",
        "_here",
        "_near",
        "_populated",
        "_reach_cells",
    )

    def __init__(self, grid: Grid, reach_cells: int) -> None:
        self._grid = grid
        self._reach_cells = reach_cells
        self._here: CellId | None = None
        self._populated: frozenset[CellId] = frozenset()
        self._near: frozenset[CellId] = frozenset()
        self._found: dict[tuple[bool, Heading, bool], Onward | End] = {}

    def __len__(self) -> int:
        return len(self._found)

    def step(
        self, here: CellId, member: bool, populated: frozenset[CellId], heading: Heading, sure: bool
    ) -> Onward | End:
        """As `next_step`."""
        if populated is not self._populated or here != self._here:
            self._look(here, populated)
        key = (member, heading, sure)
        step = self._found.get(key)
        if step is None:
            step = next_step(self._grid, here, member, populated, heading, self._reach_cells, sure)
            if len(self._found) >= MAX_WAYS:
                self._found.clear()
            self._found[key] = step
        return step

    def _look(self, here: CellId, populated: frozenset[CellId]) -> None:
        """No step depends on cells farther away, which come and go as single beacons are heard or not."""
        grid = self._grid
        around = grid.around(here) if self._reach_cells == 1 else grid.within(here, self._reach_cells)
        near = populated.intersection((here, *around))
        if here != self._here or near != self._near:
            self._found.clear()
        self._here, self._populated, self._near = here, populated, near


def _sees_all_closer(grid: Grid, here: CellId, target: CellId) -> bool:
    """Whether a cell beside the target surely hears from all that would be closer to it."""
    if grid.steps(here, target) > 1:
        return False
    limit = grid.rank(here, target)
    return all(grid.steps(here, cell) <= 1 for cell in grid.around(target) if grid.rank(cell, target) < limit)


def turning_back(here: CellId, heading: Heading) -> Heading:
    """The heading of a packet whose tour does not end: it goes to where it set out."""
    assert heading.detour is not None, "only who is on a tour turns back"
    entry = heading.detour.entry
    return _with_detour(heading, Detour(entry, entry, here))


def _boarding(grid: Grid, here: CellId, populated: Collection[CellId], heading: Heading) -> Onward | End:
    """A node that does not route gives its packet to the cell within reach that is closest to the target. If that is
    done in the target's own cell, there is none closer."""
    closest = grid.closest([cell for cell in (here, *grid.around(here)) if cell in populated], heading.cell)
    if closest is None:
        return End.STRANDED
    sure = heading.beside and here == heading.cell
    return Onward(closest, _with_detour(heading, Detour(closest, closest, here) if sure else None))


def _towards_entry(
    grid: Grid, here: CellId, populated: Collection[CellId], heading: Heading, detour: Detour
) -> Onward | End:
    """A tour that is over ends in its entry, or where no cell is closer to that."""
    closest = grid.closest([cell for cell in grid.around(here) if cell in populated], detour.entry)
    if closest is None or grid.rank(here, detour.entry) < grid.rank(closest, detour.entry):
        return End.PROXIED
    return Onward(closest, heading)


def _has_lost_entry(grid: Grid, here: CellId, populated: Collection[CellId], detour: Detour) -> bool:
    """Whether the entry of a detour can be seen from here to have emptied: the tour would never end there."""
    return detour.entry not in populated and grid.steps(here, detour.entry) == 1


def _around(grid: Grid, here: CellId, joined: list[CellId], heading: Heading, detour: Detour | None) -> Onward | End:
    if not joined:
        return End.PROXIED
    if detour is None or (here == detour.entry and detour.first not in joined):
        first = next_counterclockwise(grid, here, joined, grid.offset(here, heading.cell))
        return Onward(first, _with_detour(heading, Detour(here, first, here)))
    (column, row), (from_column, from_row) = grid.place(here), grid.place(detour.previous)
    onward = next_counterclockwise(grid, here, joined, (from_column - column, from_row - row))
    if here == detour.entry and onward == detour.first:
        return End.PROXIED
    return Onward(onward, _with_detour(heading, Detour(detour.entry, detour.first, here)))


def _with_detour(heading: Heading, detour: Detour | None) -> Heading:
    if detour is None and heading.detour is None:
        return heading
    return Heading(heading.cell, heading.node, detour, heading.beside)
