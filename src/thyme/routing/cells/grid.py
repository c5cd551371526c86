"""The grid of cells (Thyme FGCS §4.3): where a point belongs, where a tag or key is kept, which cell is
closer.

Cells are squares, numbered row by row from the south-west corner. With a side of range / (2√2) every node
reaches every node of its own cell and of the eight around it, on which geographic routing relies. A
namespace has its own grid, and its name takes part in hashing.

`rank` orders cells by their distance from a target. So that no two cells are ever equally close, and no
cell centre ever lies on the line from another to the target, the target is moved off its centre by a hair,
towards the middle of the grid: in units of a ten-millionth of a cell, by two primes above the largest number
of rows. So of the cells beside one on the border the one further in comes first, which sees all the others.
All of it is integer arithmetic, exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from hashlib import blake2b
from math import ceil, isfinite, sqrt

from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import CellId

MAX_SIDE_CELLS = 1000
"""Most rows and most columns of a grid; the exactness of `rank` depends on it."""
MAX_KEYS = 1_000
"""Keys whose cells are remembered."""
SLIVER = 0.05
"""A last row or column thinner than this part of a cell is counted to the one before."""

_UNIT = 10_000_000
_OFF_X, _OFF_Y = 1009, 2003


def cell_side_m(range_m: float) -> float:
    """The largest cell whose nodes all reach those of the eight cells around: 40 m for 113 m."""
    return range_m / (2.0 * sqrt(2.0))


class Grid:
    """Square cells over `width_m` × `height_m`. Points outside belong to the nearest cell of the border."""

    __slots__ = (
        "_around",
        "_cells",
        "_middle_column",
        "_middle_row",
        "_salt",
        "cell_m",
        "columns",
        "height_m",
        "namespace",
        "rows",
        "size",
        "width_m",
    )

    def __init__(self, width_m: float, height_m: float, cell_m: float, namespace: str = "") -> None:
        for name, value in (("width_m", width_m), ("height_m", height_m), ("cell_m", cell_m)):
            if not isfinite(value) or value <= 0.0:
                raise InputError(f"grid {name} is {value}; expected a positive number of metres")
        self.width_m, self.height_m, self.cell_m, self.namespace = width_m, height_m, cell_m, namespace
        self.columns = max(1, ceil(width_m / cell_m - SLIVER))
        self.rows = max(1, ceil(height_m / cell_m - SLIVER))
        if max(self.columns, self.rows) > MAX_SIDE_CELLS:
            raise InputError(
                f"a grid of {self.columns} × {self.rows} cells is too fine: at most {MAX_SIDE_CELLS} "
                f"per side; make cell_m ({cell_m}) larger"
            )
        self._salt = len(namespace.encode()).to_bytes(4, "big") + namespace.encode() + bytes(4)
        self._cells: Bounded[str, CellId] = Bounded(MAX_KEYS)
        """Of keys that were asked for before."""
        self._middle_column, self._middle_row = self.columns / 2.0, self.rows / 2.0
        self.size = self.columns * self.rows
        """How many cells there are; they are numbered from 0."""
        self._around: dict[CellId, tuple[CellId, ...]] = {}

    def __contains__(self, cell: object) -> bool:
        return isinstance(cell, int) and 0 <= cell < self.size

    def at(self, column: int, row: int) -> CellId:
        if not (0 <= column < self.columns and 0 <= row < self.rows):
            raise InputError(
                f"there is no cell in column {column}, row {row}: the grid has {self.columns} columns and "
                f"{self.rows} rows, counted from 0"
            )
        return CellId(row * self.columns + column)

    def place(self, cell: CellId) -> tuple[int, int]:
        """Column and row."""
        if not 0 <= cell < self.size:
            raise InputError(f"there is no cell {cell}: the grid has cells 0 to {self.size - 1}")
        row, column = divmod(cell, self.columns)
        return column, row

    def cell_of(self, point: Point) -> CellId:
        column = min(self.columns - 1, max(0, int(point.x_m // self.cell_m)))
        row = min(self.rows - 1, max(0, int(point.y_m // self.cell_m)))
        return CellId(row * self.columns + column)

    def centre(self, cell: CellId) -> Point:
        column, row = self.place(cell)
        return Point((column + 0.5) * self.cell_m, (row + 0.5) * self.cell_m)

    def around(self, cell: CellId) -> tuple[CellId, ...]:
        """The up to eight cells that touch this one, in the order of their numbers."""
        known = self._around.get(cell)
        if known is None:
            known = self._around[cell] = self.within(cell, 1)
        return known

    def within(self, cell: CellId, steps: int) -> tuple[CellId, ...]:
        """The cells at most `steps` columns and rows away, without the cell itself, in the order of
        numbers."""
        column, row = self.place(cell)
        return tuple(
            CellId(r * self.columns + c)
            for r in range(max(0, row - steps), min(self.rows, row + steps + 1))
            for c in range(max(0, column - steps), min(self.columns, column + steps + 1))
            if (c, r) != (column, row)
        )

    def towards(self, cell: CellId, target: CellId) -> CellId:
        """Of a cell and those around it the one closest to the target, by `rank`: along each axis the one that is a
        step nearer. The cell itself only if it is the target."""
        columns = self.columns
        row, column = divmod(cell, columns)
        to_row, to_column = divmod(target, columns)
        ahead: int = cell
        if to_column != column:
            ahead += 1 if to_column > column else -1
        if to_row != row:
            ahead += columns if to_row > row else -columns
        return CellId(ahead)

    def leaps(self, cell: CellId, target: CellId, beyond: int) -> tuple[CellId, CellId] | None:
        """The two cells that are closest to a target more than `beyond` cells away, of those within two cells of this
        one but for the corners: two on along the longer side of the way, and at most one along the other. None if the
        target is not so far."""
        columns = self.columns
        row, column = divmod(cell, columns)
        to_row, to_column = divmod(target, columns)
        right, up = to_column - column, to_row - row
        if abs(right) >= abs(up):
            long, along, short, across = right, 1, up, columns
        else:
            long, along, short, across = up, columns, right, 1
        if abs(long) <= beyond:
            return None
        straight = cell + (2 * along if long > 0 else -2 * along)
        aside = straight if short == 0 else straight + across if short > 0 else straight - across
        return CellId(aside), CellId(straight)

    def steps(self, one: CellId, other: CellId) -> int:
        """How many cells one is from the other, diagonal steps counting as one."""
        columns, size = self.columns, self.size
        if not (0 <= one < size and 0 <= other < size):
            self.place(one), self.place(other)  # one of the two says what is wrong
        row, column = divmod(one, columns)
        to_row, to_column = divmod(other, columns)
        return max(abs(to_column - column), abs(to_row - row))

    def distance_m(self, one: CellId, other: CellId) -> float:
        return self.centre(one).distance_m(self.centre(other))

    def offset(self, cell: CellId, target: CellId) -> tuple[int, int]:
        """From the cell's centre to the target's, moved off by a hair, in units of the exact lattice."""
        (column, row), (to_column, to_row) = self.place(cell), self.place(target)
        off_x = _OFF_X if to_column < self._middle_column else -_OFF_X
        off_y = _OFF_Y if to_row < self._middle_row else -_OFF_Y
        return (to_column - column) * _UNIT + off_x, (to_row - row) * _UNIT + off_y

    def rank(self, cell: CellId, target: CellId) -> int:
        """How far the cell is from the target: a number that no two cells share."""
        row, column = divmod(cell, self.columns)
        to_row, to_column = divmod(target, self.columns)
        x = (to_column - column) * _UNIT + (_OFF_X if to_column < self._middle_column else -_OFF_X)
        y = (to_row - row) * _UNIT + (_OFF_Y if to_row < self._middle_row else -_OFF_Y)
        return x * x + y * y

    def crossing(self, start: CellId, target: CellId, one: CellId, other: CellId) -> Fraction | None:
        """How far along the line from a cell to a target the line between two other cells crosses it, from 0 to 1; None
        if it does not."""
        x, y = self.offset(start, target)
        (start_x, start_y), (one_x, one_y), (other_x, other_y) = map(self.place, (start, one, other))
        to_x, to_y = (one_x - start_x) * _UNIT, (one_y - start_y) * _UNIT
        along_x, along_y = (other_x - one_x) * _UNIT, (other_y - one_y) * _UNIT
        side = x * to_y - y * to_x
        turn = x * along_y - y * along_x
        if turn == 0 or (side > 0) == (side + turn > 0):
            return None
        at = Fraction(to_x * along_y - to_y * along_x, turn)
        return at if 0 < at <= 1 else None

    def closest(self, cells: Iterable[CellId], target: CellId) -> CellId | None:
        """The one of some cells that is closest to the target, by `rank`; None if there are none."""
        columns, (x_off, y_off) = self.columns, self.offset(CellId(0), target)
        best, least = None, 0
        for cell in cells:
            row, column = divmod(cell, columns)
            x, y = x_off - column * _UNIT, y_off - row * _UNIT
            rank = x * x + y * y
            if best is None or rank < least:
                best, least = cell, rank
        return best

    def cell_for(self, key: str) -> CellId:
        """The cell that keeps a tag or key."""
        cell = self._cells.get(key)
        if cell is None:
            digest = blake2b(self._salt + key.encode(), digest_size=8).digest()
            cell = self._cells[key] = CellId(int.from_bytes(digest, "big") % self.size)
        return cell
