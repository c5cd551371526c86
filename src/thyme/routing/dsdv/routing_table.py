"""DSDV's routing table: the rules for updates, without a network (as in ns-3).

It is two tables in one. Packets follow the routes; the pending entries (news) are changes to advertise in the next
triggered update. An entry with a newer sequence number and the same metric is advertised at once and enters the routes
when it is advertised. One with a different metric enters the routes at once but is advertised only after its settling
time, in case a better route arrives. Receiving the same entry from another neighbour removes it from the pending ones,
which damps updates in a dense network.

A destination numbers its own updates with even numbers; a node that loses a route advertises the loss with the next odd
number. With `remember_lost`, a node refuses an older route to a destination it has lost, which keeps routes free of
loops; ns-3 accepts it.

The rules are compiled (`dsdv.kernel`); this class owns their memory.
"""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from thyme.compiled import lined
from thyme.model.ids import NodeId
from thyme.routing.broadcasts import NodeTable, NodeTables, Receivers
from thyme.routing.dsdv import kernel
from thyme.routing.dsdv.rows import ENTRY, ROW, TABLE
from thyme.wire.routing import TableUpdate

_FIRST_ROWS = 16
_FIRST_MOMENTS = 8
_IDS = 1 << 32


class Route(msgspec.Struct, frozen=True):
    """The route to a destination: `hops` links, starting with `next_hop`. `heard_s` is the time of its last
    confirmation."""

    destination: NodeId
    next_hop: NodeId
    hops: int
    sequence: int
    heard_s: float
    settling_s: float


class DsdvTable(NodeTable):
    """The routes of one node."""

    record = TABLE
    draws = True

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
        """`weight` is the share of the old settling time in the new one; None keeps the settling time constant.
        Triggered updates are sent after a random delay of at most `jitter_s`."""
        super().__init__()
        record = self._record[0]
        record["own"], record["max_routes"], record["remember_lost"] = own, max_routes, remember_lost
        record["settling_s"], record["hold_s"], record["due_s"] = settling_s, hold_s, inf
        record["weight"] = -1.0 if weight is None else weight
        record["jitter_s"], record["triggered_s"], record["settled_s"] = jitter_s, inf, inf
        self._due_s, self._triggered_s = self._record["due_s"].data, self._record["triggered_s"].data
        self._settled_s: Any = self._record["settled_s"].data
        self._attends, self._sequence = self._record["attends"].data, self._record["sequence"].data
        self._moments: NDArray[np.float64] = np.zeros(0)
        self._remember(_FIRST_MOMENTS)
        self._place(np.zeros(0, ROW), _FIRST_ROWS)

    @property
    def due_s(self) -> float:
        """When the next settling time ends; infinity if none is running."""
        return self._due_s[0]

    @property
    def capacity(self) -> int:
        """Number of destinations that fit before the table grows."""
        return len(self._rows)

    @property
    def triggered_s(self) -> float:
        """Expiry of the timer for triggered updates; infinity if it is not set."""
        return self._triggered_s[0]

    @property
    def settled_s(self) -> float:
        """Expiry of the settling timer; infinity if it is not set."""
        return float(self._settled_s[0])

    @settled_s.setter
    def settled_s(self, at_s: float) -> None:
        self._settled_s[0] = at_s

    @property
    def sequence(self) -> int:
        """This node's own sequence number."""
        return int(self._sequence[0])

    @sequence.setter
    def sequence(self, number: int) -> None:
        self._sequence[0] = number

    def attend(self, wanted: bool) -> None:
        """Set whether every update is reported, even one that changes nothing."""
        self._attends[0] = wanted

    def read(self, sender: NodeId, entries: bytes, now_s: float, draw: float = 0.0) -> int:
        """Apply a neighbour's update; returns what remains to be done, as in `routing.layouts`."""
        said = _numbers(entries)
        todo = kernel.read(self.address, said.ctypes.data, len(said), sender, now_s, draw)
        while todo == kernel.SHORT:
            self._make_room(len(said))
            todo = kernel.read(self.address, said.ctypes.data, len(said), sender, now_s, draw)
        return todo

    def trigger(self, now_s: float, draw: float) -> int:
        """Schedule a triggered update that no received update caused; `layouts.TRIGGER` if the timer must be set."""
        todo = kernel.trigger(self.address, now_s, draw)
        while todo == kernel.SHORT:
            self._make_room(0)
            todo = kernel.trigger(self.address, now_s, draw)
        return todo

    def tell(self, sequence: int) -> bytes:
        """The entries of a triggered update, ordered by destination, or nothing. They are no longer pending, and the
        timer is cleared."""
        return self._out[: kernel.tell(self.address, sequence)].tobytes()

    def dump(self, sequence: int, now_s: float) -> bytes:
        """The entries of a full update: all routes, then the lost ones. Routes not confirmed within the hold time, and
        routes over such a neighbour, become lost."""
        return self._out[: kernel.dump(self.address, sequence, now_s)].tobytes()

    def settle(self, sequence: int, now_s: float) -> bytes:
        """End the settling times that are due, one by one, until one has something to advertise, and return that.
        Afterwards the timer must be set to `settled_s`."""
        return self._out[: kernel.settle(self.address, sequence, now_s)].tobytes()

    def purge(self, now_s: float) -> bool:
        """Mark routes not confirmed within the hold time as lost; returns whether there were any to advertise."""
        return kernel.note_purged(self.address, now_s) > 0

    def lose_over(self, neighbour: NodeId, now_s: float) -> bool:
        """The link to a neighbour broke: mark every route over it as lost. Returns whether there were any."""
        return kernel.break_link(self.address, neighbour, now_s) > 0

    def next_hop(self, destination: NodeId) -> NodeId | None:
        """The next hop for a destination."""
        if not 0 <= destination < _IDS:
            return None
        hop = kernel.next_hop(self.address, destination)
        return None if hop < 0 else NodeId(int(hop))

    def routes(self) -> list[Route]:
        """All routes in use, ordered by destination."""
        return [_route(row) for row in self._used_rows() if row["known"]]

    def route(self, destination: NodeId) -> Route | None:
        if not 0 <= destination < _IDS:
            return None
        rows = self._used_rows()
        at = int(np.searchsorted(rows["destination"], destination))
        fits = at < len(rows) and rows[at]["destination"] == destination and rows[at]["known"]
        return _route(rows[at]) if fits else None

    @staticmethod
    def receive_all(receivers: Receivers, tables: NodeTables, sender: NodeId, message: TableUpdate) -> int:
        said = _numbers(message.entries)
        return kernel.read_all(receivers.address, tables.address, said.ctypes.data, len(said), sender)

    def _used_rows(self) -> NDArray[Any]:
        return self._rows[: int(self._record[0]["used"])]

    def _make_room(self, more: int) -> None:
        """Remove empty rows and make room for `more` rows, with some reserve; the same for the random delays."""
        if self._record[0]["trigger_count"] == len(self._moments):
            self._remember(2 * len(self._moments))
        rows = self._used_rows()
        rows = rows[(rows["known"] | rows["news"] | rows["lost"]).astype(bool) | (rows["due_s"] < inf)]
        needed = len(rows) + more
        fits = needed <= 0.75 * len(self._rows)
        self._place(rows, len(self._rows) if fits else max(2 * len(self._rows), needed + needed // 2))

    def _remember(self, moments: int) -> None:
        """Make room for so many random delays."""
        self._moments = np.resize(self._moments, moments)
        self._attach("triggers", self._moments)
        self._record["trigger_room"] = moments

    def _place(self, rows: NDArray[Any], capacity: int) -> None:
        self._rows: NDArray[Any] = lined(capacity, ROW)
        self._rows[: len(rows)] = rows
        out: NDArray[np.uint8] = np.zeros((2 * capacity + 1) * ENTRY, np.uint8)
        self._out = out.data
        self._record["capacity"], self._record["used"] = capacity, len(rows)
        self._attach("rows", self._rows)
        self._attach("out", out)


def _numbers(entries: bytes) -> NDArray[np.int64]:
    """The entries of an update as `kernel.SAID`; ignores an incomplete entry at the end."""
    count = len(entries) // ENTRY
    return np.frombuffer(entries, ">u4", count * ENTRY // 4).astype(np.int64).reshape(count, ENTRY // 4)


def _route(row: Any) -> Route:
    destination, over = NodeId(int(row["destination"])), NodeId(int(row["next_hop"]))
    heard_s, settling_s = float(row["heard_s"]), float(row["settling_s"])
    return Route(destination, over, int(row["hops"]), int(row["sequence"]), heard_s, settling_s)
