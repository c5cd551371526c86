"""The planar graph of populated cells, and the way around its faces (Thyme FGCS §6.6.1, after GPSR).

Populated cells that touch are joined, except that a diagonal is left out where one of the two cells beside it
is populated too: then the way over that cell exists, and of two crossing diagonals neither remains. What is
left is exactly the Gabriel graph of the cells' centres with the border of the discs counted in, so it is
planar, it connects whatever was connected, and every cell knows its own edges from beacons alone.

The radio may also join cells that do not touch. Such a far edge is used where no populated cells that touch lead from
one end to the other (`links`), and left out where a third cell within the disc over it is joined to both ends. Far
edges are not always planar: the range of two devices depends on where they are in their cells. A tour that meets two
edges that cross may not end; `steps` has a rule for that.

Two laws of Gabriel graphs carry the routing. An edge that crosses the line from a cell to a target always
has an end that is closer to the target than that cell; and the cell closest to the target lies on the face
that holds the target. See `steps`, which uses them.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from math import atan2, tau

import msgspec

from thyme.model.ids import CellId
from thyme.routing.cells.grid import Grid

MAX_FAR = 16
"""Far cells listed in a beacon: the closest."""


class Far(msgspec.Struct, frozen=True):
    """Cells that a cell can send to though they do not touch it, and the far links of other cells that it knows of."""

    cells: frozenset[CellId] = frozenset()
    links: frozenset[tuple[CellId, CellId]] = frozenset()


NONE_FAR = Far()


def edges(grid: Grid, cell: CellId, populated: Collection[CellId], far: Far = NONE_FAR) -> list[CellId]:
    """The cells joined to this one."""
    column, row = grid.place(cell)
    joined = []
    for other in grid.around(cell):
        if other not in populated:
            continue
        other_column, other_row = grid.place(other)
        if other_column != column and other_row != row:
            beside = (grid.at(column, other_row), grid.at(other_column, row))
            if beside[0] in populated or beside[1] in populated:
                continue
        joined.append(other)
    if far.cells:
        near = [*(other for other in grid.around(cell) if other in populated), *far.cells]
        joined += [other for other in sorted(far.cells) if not _is_bridged(grid, cell, other, near, far)]
    return joined


def _is_bridged(grid: Grid, one: CellId, other: CellId, near: list[CellId], far: Far) -> bool:
    """Whether a third cell, in the disc over a far edge, is joined to both ends."""
    (x, y), (to_x, to_y) = grid.place(one), grid.place(other)
    for third in near:
        third_x, third_y = grid.place(third)
        inside = (third_x - x) * (third_x - to_x) + (third_y - y) * (third_y - to_y) <= 0
        if third != other and inside and (grid.steps(third, other) == 1 or (third, other) in far.links):
            return True
    return False


def next_counterclockwise(grid: Grid, cell: CellId, joined: Collection[CellId], direction: tuple[int, int]) -> CellId:
    """The joined cell met first when turning counter-clockwise from a direction; one that lies in the
    direction itself is met last."""
    from_angle = atan2(direction[1], direction[0])
    column, row = grid.place(cell)

    def turn(other: CellId) -> float:
        other_column, other_row = grid.place(other)
        angle = (atan2(other_row - row, other_column - column) - from_angle) % tau
        return angle if angle > 0.0 else tau

    return min(joined, key=turn)


def unconnected(grid: Grid, here: CellId, populated: Set[CellId]) -> tuple[CellId, ...]:
    """Of the populated cells those that no populated cells that touch connect to `here`; the closest of them."""
    left, reached = {cell for cell in populated if cell != here}, [here]
    while reached and left:
        touching = left.intersection(grid.around(reached.pop()))
        left -= touching
        reached += touching
    if len(left) > MAX_FAR:
        left = set(sorted(left, key=lambda cell: grid.rank(cell, here))[:MAX_FAR])
    return tuple(sorted(left))
