"""Cells as mobility sees them: which were populated at the start, and how many nodes are settled in each.

The Thyme paper's experiments keep populated cells populated and empty cells empty (FGCS §9.1); this is the
book-keeping that lets a mobility model obey.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import ceil, floor

from thyme.model.errors import InputError
from thyme.model.geometry import Point

Cell = tuple[int, int]


def cell_of(place: Point, cell_m: float) -> Cell:
    """The column and row of the cell that holds `place`."""
    return floor(place.x_m / cell_m), floor(place.y_m / cell_m)


def crossed_cells(here: Point, there: Point, cell_m: float) -> list[Cell]:
    """The cells on the straight way from `here` to `there`, in order."""
    cuts = {0.0, 1.0}
    for start, end in ((here.x_m, there.x_m), (here.y_m, there.y_m)):
        low, high = min(start, end), max(start, end)
        for line in range(ceil(low / cell_m), floor(high / cell_m) + 1):
            if end != start:
                cuts.add((line * cell_m - start) / (end - start))
    ordered = sorted(cut for cut in cuts if 0.0 <= cut <= 1.0)
    middles = [(one + next_one) / 2.0 for one, next_one in pairwise(ordered)]
    cells = [
        cell_of(
            Point(here.x_m + (there.x_m - here.x_m) * part, here.y_m + (there.y_m - here.y_m) * part),
            cell_m,
        )
        for part in middles
    ]
    return list(dict.fromkeys(cells))


class Occupation:
    """How many nodes are settled in each cell; who is between two cells is settled in none."""

    def __init__(self, places: Iterable[Point], cell_m: float) -> None:
        if cell_m <= 0.0:
            raise InputError(f"cell size {cell_m:g} m must be positive")
        self.cell_m = cell_m
        self._settled = Counter(cell_of(place, cell_m) for place in places)
        self.populated = frozenset(self._settled)

    def settled(self, cell: Cell) -> int:
        return self._settled[cell]

    def enter(self, cell: Cell) -> None:
        self._settled[cell] += 1

    def leave(self, cell: Cell) -> None:
        self._settled[cell] -= 1
        if self._settled[cell] < 0:
            raise AssertionError(f"more nodes left cell {cell} than ever entered it")
