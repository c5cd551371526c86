"""Who is near: the nodes that one node reaches at an instant, in columns that compiled code can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Near:
    """Nodes by index, and how far each is."""

    __slots__ = ("_metres", "_nodes", "count", "metres_at", "nodes_at")

    def __init__(self, nodes: NDArray[np.int64], metres: NDArray[np.float64], count: int) -> None:
        self._nodes = nodes
        self._metres = metres
        self.count = count
        """How many rows of the columns are in use."""
        self.nodes_at: int = nodes.ctypes.data
        self.metres_at: int = metres.ctypes.data

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(zip(self._nodes[: self.count].tolist(), self._metres[: self.count].tolist(), strict=True))

    def kept(self) -> Near:
        """The same, in columns of its own."""
        return Near(self._nodes[: self.count].copy(), self._metres[: self.count].copy(), self.count)


class Reach(Protocol):
    """Who hears whom. Asked in the order of time; an answer is good until the next question."""

    def within(self, node: int, at_s: float) -> Near:
        """The other nodes within range at `at_s`."""

    def towards(self, node: int, other: int, at_s: float) -> Near:
        """The other node alone, or nobody if it is out of range."""
