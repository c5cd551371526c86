"""DSDV's routes and what is to be told of them: the rules of an update, with no network (as ns-3 plays them).

There are two tables in one. Routes are what packets follow; news are what has changed and will be told in the next
triggered update. An entry with a newer sequence number and the same metric is told at once, and taken over into
the routes when it is told; one with another metric is followed at once but told only after its settling time, in
case a better one is on its way. Hearing the same again from somebody else takes an entry out of the news, which
damps the updates in a dense network.

Sequence numbers are a destination's own and even; whoever loses a route tells of it under the next odd number.
Where `remember_lost` is set, a node does not take back an older route to a destination it has lost, which keeps
routes free of loops; ns-3 does take it back.

The rules themselves are compiled (`dsdv.kernel`); this class owns the memory that they work in.
"""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from thyme.borrowed import lined
from thyme.model.ids import NodeId
from thyme.routing.dsdv import kernel
from thyme.routing.dsdv.rows import DESK, ROW
from thyme.routing.dsdv.writing import ENTRY
from thyme.routing.hearing import Hearing
from thyme.wire.dsdv import TableUpdate

_FIRST_ROWS = 16
_FIRST_MOMENTS = 8
_IDS = 1 << 32


class Route(msgspec.Struct, frozen=True):
    """The way to a destination: over `next_hop`, `hops` links. `heard_s` is when it was last confirmed."""

    destination: NodeId
    next_hop: NodeId
    hops: int
    sequence: int
    heard_s: float
    settling_s: float


class DsdvTable:
    """The routes of one node."""

    def __init__(
        self,
        own: NodeId,
        settling_s: float,
        weight: float | None,
        hold_s: float,
        remember_lost: bool,
        max_routes: int,
        jitter_s: float = 0.0,
    ) -> None:
        """`weight` is the part of the old settling time in the new one; None keeps the settling time as it is. News are
        told in a random moment within `jitter_s`."""
        self._desk: NDArray[Any] = np.zeros(1, DESK)
        desk = self._desk[0]
        desk["own"], desk["max_routes"], desk["remember_lost"] = own, max_routes, remember_lost
        desk["settling_s"], desk["hold_s"], desk["due_s"] = settling_s, hold_s, inf
        desk["weight"] = -1.0 if weight is None else weight
        desk["jitter_s"], desk["triggered_s"], desk["settled_s"] = jitter_s, inf, inf
        self.address: int = self._desk.ctypes.data
        self._due_s, self._triggered_s = self._desk["due_s"].data, self._desk["triggered_s"].data
        self._settled_s: Any = self._desk["settled_s"].data
        self._attends, self._sequence = self._desk["attends"].data, self._desk["sequence"].data
        self._moments: NDArray[np.float64] = np.zeros(0)
        self._remember(_FIRST_MOMENTS)
        self._place(np.zeros(0, ROW), _FIRST_ROWS)

    @property
    def due_s(self) -> float:
        """When the next settling ends; infinity if nothing settles."""
        return self._due_s[0]

    @property
    def capacity(self) -> int:
        """Destinations for which there is room before the table grows."""
        return len(self._rows)

    @property
    def triggered_s(self) -> float:
        """For when the timer that tells news is set; infinity if it is not."""
        return self._triggered_s[0]

    @property
    def settled_s(self) -> float:
        """For when the timer that ends settling is set; infinity if it is not."""
        return float(self._settled_s[0])

    @settled_s.setter
    def settled_s(self, at_s: float) -> None:
        self._settled_s[0] = at_s

    @property
    def sequence(self) -> int:
        """This node's own number, under which it tells of itself."""
        return int(self._sequence[0])

    @sequence.setter
    def sequence(self, number: int) -> None:
        self._sequence[0] = number

    def attend(self, wanted: bool) -> None:
        """Whether every update is to be told of, whatever it does to the table."""
        self._attends[0] = wanted

    def read(self, sender: NodeId, entries: bytes, now_s: float, draw: float = 0.0) -> int:
        """Take in a neighbour's update; what is left to be done, by `dsdv.duties`."""
        said = _numbers(entries)
        told = kernel.read(self.address, said.ctypes.data, len(said), sender, now_s, draw)
        while told == kernel.SHORT:
            self._make_room(len(said))
            told = kernel.read(self.address, said.ctypes.data, len(said), sender, now_s, draw)
        return told

    def trigger(self, now_s: float, draw: float) -> int:
        """Draw a moment to tell what is news besides updates; `duties.TRIGGER` if the timer must be set."""
        told = kernel.trigger(self.address, now_s, draw)
        while told == kernel.SHORT:
            self._make_room(0)
            told = kernel.trigger(self.address, now_s, draw)
        return told

    def tell(self, sequence: int) -> bytes:
        """The entries of a triggered update, in the order of destinations; they are news no longer, and no timer is set
        to tell them. Nothing if there is no news."""
        return self._out[: kernel.tell(self.address, sequence)].tobytes()

    def dump(self, sequence: int, now_s: float) -> bytes:
        """The entries of a full update: all routes, then the losses. What was not confirmed for the hold time, and
        what went over it, is lost."""
        return self._out[: kernel.dump(self.address, sequence, now_s)].tobytes()

    def settle(self, sequence: int, now_s: float) -> bytes:
        """End what settles and is due by now, one after the other, until one leaves something to tell: that. If all has
        ended, `settled_s` is when the timer must be set for."""
        return self._out[: kernel.settle(self.address, sequence, now_s)].tobytes()

    def purge(self, now_s: float) -> bool:
        """Lose what was not confirmed for the hold time; whether that is news."""
        return kernel.note_purged(self.address, now_s) > 0

    def lose_over(self, neighbour: NodeId, now_s: float) -> bool:
        """The link to a neighbour is broken: every route over it is lost. Whether there were any."""
        return kernel.break_link(self.address, neighbour, now_s) > 0

    def next_hop(self, destination: NodeId) -> NodeId | None:
        """The neighbour to which packets for a destination go."""
        if not 0 <= destination < _IDS:
            return None
        hop = kernel.next_hop(self.address, destination)
        return None if hop < 0 else NodeId(hop)

    def routes(self) -> list[Route]:
        """All routes in use, in the order of destinations."""
        return [_route(row) for row in self._used_rows() if row["known"]]

    def route(self, destination: NodeId) -> Route | None:
        if not 0 <= destination < _IDS:
            return None
        rows = self._used_rows()
        at = int(np.searchsorted(rows["destination"], destination))
        fits = at < len(rows) and rows[at]["destination"] == destination and rows[at]["known"]
        return _route(rows[at]) if fits else None

    def _used_rows(self) -> NDArray[Any]:
        return self._rows[: int(self._desk[0]["used"])]

    def _make_room(self, more: int) -> None:
        """Forget rows that nothing is kept in, and see to it that `more` fit besides the others, with some to spare;
        the same for the moments that were drawn."""
        if self._desk[0]["trigger_count"] == len(self._moments):
            self._remember(2 * len(self._moments))
        rows = self._used_rows()
        rows = rows[(rows["known"] | rows["news"] | rows["lost"]).astype(bool) | (rows["due_s"] < inf)]
        needed = len(rows) + more
        fits = needed <= 0.75 * len(self._rows)
        self._place(rows, len(self._rows) if fits else max(2 * len(self._rows), needed + needed // 2))

    def _remember(self, moments: int) -> None:
        """Have room for so many moments."""
        self._moments = np.resize(self._moments, moments)
        desk = self._desk[0]
        desk["triggers"], desk["trigger_room"] = self._moments.ctypes.data, moments

    def _place(self, rows: NDArray[Any], capacity: int) -> None:
        self._rows: NDArray[Any] = lined(capacity, ROW)
        self._rows[: len(rows)] = rows
        out: NDArray[np.uint8] = np.zeros((2 * capacity + 1) * ENTRY, np.uint8)
        self._out = out.data
        desk = self._desk[0]
        desk["rows"], desk["capacity"], desk["used"] = self._rows.ctypes.data, capacity, len(rows)
        desk["out"] = out.ctypes.data


def read_together(hearing: Hearing, desks: int, sender: NodeId, message: TableUpdate) -> int:
    """An `Ear.take`: everybody who hears an update reads it."""
    said = _numbers(message.entries)
    return kernel.read_all(hearing.address, desks, said.ctypes.data, len(said), sender)


def _numbers(entries: bytes) -> NDArray[np.int64]:
    """The entries of an update as `kernel.SAID`; what is less than one at their end is nothing."""
    count = len(entries) // ENTRY
    return np.frombuffer(entries, ">u4", count * ENTRY // 4).astype(np.int64).reshape(count, ENTRY // 4)


def _route(row: Any) -> Route:
    destination, over = NodeId(int(row["destination"])), NodeId(int(row["next_hop"]))
    heard_s, settling_s = float(row["heard_s"]), float(row["settling_s"])
    return Route(destination, over, int(row["hops"]), int(row["sequence"]), heard_s, settling_s)
