"""Movement: where every node is at any instant, as pieces of straight lines.

A movement is a table of legs, all nodes' legs one after the other (`first[i]` to `first[i + 1]` are node i's).
A leg says: from `start_s` on the node is at (`x_m`, `y_m`) and moves with (`vx_mps`, `vy_mps`) until the next leg
starts; a pause is a leg with no velocity, and the last leg lasts for ever. Every mobility model and every
trace reader produces this one table, and the radios read it by node index without asking anybody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thyme.model.geometry import Point

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Movement:
    """Positions of `nodes` nodes as a function of time, in an area of `width_m` × `height_m`."""

    width_m: float
    height_m: float
    first: Ints
    start_s: Floats
    x_m: Floats
    y_m: Floats
    vx_mps: Floats
    vy_mps: Floats

    @property
    def nodes(self) -> int:
        return len(self.first) - 1

    def leg(self, node: int, at_s: float) -> int:
        """The index of the leg that `node` is on at `at_s` (its first leg before that leg starts)."""
        low, high = int(self.first[node]), int(self.first[node + 1])
        return max(low, low + int(np.searchsorted(self.start_s[low:high], at_s, side="right")) - 1)

    def position(self, node: int, at_s: float) -> Point:
        leg = self.leg(node, at_s)
        elapsed_s = max(0.0, at_s - float(self.start_s[leg]))
        return Point(
            float(self.x_m[leg] + self.vx_mps[leg] * elapsed_s), float(self.y_m[leg] + self.vy_mps[leg] * elapsed_s)
        )

    def moving(self, node: int, at_s: float) -> bool:
        leg = self.leg(node, at_s)
        return bool(self.vx_mps[leg] != 0.0 or self.vy_mps[leg] != 0.0)

    def positions(self, at_s: float) -> Floats:
        """All positions at one instant, as an array of (node, 2)."""
        legs = np.array([self.leg(node, at_s) for node in range(self.nodes)], dtype=np.int64)
        elapsed_s = np.maximum(0.0, at_s - self.start_s[legs])
        return np.column_stack(
            (self.x_m[legs] + self.vx_mps[legs] * elapsed_s, self.y_m[legs] + self.vy_mps[legs] * elapsed_s)
        )
