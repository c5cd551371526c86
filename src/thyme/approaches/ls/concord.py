"""Concord: what decides whether a neighbour's digest is news, in memory that compiled code can reach."""

from __future__ import annotations

import numpy as np

CONCORD = np.dtype([("digest", np.int64), ("mood", np.int64)])
"""The address of this node's own digest, and its mood."""
DEAF, SETTLED, CLOSELY = 0, 1, 2
"""Not taking part; agreeing with all neighbours as far as it knows; wanting to know what every one of them says."""


class Concord:
    """One node's."""

    def __init__(self, digest: int) -> None:
        """`digest` is where the node's digest is kept."""
        self._desk = np.zeros(1, CONCORD)
        self._desk["digest"] = digest
        self._mood = self._desk["mood"].data
        self.address: int = self._desk.ctypes.data

    def listen(self, closely: bool) -> None:
        """The node takes part; every digest is told of if it listens closely."""
        self._mood[0] = CLOSELY if closely else SETTLED
