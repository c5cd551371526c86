"""The roll: neighbours that were heard lately, when, and what of each need not be heard of again.

Most beacons say what the last one said, and whoever listens can do without them: a neighbour is *calm* as long as it
says the same thing. The rows are plain memory, found through a desk (`routing.hearing`), so that one call can note a
beacon of a calm neighbour for everybody who hears it (`cells.rollcall`); all else is done here, one by one. A row lies
in one place, and a small table says where a node's row is likely to be: whoever notes a beacon for a hundred hearers,
whose memory is nowhere near, touches little of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from thyme.model.ids import NodeId
from thyme.wire.beacons import SUM_BYTES

MOST_SILENT = 8
"""So many who fell silent are found at once where that is compiled; more of them one by one."""
ROW = np.dtype([("node", np.int64), ("calm", np.int64), ("heard_s", np.float64)])
DESK = np.dtype(
    [
        ("rows", np.int64),
        ("likely", np.int64),
        ("count", np.int64),
        ("wake_s", np.float64),  # from then on any beacon wakes
        ("max_digest_bytes", np.int64),
        ("own_sum", np.int64),  # the address of what this node's own digest sums up to; 0 if it has none
        ("notes", np.int64),  # the address of notes that are known (`cells.notes`); 0 if any note is of interest
        ("oldest_s", np.float64),  # what `rollcall.find_silent` found: who of the others was heard first, and …
        ("silent", np.int64, (MOST_SILENT,)),  # … the first who are silent
    ]
)
LIKELY = 256
"""A power of two: the last of the nodes whose numbers are the same modulo it is found at once."""
NEWS, WAKES, NEWS_BUT_NOTES = 1, 2, 3
"""What a beacon is to a hearer, if it is more than a sign of life: it may say something new, or it says what it said
before and comes at a time from which on any is waited for, or it may say something new, but its notes are known."""
_FIRST_ROWS = 16
_WORDS, _CALM, _HEARD_S = 3, 1, 2
_RESTLESS = -1
_UNLIKE_ANY = -2
_WITH_SUM = 1 << 62
_MOST_SAID = 1 << 29


def saying(cell: int, stationary: bool) -> int:
    """What a beacon says, as one number."""
    return 2 * cell + stationary


def saying_all(said: int, digest: bytes) -> int:
    """What a beacon says, with its sum; what has none, or comes from a cell that no grid has, is always news."""
    if len(digest) != SUM_BYTES or not 0 <= said < _MOST_SAID:
        return _UNLIKE_ANY
    return _WITH_SUM + (said << 8 * SUM_BYTES) + int.from_bytes(digest, "big")


class Roll:
    """When each neighbour was last heard."""

    __slots__ = (
        "_at",
        "_count",
        "_desk",
        "_heard_s",
        "_instants",
        "_likely",
        "_oldest_s",
        "_rows",
        "_silent",
        "_wake_s",
        "_words",
        "address",
        "find_silent",
    )

    def __init__(self, max_digest_bytes: int) -> None:
        self._at: dict[NodeId, int] = {}
        """Where each neighbour's row begins."""
        self._likely = array("i", bytes(4 * LIKELY))
        self._desk = np.zeros(1, DESK)
        self._desk["wake_s"], self._desk["max_digest_bytes"] = -inf, max_digest_bytes
        self._desk["likely"] = self._likely.buffer_info()[0]
        self._count = self._desk["count"].data
        self._wake_s = self._desk["wake_s"].data.cast("B").cast("d")
        self._oldest_s, self._silent = self._desk["oldest_s"].data, self._desk["silent"][0].data
        self.find_silent: Callable[[int, float], int] | None = None
        """Compiled code that does as `silent_since`, for machines that have it (`rollcall.find_silent`)."""
        self.address: int = self._desk.ctypes.data
        self._make_room(_FIRST_ROWS, b"")

    def note(self, node: NodeId, now_s: float) -> int:
        """A neighbour was heard; which row is its own until others go (`calm`)."""
        at = self._at.get(node)
        if at is None:
            at = self._enter(node)
        self._instants[at + _HEARD_S] = now_s
        return at

    def heard_s(self, node: NodeId) -> float:
        """When a neighbour was last heard; it must be on the roll."""
        return self._instants[self._at[node] + _HEARD_S]

    def silent_since(self, at_s: float) -> tuple[list[NodeId], float]:
        """Those who were not heard after `at_s`, in the order of their numbers; and when the one was heard that, of all
        others, was not heard for longest, infinity if there are none."""
        found = self.find_silent(self.address, at_s) if self.find_silent is not None else MOST_SILENT + 1
        if found <= MOST_SILENT:
            return [NodeId(node) for node in sorted(self._silent[:found])], self._oldest_s[0]
        count = len(self._at)
        oldest_s = float(self._heard_s[:count].min(initial=inf))
        if oldest_s > at_s:
            return [], oldest_s
        heard = self._heard_s[:count].tolist()
        rows = zip(self._words[: _WORDS * count : _WORDS].tolist(), heard, strict=True)
        silent = sorted([NodeId(node) for node, heard_s in rows if heard_s <= at_s])
        return silent, min([heard_s for heard_s in heard if heard_s > at_s], default=inf)

    def remove(self, node: NodeId) -> None:
        at, words = self._at.pop(node), self._words
        last = _WORDS * len(self._at)
        if at != last:
            words[at : at + _WORDS] = words[last : last + _WORDS]
            self._put(NodeId(words[at]), at)
        self._count[0] = len(self._at)

    def calm(self, row: int, said: int) -> None:
        """While this neighbour says the same again (`saying`), nobody wants to know; if it is said with a sum
        (`saying_all`), that must be this node's own too."""
        self._words[row + _CALM] = said

    def compare_with(self, own_sum: int, notes: int) -> None:
        """Where this node's own digest and the notes that it knows are kept."""
        self._desk["own_sum"], self._desk["notes"] = own_sum, notes

    def stir(self, node: NodeId) -> None:
        self._words[self._at[node] + _CALM] = _RESTLESS

    def is_restless(self, row: int) -> bool:
        """Whether the next that this neighbour says has to be heard of, whatever it is."""
        return self._words[row + _CALM] == _RESTLESS

    def wake(self, at_s: float) -> None:
        """From `at_s` on, any beacon wakes, whoever is calm."""
        self._wake_s[0] = at_s

    @property
    def wakes_s(self) -> float:
        """From when on any beacon wakes."""
        return self._wake_s[0]

    def _enter(self, node: NodeId) -> int:
        count = len(self._at)
        at = _WORDS * count
        if at == len(self._words):
            self._make_room(2 * count, bytes(self._rows))
        self._put(node, at)
        self._words[at], self._words[at + _CALM] = node, _RESTLESS
        self._count[0] = count + 1
        return at

    def _put(self, node: NodeId, at: int) -> None:
        self._at[node] = at
        self._likely[node % LIKELY] = at // _WORDS

    def _make_room(self, rows: int, so_far: bytes) -> None:
        self._rows: NDArray[np.uint8] = np.zeros(rows * ROW.itemsize, np.uint8)
        self._rows[: len(so_far)] = np.frombuffer(so_far, np.uint8)
        self._words, self._instants = self._rows.data.cast("q"), self._rows.data.cast("d")
        self._heard_s: NDArray[np.float64] = self._rows.view(ROW)["heard_s"]
        self._desk["rows"] = self._rows.ctypes.data
