"""When each neighbour was last heard, and which of its beacons need no handling.

Most beacons repeat what the sender's last beacon said, and the receiver has nothing to do but to note the time: the
neighbour is *quiet* as long as it says the same. One compiled call notes the beacon of a quiet neighbour in the tables
of all receivers (`neighbour_kernel`); everything else is handled node by node. A row stays where it is, and a small
index gives the likely row of a node, so that a call for a hundred receivers touches little memory of each.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from thyme.model.ids import NodeId
from thyme.routing.broadcasts import NodeTable, NodeTables, Receivers, SharedNumber
from thyme.routing.layouts import LIKELY, NEIGHBOUR_ROW, NEIGHBOURS, NOTE_ROWS, NOTES_PER_ROW
from thyme.wire.routing import SUM_BYTES, Beacon, digest_parts

_FIRST_ROWS = 16
_WORDS, _QUIET, _HEARD_S = 3, 1, 2
_HANDLE = -1
_UNLIKE_ANY = -2
_WITH_SUM = 1 << 62
_MOST_SAID = 1 << 29
_NO_NOTE = -1


def content(cell: int, stationary: bool) -> int:
    """What a beacon says, as one number."""
    return 2 * cell + stationary


def content_with_sum(said: int, digest: bytes) -> int:
    """What a beacon says, with its sum. A beacon without one, or from a cell that no grid has, is always handled."""
    if len(digest) != SUM_BYTES or not 0 <= said < _MOST_SAID:
        return _UNLIKE_ANY
    return _WITH_SUM + (said << 8 * SUM_BYTES) + int.from_bytes(digest, "big")


class KnownNotes(NodeTable):
    """Some of the notes in beacons that one node knows already, each in the one row that its numbers give, where it
    replaces the oldest. A note that is not found here may still be known, and is handled once more."""

    record = np.dtype([("notes", np.int64, (NOTE_ROWS * NOTES_PER_ROW,))])

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        super().__init__()
        self._record["notes"] = _NO_NOTE
        self._notes = self._record[0]["notes"].data

    def add(self, about: int, number: int) -> None:
        notes, first = self._notes, _first_note(about, number)
        for place in range(first + NOTES_PER_ROW - 1, first, -1):
            notes[place] = notes[place - 1]
        notes[first] = about << 16 | number

    def forget(self, about: int, number: int) -> None:
        notes, first, note = self._notes, _first_note(about, number), about << 16 | number
        for place in range(first, first + NOTES_PER_ROW):
            if notes[place] == note:
                notes[place] = _NO_NOTE


def _first_note(about: int, number: int) -> int:
    return NOTES_PER_ROW * ((about * 31 + number) & (NOTE_ROWS - 1))


class NeighbourTable(NodeTable):
    """When each neighbour was last heard."""

    record = NEIGHBOURS

    __slots__ = ("_at", "_count", "_heard_s", "_likely", "_own_sum", "_rows", "_times", "_words")

    def __init__(self, max_digest_bytes: int) -> None:
        super().__init__()
        self._at: dict[NodeId, int] = {}
        """Where each neighbour's row begins."""
        self._record["max_digest_bytes"] = max_digest_bytes
        self._count = self._record["count"].data
        likely: NDArray[np.int32] = np.zeros(LIKELY, np.int32)
        self._likely = likely.data
        self._attach("likely", likely)
        self._make_room(_FIRST_ROWS, b"")

    def note(self, node: NodeId, now_s: float) -> int:
        """A neighbour was heard; its row, which is valid until a neighbour is removed."""
        at = self._at.get(node)
        if at is None:
            at = self._enter(node)
        self._times[at + _HEARD_S] = now_s
        return at

    def heard_s(self, node: NodeId) -> float:
        """When a neighbour was last heard; it must be in the table."""
        return self._times[self._at[node] + _HEARD_S]

    def silent_since(self, at_s: float) -> tuple[list[NodeId], float]:
        """The neighbours not heard after `at_s`, in the order of their numbers, and when the first of the others was
        last heard (infinity if there are none)."""
        count = len(self._at)
        heard_s = self._heard_s[:count]
        oldest_s = float(heard_s.min(initial=inf))
        if oldest_s > at_s:
            return [], oldest_s
        heard = heard_s.tolist()
        rows = zip(self._words[: _WORDS * count : _WORDS].tolist(), heard, strict=True)
        silent = sorted([NodeId(node) for node, last_s in rows if last_s <= at_s])
        return silent, min([last_s for last_s in heard if last_s > at_s], default=inf)

    def remove(self, node: NodeId) -> None:
        at, words = self._at.pop(node), self._words
        last = _WORDS * len(self._at)
        if at != last:
            words[at : at + _WORDS] = words[last : last + _WORDS]
            self._put(NodeId(words[at]), at)
        self._count[0] = len(self._at)

    def set_quiet(self, row: int, said: int) -> None:
        """While this neighbour says the same again (`content`), its beacons are not handled; if it is said with a sum
        (`content_with_sum`), that must be this node's own, too."""
        self._words[row + _QUIET] = said

    def compare_with(self, own_sum: SharedNumber | None, notes: KnownNotes | None) -> None:
        """The sum of this node's own digest, and the notes that it knows."""
        for field, table in (("own_sum", own_sum), ("notes", notes)):
            self._record[field] = table.address if table else 0
        self._own_sum = own_sum, notes

    def handle_next(self, node: NodeId) -> None:
        """Handle the next beacon of this neighbour even if it has not changed."""
        self._words[self._at[node] + _QUIET] = _HANDLE

    def is_handled(self, row: int) -> bool:
        """Whether the next beacon of this neighbour is handled even if it has not changed."""
        return self._words[row + _QUIET] == _HANDLE

    @staticmethod
    def receive_all(receivers: Receivers, tables: NodeTables, sender: NodeId, message: Beacon) -> int:
        from thyme.routing.cells.neighbour_kernel import receive

        said, (own_sum, notes) = content(message.cell, message.stationary), digest_parts(message.digest)
        with_sum, size_bytes = content_with_sum(said, own_sum), len(message.digest)
        if message.far:  # handled by every receiver
            said = with_sum = _UNLIKE_ANY
        return receive(receivers.address, tables.address, sender, said, with_sum, size_bytes, notes)

    def _enter(self, node: NodeId) -> int:
        count = len(self._at)
        at = _WORDS * count
        if at == len(self._words):
            self._make_room(2 * count, bytes(self._rows))
        self._put(node, at)
        self._words[at], self._words[at + _QUIET] = node, _HANDLE
        self._count[0] = count + 1
        return at

    def _put(self, node: NodeId, at: int) -> None:
        self._at[node] = at
        self._likely[node % LIKELY] = at // _WORDS

    def _make_room(self, rows: int, so_far: bytes) -> None:
        self._rows: NDArray[np.uint8] = np.zeros(rows * NEIGHBOUR_ROW.itemsize, np.uint8)
        self._rows[: len(so_far)] = np.frombuffer(so_far, np.uint8)
        self._words, self._times = self._rows.data.cast("q"), self._rows.data.cast("d")
        self._heard_s: NDArray[np.float64] = self._rows.view(NEIGHBOUR_ROW)["heard_s"]
        self._attach("rows", self._rows)
