"""Whom a node has heard, and when last: a bounded table in the order of nodes.

Both lives write into the same rows: `HeardTable.note` for one frame, and `noting` (compiled) for all hearers of a
frame at once, which leaves to `note` whatever needs a new row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thyme.model.ids import NodeId

ROW = np.dtype([("node", np.int64), ("at_s", np.float64)])
DESK = np.dtype([("rows", np.int64), ("used", np.int64)])
_FIRST_ROWS = 16


class HeardTable:
    """When each of at most `most` nodes was last heard; beyond them, the one not heard for longest is forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._desk: NDArray[Any] = np.zeros(1, DESK)
        self.address: int = self._desk.ctypes.data
        self._used = self._desk["used"].data
        self._latest = 0
        self._place(np.zeros(_FIRST_ROWS, ROW), 0)

    def note(self, node: NodeId, now_s: float) -> None:
        used = self._used[0]
        if self._latest < used and self._nodes[self._latest] == node:  # who is heard is often heard again
            self._heard_s[self._latest] = now_s
            return
        at = int(np.searchsorted(self._rows["node"][:used], node))
        if at == used or self._rows["node"][at] != node:
            if used == len(self._rows):
                self._place(np.concatenate((self._rows, np.zeros(used, ROW))), used)
            self._rows[at + 1 : used + 1] = self._rows[at:used]
            self._rows["node"][at] = node
            used += 1
        self._rows["at_s"][at] = now_s
        self._latest = at
        if used > self._most:
            used -= 1
            oldest = int(np.argmin(self._rows["at_s"][: used + 1]))
            self._rows[oldest:used] = self._rows[oldest + 1 : used + 1]
        self._desk["used"] = used

    def count_since(self, at_s: float) -> int:
        """How many nodes were heard at `at_s` or later."""
        heard_s = self._rows["at_s"][: int(self._desk["used"][0])]
        return int(np.count_nonzero(heard_s >= at_s))

    def _place(self, rows: NDArray[Any], used: int) -> None:
        self._rows = rows
        self._nodes: Any = rows["node"].data
        self._heard_s: Any = rows["at_s"].data
        self._desk["rows"], self._desk["used"] = rows.ctypes.data, used
