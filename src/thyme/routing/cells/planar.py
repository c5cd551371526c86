"""The planar graph of populated cells, and the way around its faces (Thyme FGCS §6.6.1, after GPSR).

Populated cells that touch are joined, except that a diagonal is left out where one of the two cells beside it
is populated too: then the way over that cell exists, and of two crossing diagonals neither remains. What is
left is exactly the Gabriel graph of the cells' centres with the border of the discs counted in, so it is
planar, it connects whatever was connected, and every cell knows its own edges from beacons alone.

Two laws of Gabriel graphs carry the routing. An edge that crosses the line from a cell to a target always
has an end that is closer to the target than that cell; and the cell closest to the target lies on the face
that holds the target. See `steps`, which uses them.
"""

from __future__ import annotations

from collections.abc import Collection
from math import atan2, tau

from thyme.model.ids import CellId
from thyme.routing.cells.grid import Grid


def edges(grid: Grid, cell: CellId, populated: Collection[CellId]) -> list[CellId]:
    """The cells joined to this one, in the order of their numbers."""
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
    return joined


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
