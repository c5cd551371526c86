"""Walking: how long a node on its way will be of use to a cell.

This goes beyond the papers, where only those who stand serve (Thyme FGCS §6.6.3).
A node knows where it is, and from two looks how fast it goes and which way. A cell and a margin around it (`stretch`)
are left when a straight way at that speed leaves them.
"""

from __future__ import annotations

from math import inf

from thyme.model.geometry import Point
from thyme.model.ids import CellId
from thyme.routing.cells.grid import Grid


class Walking:
    """This node's way, as it looks at its position from time to time."""

    def __init__(self, grid: Grid, stretch_m: float) -> None:
        self._grid = grid
        self._stretch_m = stretch_m
        self._at: Point | None = None
        self._seen_s = 0.0
        self._velocity_mps = (0.0, 0.0)

    def look(self, at: Point, now_s: float) -> None:
        before = self._at
        if before is not None and now_s > self._seen_s:
            gap_s = now_s - self._seen_s
            self._velocity_mps = ((at.x_m - before.x_m) / gap_s, (at.y_m - before.y_m) / gap_s)
        self._at, self._seen_s = at, now_s

    def within_reach(self, cell: CellId) -> bool:
        """Whether this node is in a cell or so near to it that it can still serve it."""
        at = self._at
        if at is None:
            return False
        left, right, bottom, top = self._borders(cell)
        return left <= at.x_m <= right and bottom <= at.y_m <= top

    def stay_s(self, cell: CellId) -> float:
        """How long this node will be within reach of a cell if it goes on as it does; 0 if it is not."""
        at = self._at
        if at is None or not self.within_reach(cell):
            return 0.0
        left, right, bottom, top = self._borders(cell)
        vx_mps, vy_mps = self._velocity_mps
        return min(_exit_s(at.x_m, vx_mps, left, right), _exit_s(at.y_m, vy_mps, bottom, top))

    def _borders(self, cell: CellId) -> tuple[float, float, float, float]:
        """Of the stretched cell: left, right, bottom and top."""
        column, row = self._grid.place(cell)
        side_m, stretch_m = self._grid.cell_m, self._stretch_m
        return (
            column * side_m - stretch_m,
            (column + 1) * side_m + stretch_m,
            row * side_m - stretch_m,
            (row + 1) * side_m + stretch_m,
        )


def _exit_s(x: float, speed: float, low: float, high: float) -> float:
    if speed == 0.0:
        return inf
    return ((high if speed > 0.0 else low) - x) / speed
