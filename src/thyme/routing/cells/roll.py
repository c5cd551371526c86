"""The roll: neighbours that were heard lately, when, and what of each need not be heard of again.

Most beacons say what the last one said, and whoever listens can do without them: a neighbour is *calm* as long as it
says the same thing. The columns are plain memory, found through a desk (`routing.hearing`), so that one call can note a
beacon of a calm neighbour for everybody who hears it (`cells.rollcall`); all else is done here, one by one.
"""

from __future__ import annotations

from array import array
from math import inf

import numpy as np

from thyme.model.ids import NodeId
from thyme.wire.beacons import SUM_BYTES

DESK = np.dtype(
    [
        ("nodes", np.int64),
        ("heard_s", np.int64),
        ("calm", np.int64),
        ("count", np.int64),
        ("wake_s", np.float64),  # from then on every beacon is told of
        ("max_digest_bytes", np.int64),
        ("own_sum", np.int64),  # the address of what this node's own digest sums up to; 0 if it has none
        ("notes", np.int64),  # the address of notes that are known (`cells.notes`); 0 if any note is of interest
    ]
)
_FIRST_ROWS = 16
_RESTLESS = -1
_NEWS = -2
_WITH_SUM = 1 << 62
_MOST_SAID = 1 << 29


def saying(cell: int, stationary: bool) -> int:
    """What a beacon says, as one number."""
    return 2 * cell + stationary


def saying_all(said: int, digest: bytes) -> int:
    """What a beacon says, with its sum; what has none, or comes from a cell that no grid has, is always news."""
    if len(digest) != SUM_BYTES or not 0 <= said < _MOST_SAID:
        return _NEWS
    return _WITH_SUM + (said << 8 * SUM_BYTES) + int.from_bytes(digest, "big")


class Roll:
    """When each neighbour was last heard."""

    def __init__(self, max_digest_bytes: int) -> None:
        self._at: dict[NodeId, int] = {}
        self._nodes = array("q", bytes(8 * _FIRST_ROWS))
        self._heard_s = array("d", bytes(8 * _FIRST_ROWS))
        self._calm = array("q", bytes(8 * _FIRST_ROWS))
        self._desk = np.zeros(1, DESK)
        self._desk["wake_s"], self._desk["max_digest_bytes"] = -inf, max_digest_bytes
        self._count, self._wake_s = self._desk["count"], self._desk["wake_s"]
        self.address: int = self._desk.ctypes.data
        self._place()

    def note(self, node: NodeId, now_s: float) -> None:
        at = self._at.get(node)
        if at is None:
            at = self._enter(node)
        self._heard_s[at] = now_s

    def heard_s(self, node: NodeId) -> float:
        """When a neighbour was last heard; it must be on the roll."""
        return self._heard_s[self._at[node]]

    def silent_since(self, at_s: float) -> list[NodeId]:
        """Those who were not heard after `at_s`, in the order of their numbers."""
        nodes = self._nodes
        return sorted(NodeId(nodes[at]) for at, heard_s in enumerate(self._heard_s[: len(self._at)]) if heard_s <= at_s)

    def oldest_s(self) -> float:
        """When the neighbour was heard that was not heard for longest; there must be one."""
        return min(self._heard_s[: len(self._at)])

    def remove(self, node: NodeId) -> None:
        at, last = self._at.pop(node), len(self._at)
        if at != last:
            self._nodes[at] = self._nodes[last]
            self._heard_s[at] = self._heard_s[last]
            self._calm[at] = self._calm[last]
            self._at[NodeId(self._nodes[at])] = at
        self._count[0] = last

    def calm(self, node: NodeId, said: int) -> None:
        """While this neighbour says the same again, nobody wants to know."""
        self._calm[self._at[node]] = said

    def calm_while_alike(self, node: NodeId, said_all: int) -> None:
        """The same, but it must say the same sum too, and that must be this node's own."""
        self._calm[self._at[node]] = said_all

    def compare_with(self, own_sum: int, notes: int) -> None:
        """Where this node's own digest and the notes that it knows are kept."""
        self._desk["own_sum"], self._desk["notes"] = own_sum, notes

    def stir(self, node: NodeId) -> None:
        self._calm[self._at[node]] = _RESTLESS

    def stir_all(self) -> None:
        for at in range(len(self._at)):
            self._calm[at] = _RESTLESS

    def wake(self, at_s: float) -> None:
        """From `at_s` on, every beacon is to be told of, whoever is calm."""
        self._wake_s[0] = at_s

    def _enter(self, node: NodeId) -> int:
        at = len(self._at)
        if at == len(self._nodes):
            for column in (self._nodes, self._heard_s, self._calm):
                column.frombytes(bytes(8 * at))
            self._place()
        self._at[node] = at
        self._nodes[at], self._calm[at] = node, _RESTLESS
        self._count[0] = at + 1
        return at

    def _place(self) -> None:
        for name, column in (("nodes", self._nodes), ("heard_s", self._heard_s), ("calm", self._calm)):
            self._desk[name] = column.buffer_info()[0]
