"""The 802.11g radio for the engine: enqueue frames, advance, read reports.

`WifiRadio` holds the tables and calls the compiled kernel; it has no rules of its own. Reports stay valid until the
next `advance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

import numpy as np

from thyme.compiled import address_book
from thyme.model.errors import InputError
from thyme.model.records import TrafficKind
from thyme.sim.radios.radio import RadioReport, RadioTotals, ReportRows
from thyme.sim.radios.wifi.building import build, with_more_room
from thyme.sim.radios.wifi.kernel import OUT_OF_ORDER, SHORT, queue, run, switch
from thyme.sim.radios.wifi.profiles import HEADER_BYTES, PSDU_MAX_BYTES, WifiOptions, WifiProfile, check
from thyme.sim.radios.wifi.queues import DROPPED, EXPIRED, GIVEN_UP, RECEIVED, SENT
from thyme.sim.radios.wifi.state import ACK, BROADCAST, CTS, EVERYBODY, RTS, UNICAST, Table
from thyme.world.movement import Movement

__all__ = ["DROPPED", "EXPIRED", "GIVEN_UP", "RECEIVED", "SENT", "WifiRadio"]


_SENT_AS = (("broadcast", BROADCAST), ("unicast", UNICAST), ("ack", ACK), ("rts", RTS), ("cts", CTS))
_LOST = (("failed", "collision or noise"), ("deaf", "busy with another frame"), ("undetected", "preamble lost"))
_GIVEN_UP_FOR = (
    ("given_up_retries", "retry limit"),
    ("given_up_lifetime", "lifetime"),
    ("refused_queue_full", "queue full"),
)
_HEAD = Struct("6qd")
"""A row of the heads (`state.HEAD`): all of `RadioReport` except the rows."""
_report_of = tuple.__new__
"""The inner function that `RadioReport` calls; calling it directly is faster."""


class WifiRadio:
    """A `Radio`: PHY and MAC of all nodes of a movement."""

    def __init__(self, movement: Movement, profile: WifiProfile, options: WifiOptions, seed: int) -> None:
        check(profile, options)
        if movement.nodes < 1:
            raise InputError("a radio needs at least one node; the movement has none")
        self.profile = profile
        self.tables = build(movement, profile, options, seed)
        scalars = self.tables.scalars
        self._now, self._due, self._heads = (scalars[name].data for name in ("now", "due", "heads"))
        self._ended, self._ended_s = scalars["ended"].data, scalars["ended_s"].data.cast("B").cast("d")
        self.header_bytes = HEADER_BYTES
        self._open_book()
        self._count = 0

    def broadcast(self, now_s: float, node: int, frame: int, size_bytes: int, *, bulk: bool = False) -> bool:
        """Queue a frame for all nodes in range; False when the queue is full or the node is off."""
        return self.unicast(now_s, node, EVERYBODY, frame, size_bytes, bulk=bulk)

    def unicast(self, now_s: float, node: int, to: int, frame: int, size_bytes: int, *, bulk: bool = False) -> bool:
        """Queue a frame for one neighbour, acknowledged and retried; False when the queue is full."""
        psdu_bytes = size_bytes + self.header_bytes
        if psdu_bytes > PSDU_MAX_BYTES:
            most = PSDU_MAX_BYTES - self.header_bytes
            raise InputError(f"a frame of {size_bytes} bytes does not fit one 802.11 frame; split it ({most} at most)")
        now = round(now_s * 1e9)
        done = queue(self.address, now, node, to, frame, psdu_bytes, bulk)
        while done == SHORT:
            self._enlarge()
            done = queue(self.address, now, node, to, frame, psdu_bytes, bulk)
        if done == OUT_OF_ORDER:
            raise AssertionError(f"a frame at {now_s} s, but the radio stands at {self.now_s} s: advance it first")
        return bool(done)

    def idle(self, node: int) -> bool:
        return bool(self.tables.station["queued"][self.tables.number[node]] == 0)

    def advance(self, until_s: float) -> int:
        """Run until `until_s` or until there is something to report; returns the number of rows to read."""
        until = round(until_s * 1e9)
        if self._due[0] > until:
            self._now[0] = max(self._now[0], until)
            self._count = 0
            return 0
        happenings = run(self.address, until)
        while happenings == SHORT:
            self._enlarge()
            happenings = run(self.address, until)
        self._count = happenings
        return happenings

    def reports(self) -> list[RadioReport]:
        if not self._count:
            return []
        heads, among = self._head_bytes[: self._heads[0] * _HEAD.size], (self._report_rows,)
        return [_report_of(RadioReport, head + among) for head in _HEAD.iter_unpack(heads)]

    def skip_sent_reports(self) -> None:
        self.tables.config["quiet"] = 1

    @property
    def ended_s(self) -> float:
        return self._ended_s[0]

    def take_ended(self, before_s: float) -> list[int]:
        count, rows = int(self._ended[0]), self.tables.ended
        gone = int(np.searchsorted(rows["at_s"][:count], before_s))
        tokens: list[int] = rows["frame"][:gone].tolist()
        rows[: count - gone] = rows[gone:count].copy()
        self._ended[0] = count - gone
        return tokens

    def happened(self) -> Table:
        """The rows of this stop (at_s, frame, node, peer, kind)."""
        return self._report_rows.rows[: self._count]

    def _enlarge(self) -> None:
        """Enlarge the tables that run short."""
        self.tables = with_more_room(self.tables)
        self._open_book()

    def _open_book(self) -> None:
        self._addresses = address_book(self.tables)
        self.address: int = self._addresses.ctypes.data
        self._report_rows = ReportRows(self.tables.report)
        self._head_bytes = self.tables.head.view("u1").data

    def switch(self, now_s: float, node: int, on: bool) -> None:
        """Turn a node's radio on or off; its queue is dropped (reported by the next `advance`)."""
        now = round(now_s * 1e9)
        while switch(self.address, now, node, int(on)) == SHORT:
            self._enlarge()

    @property
    def now_s(self) -> float:
        return float(self._now[0]) * 1e-9

    @property
    def counters(self) -> Table:
        """All counters, one row per node."""
        tables = self.tables
        count: Table = tables.tally.copy()
        for table in (tables.node, tables.station):
            for name in set(table.dtype.names or ()) & set(count.dtype.names or ()):
                count[name] = table[name]
        return count[tables.number]

    def mean_hearers(self) -> float:
        """The average number of nodes that may sense a frame (of static nodes)."""
        return float(self.tables.hearer_first[-1]) / len(self.tables.node)

    def traffic(self) -> list[RadioTotals]:
        count = self.counters
        none = [0] * len(count)
        rows = [
            RadioTotals(TrafficKind.PHY_SENT, name, count["frames"][:, kind].tolist(), count["bytes"][:, kind].tolist())
            for name, kind in _SENT_AS
        ]
        rows.append(RadioTotals(TrafficKind.PHY_RECEIVED, "any", count["received"].tolist(), none))
        rows += [
            RadioTotals(TrafficKind.PHY_LOST, "any", count[column].tolist(), none, reason) for column, reason in _LOST
        ]
        rows.append(RadioTotals(TrafficKind.RETRANSMITTED, "unicast", count["retransmissions"].tolist(), none))
        rows += [
            RadioTotals(TrafficKind.GIVEN_UP, "any", count[column].tolist(), none, reason)
            for column, reason in _GIVEN_UP_FOR
        ]
        return rows

    def airtime_s(self) -> dict[str, Sequence[float]]:
        count = self.counters
        transmit, receive = count["tx_ns"] * 1e-9, count["rx_ns"] * 1e-9
        # The medium is sensed busy during receptions too; what remains is other nodes' undecodable energy.
        busy = np.maximum(0.0, count["sensed_ns"] * 1e-9 - receive)
        asleep = count["off_ns"] * 1e-9
        idle = np.maximum(0.0, self.now_s - transmit - receive - busy - asleep)
        states = {"transmit": transmit, "receive": receive, "busy": busy, "idle": idle, "sleep": asleep}
        return {state: seconds.tolist() for state, seconds in states.items()}
