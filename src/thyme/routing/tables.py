"""Small tables that decide which receivers of a broadcast have something to do.

The compiled counterpart of each, for all receivers of a frame, is in `tables_kernel`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thyme.model.ids import NodeId
from thyme.routing.broadcasts import NodeTable, NodeTables, Receivers, SharedNumber
from thyme.routing.layouts import ALWAYS, DIGEST, HEARD, HEARD_ROW, IF_DIFFERENT, OFF, SEEN_PLACES, SEEN_ROW
from thyme.wire.geographic import CellBroadcast
from thyme.wire.local import KnownDigest
from thyme.wire.routing import SUM_BYTES, Flooded

__all__ = ["ALWAYS", "IF_DIFFERENT", "OFF", "CellNumber", "DigestTable", "HeardTable", "SeenTable"]

_FIRST_ROWS = 16
_NOBODY = -1


class HeardTable(NodeTable):
    """When each of at most `most` nodes was last heard, in the order of their numbers; beyond them, the one not heard
    for longest is forgotten."""

    record = HEARD

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._used = self._record["used"].data
        self._latest = 0
        self._place(np.zeros(_FIRST_ROWS, HEARD_ROW))

    def note(self, node: NodeId, now_s: float) -> None:
        used = self._used[0]
        if self._latest < used and self._nodes[self._latest] == node:  # a node that was heard is often heard again
            self._heard_s[self._latest] = now_s
            return
        at = int(np.searchsorted(self._rows["node"][:used], node))
        if at == used or self._rows["node"][at] != node:
            if used == len(self._rows):
                self._place(np.concatenate((self._rows, np.zeros(used, HEARD_ROW))))
            self._rows[at + 1 : used + 1] = self._rows[at:used]
            self._rows["node"][at] = node
            used += 1
        self._rows["at_s"][at] = now_s
        self._latest = at
        if used > self._most:
            used -= 1
            oldest = int(np.argmin(self._rows["at_s"][: used + 1]))
            self._rows[oldest:used] = self._rows[oldest + 1 : used + 1]
        self._used[0] = used

    def count_since(self, at_s: float) -> int:
        """Number of nodes heard at `at_s` or later."""
        return int(np.count_nonzero(self._rows["at_s"][: self._used[0]] >= at_s))

    @staticmethod
    def receive_all(receivers: Receivers, tables: NodeTables, sender: NodeId, message: object) -> int:
        """A node that has no row for the sender yet must make one."""
        from thyme.routing.tables_kernel import note

        return note(receivers.address, tables.address, sender)

    def _place(self, rows: NDArray[Any]) -> None:
        self._rows = rows
        self._nodes: Any = rows["node"].data
        self._heard_s: Any = rows["at_s"].data
        self._attach("rows", rows)


class SeenTable(NodeTable):
    """Some of the flooded messages that one node has seen, each at the one place that its origin and number give. A
    message that is not found here may still have been seen, and is handled once more."""

    record = np.dtype([("rows", SEEN_ROW, (SEEN_PLACES,))])

    def __init__(self) -> None:
        super().__init__()
        rows = self._record[0]["rows"]
        rows["origin"] = _NOBODY
        self._origins, self._numbers = rows["origin"], rows["number"]

    def add(self, origin: int, number: int) -> None:
        at = seen_place(origin, number)
        self._origins[at], self._numbers[at] = origin, number

    def forget(self, origin: int, number: int) -> None:
        at = seen_place(origin, number)
        if self._origins[at] == origin and self._numbers[at] == number:
            self._origins[at] = _NOBODY

    @staticmethod
    def receive_all(receivers: Receivers, tables: NodeTables, sender: NodeId, message: Flooded) -> int:
        from thyme.routing.tables_kernel import find_new

        place = seen_place(message.origin, message.number)
        return find_new(receivers.address, tables.address, message.origin, message.number, place)


def seen_place(origin: int, number: int) -> int:
    return (origin * 31 + number) & (SEEN_PLACES - 1)


class DigestTable(NodeTable):
    """A node's own digest of what it knows, with which the digests that neighbours broadcast are compared."""

    record = DIGEST

    def __init__(self, own: SharedNumber) -> None:
        super().__init__()
        self._own = own
        self._record["own"] = own.address
        self._handles = self._record["handles"].data

    def handle_digests(self, which: int) -> None:
        """`OFF`: none; `IF_DIFFERENT`: those that differ from its own; `ALWAYS`: all."""
        self._handles[0] = which

    @staticmethod
    def receive_all(receivers: Receivers, tables: NodeTables, sender: NodeId, message: KnownDigest) -> int:
        from thyme.routing.tables_kernel import compare

        digest = message.digest
        theirs = int.from_bytes(digest, "big") if len(digest) == SUM_BYTES else _NOBODY
        return compare(receivers.address, tables.address, theirs)


class CellNumber(SharedNumber):
    """The cell that a node belongs to: only nodes in a broadcast's cell handle it."""

    __slots__ = ()

    @staticmethod
    def receive_all(receivers: Receivers, tables: NodeTables, sender: NodeId, message: CellBroadcast) -> int:
        from thyme.routing.tables_kernel import find_equal

        return find_equal(receivers.address, tables.address, message.cell)
