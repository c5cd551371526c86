"""Points in the plane: metres east and north of the venue's south-west corner."""

from __future__ import annotations

from math import hypot

import msgspec


class Point(msgspec.Struct, frozen=True, array_like=True):
    x_m: float
    y_m: float

    def distance_m(self, other: Point) -> float:
        return hypot(self.x_m - other.x_m, self.y_m - other.y_m)
