"""One routing step between cells: where a packet in this cell goes next (Thyme FGCS §6.6.1–6.6.2).

Greedy: to the neighbouring cell that is closest to the target, if it is closer than this one. Neighbours are the
populated cells that touch this one, and those that `links` adds where the radio reaches across empty cells. Where there
is none, the packet starts a detour around the void: it remembers this cell as its entry, takes the first edge
counter-clockwise from the line to the target, and then always the next edge counter-clockwise from the one it came by
(the right-hand rule). It is greedy again as soon as it is in a cell closer than its entry. If it comes back to its
entry and would take its first edge again, it has gone round the void that holds the target: the target is empty or cut
off, and the entry is the closest cell there is, the target's proxy.

If the entry empties in the meantime, the detour begins anew in the first cell that can see it.

Not every tour is needed, and not every one ends. Who is in the target's cell, and wants its proxy (`beside`), hears all
cells around it, and the closest of them is the proxy: no other cell can be closer. Beside the target it is mostly the
same: where all cells that would be closer lie around this one, which hears that they are empty, it is the proxy
(`sure`; the papers make the tour). Who looks for a node makes the tour all the same, for it may have walked on and be
heard on the way. And where people walk, or links fail, no two cells see the same edges, and a packet may go round and
round without its first edge. Whoever notices (`turning_back`) sends it to its entry, where the tour is then over.

As in GPSR, a packet changes face where the edge that it would take crosses the line from its entry to the target: it
takes the next edge counter-clockwise instead, and ends its tour where it would take that one again. Where all edges are
between cells that touch, an edge that crosses that line leads to a cell closer than the entry (`planar`), which ends
the detour. Since ranks are unique, all packets for a target end at the same cell, wherever they start.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto

import msgspec

from thyme.model.ids import CellId
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.planar import NONE_FAR, Far, edges, next_counterclockwise
from thyme.wire.geographic import ANY_NODE, Detour, Heading

MAX_WAYS = 1_000
"""Steps that a node remembers; when full, all are forgotten."""


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
    far: Far = NONE_FAR,
    sure: bool = True,
) -> Onward | End:
    """Where to go from `here`. `member` says whether this node routes for its cell; of the cells `populated` those that
    touch this one are its neighbours, and so are the `far` ones; `sure` says whether a cell that must be the proxy
    takes itself for it."""
    target = heading.cell
    if heading.beside:
        populated = [cell for cell in populated if cell != target]
        far = without(far, {target})
        member = member and here != target
    near = [*(cell for cell in grid.around(here) if cell in populated), *sorted(far.cells)]
    if not member:
        return _boarding(grid, here, [here, *near] if here in populated else near, heading)
    if here == target:
        return End.ARRIVED
    detour = heading.detour
    if detour and (
        grid.rank(here, target) < grid.rank(detour.entry, target) or _has_lost_entry(grid, here, populated, detour)
    ):
        detour = None
    if detour and detour.over:
        return _towards_entry(grid, here, near, heading, detour)
    if detour is None:
        closest = grid.closest(near, target)
        if closest is not None and grid.rank(closest, target) < grid.rank(here, target):
            return Onward(closest, _with_detour(heading, None))
        if sure and heading.node == ANY_NODE and _sees_all_closer(grid, here, target):
            return End.PROXIED
    return _around(grid, here, edges(grid, here, populated, far), heading, detour)


class Ways:
    """Steps that were found before, from where a node is, as long as the same cells around are populated."""

    __slots__ = (
        "_far",
        "_found",
        "_grid",
        "_here",
        "_near",
        "_populated",
    )

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._far = NONE_FAR
        self._here: CellId | None = None
        self._populated: frozenset[CellId] = frozenset()
        self._near: frozenset[CellId] = frozenset()
        self._found: dict[tuple[bool, Heading, bool], Onward | End] = {}

    def __len__(self) -> int:
        return len(self._found)

    def step(
        self, here: CellId, member: bool, populated: frozenset[CellId], heading: Heading, far: Far, sure: bool
    ) -> Onward | End:
        """As `next_step`."""
        if populated is not self._populated or here != self._here or far is not self._far:
            self._look(here, populated, far)
        key = (member, heading, sure)
        step = self._found.get(key)
        if step is None:
            step = next_step(self._grid, here, member, populated, heading, far, sure)
            if len(self._found) >= MAX_WAYS:
                self._found.clear()
            self._found[key] = step
        return step

    def _look(self, here: CellId, populated: frozenset[CellId], far: Far) -> None:
        """No step depends on other cells, which come and go as single beacons are heard or not."""
        near = populated.intersection((here, *self._grid.around(here)))
        if here != self._here or near != self._near or far != self._far:
            self._found.clear()
        self._here, self._populated, self._near, self._far = here, populated, near, far


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
    return _with_detour(heading, Detour(entry, entry, entry, here, entry))


def without(far: Far, cells: Collection[CellId]) -> Far:
    """The far cells but for some."""
    return Far(far.cells.difference(cells), far.links) if far.cells else far


def _boarding(grid: Grid, here: CellId, near: list[CellId], heading: Heading) -> Onward | End:
    """A node that does not route gives its packet to the cell within reach that is closest to the target. If that is
    done in the target's own cell, and the other one touches it, there is none closer."""
    closest = grid.closest(near, heading.cell)
    if closest is None:
        return End.STRANDED
    sure = heading.beside and here == heading.cell and grid.steps(here, closest) == 1
    over = Detour(closest, closest, closest, here, closest)
    return Onward(closest, _with_detour(heading, over if sure else None))


def _towards_entry(grid: Grid, here: CellId, near: list[CellId], heading: Heading, detour: Detour) -> Onward | End:
    """A tour that is over ends in its entry, or where no cell is closer to that."""
    closest = grid.closest(near, detour.entry)
    if closest is None or grid.rank(here, detour.entry) < grid.rank(closest, detour.entry):
        return End.PROXIED
    return Onward(closest, heading)


def _has_lost_entry(grid: Grid, here: CellId, populated: Collection[CellId], detour: Detour) -> bool:
    """Whether the entry of a detour can be seen from here to have emptied: the tour would never end there."""
    return detour.entry not in populated and grid.steps(here, detour.entry) == 1


def _around(grid: Grid, here: CellId, joined: list[CellId], heading: Heading, detour: Detour | None) -> Onward | End:
    if not joined:
        return End.PROXIED
    if detour is None or (here == detour.entry == detour.face and detour.first not in joined):
        first = next_counterclockwise(grid, here, joined, grid.offset(here, heading.cell))
        return Onward(first, _with_detour(heading, Detour(here, here, first, here, here)))

    def after(cell: CellId) -> CellId:
        (column, row), (from_column, from_row) = grid.place(here), grid.place(cell)
        return next_counterclockwise(grid, here, joined, (from_column - column, from_row - row))

    onward = after(detour.previous)
    if here == detour.face and onward == detour.first:
        entry = detour.entry
        over = Detour(entry, entry, entry, here, entry)
        return End.PROXIED if here == entry else _towards_entry(grid, here, joined, _with_detour(heading, over), over)
    detour = msgspec.structs.replace(detour, previous=here)
    for _ in joined:
        if not _changes_face(grid, here, onward, heading.cell, detour):
            break
        crossed, onward = onward, after(onward)
        detour = Detour(detour.entry, here, onward, here, crossed)
    return Onward(onward, _with_detour(heading, detour))


def _changes_face(grid: Grid, here: CellId, onward: CellId, target: CellId, detour: Detour) -> bool:
    """Whether an edge crosses the line from the entry to the target, closer to the target than where the packet came to
    this face. Edges between cells that touch never do so on a tour."""
    if grid.steps(here, onward) == 1 or here == detour.entry or onward == detour.entry:
        return False
    at = grid.crossing(detour.entry, target, here, onward)
    if at is None:
        return False
    before = (
        grid.crossing(detour.entry, target, detour.face, detour.crossed) if detour.crossed != detour.entry else None
    )
    return before is None or at > before


def _with_detour(heading: Heading, detour: Detour | None) -> Heading:
    if detour is None and heading.detour is None:
        return heading
    return Heading(heading.cell, heading.node, detour, heading.beside)
