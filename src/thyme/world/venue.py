"""Venues: the size of the place and of its cells.

The papers' areas are rectangles twice as wide as high with two nodes per 40 m cell (Thyme FGCS §9.2).
`venue_for` carries that rule on to any crowd, and gives exactly the papers' areas for the papers' sizes.
"""

from __future__ import annotations

from math import sqrt

import msgspec

from thyme.model.errors import InputError

PAPER_CELL_M = 40.0
PAPER_NODES_PER_CELL = 2.0
PAPER_AREAS_M: dict[int, tuple[float, float]] = {
    16: (160.0, 80.0),
    36: (240.0, 120.0),
    64: (320.0, 160.0),
    100: (400.0, 200.0),
    144: (480.0, 240.0),
    196: (560.0, 280.0),
}


class Venue(msgspec.Struct, frozen=True):
    """A rectangle with its south-west corner at (0, 0), cut into square cells."""

    width_m: float
    height_m: float
    cell_m: float = PAPER_CELL_M

    def __post_init__(self) -> None:
        if min(self.width_m, self.height_m, self.cell_m) <= 0.0:
            raise InputError(
                f"venue {self.width_m:g} m × {self.height_m:g} m with cells of {self.cell_m:g} m: "
                "all three must be positive"
            )

    def nodes_per_cell(self, nodes: int) -> float:
        return nodes * self.cell_m**2 / (self.width_m * self.height_m)


def paper_venue(nodes: int) -> Venue:
    """The area that the Thyme paper gives to this many nodes."""
    if nodes not in PAPER_AREAS_M:
        known = ", ".join(str(count) for count in PAPER_AREAS_M)
        raise InputError(f"the paper has no area for {nodes} nodes (only {known}); size one by density instead")
    return Venue(*PAPER_AREAS_M[nodes])


def venue_for(nodes: int, nodes_per_cell: float = PAPER_NODES_PER_CELL, cell_m: float = PAPER_CELL_M) -> Venue:
    """A venue of whole cells, about twice as wide as high, in which `nodes` have that density."""
    if nodes < 1 or nodes_per_cell <= 0.0:
        raise InputError(f"venue for {nodes} nodes, {nodes_per_cell:g} per cell: both must be positive")
    cells = nodes / nodes_per_cell
    rows = max(1, round(sqrt(cells / 2.0)))
    columns = max(1, round(cells / rows))
    return Venue(columns * cell_m, rows * cell_m, cell_m)
