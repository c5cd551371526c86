"""The 802.11g radio as the engine sees it: enqueue frames, advance, read what happened.

`Wifi` holds the tables and calls the compiled kernel; it decides nothing itself. What happened stays as it is until the
next `advance`.
"""

from __future__ import annotations

from struct import Struct

import numpy as np

from thyme.compiled import address_book
from thyme.model.errors import InputError
from thyme.sim.radios.radio import Happenings, Told
from thyme.sim.radios.wifi.building import build, with_more_room
from thyme.sim.radios.wifi.counters import WifiTotals, counted, totals
from thyme.sim.radios.wifi.kernel import OUT_OF_ORDER, SHORT, queue, run, switch
from thyme.sim.radios.wifi.profiles import WifiOptions, WifiProfile, check
from thyme.sim.radios.wifi.queues import DROPPED, GIVEN_UP, RECEIVED, SENT
from thyme.sim.radios.wifi.state import EVERYBODY, Table
from thyme.world.mobility.movement import Movement

__all__ = ["DROPPED", "GIVEN_UP", "RECEIVED", "SENT", "Wifi"]


_HEAD = Struct("6qd")
"""A row of the heads (`state.HEAD`): all of `Told` but the happenings themselves."""
_told = tuple.__new__
"""What `Told` calls in the end, without the way there."""


class Wifi:
    """PHY and MAC of all nodes of a movement."""

    def __init__(self, movement: Movement, profile: WifiProfile, options: WifiOptions, seed: int) -> None:
        check(profile, options)
        if movement.nodes < 1:
            raise InputError("a radio needs at least one node; the movement has none")
        self.profile = profile
        self.options = options
        self._ether = build(movement, profile, options, seed)
        desk = self._ether.desk
        self._now, self._due, self._heads = (desk[name].data for name in ("now", "due", "heads"))
        self._ended, self._ended_s = desk["ended"].data, desk["ended_s"].data.cast("B").cast("d")
        self.header_bytes = options.header_bytes
        self._open_book()
        self._count = 0

    def broadcast(self, now_s: float, node: int, frame: int, size_bytes: int) -> bool:
        """Queue a frame for everyone in range; False when the queue is full or the node is off."""
        return self.unicast(now_s, node, EVERYBODY, frame, size_bytes)

    def unicast(self, now_s: float, node: int, to: int, frame: int, size_bytes: int) -> bool:
        """Queue a frame for one neighbour, acknowledged and retried; False when the queue is full."""
        psdu_bytes = size_bytes + self.header_bytes
        if psdu_bytes > self.options.psdu_max_bytes:
            most = self.options.psdu_max_bytes - self.header_bytes
            raise InputError(f"a frame of {size_bytes} bytes does not fit one 802.11 frame; split it ({most} at most)")
        now = round(now_s * 1e9)
        done = queue(self.address, now, node, to, frame, psdu_bytes)
        while done == SHORT:
            self.enlarge()
            done = queue(self.address, now, node, to, frame, psdu_bytes)
        if done == OUT_OF_ORDER:
            raise AssertionError(f"a frame at {now_s} s, but the radio stands at {self.now_s} s: advance it first")
        return bool(done)

    def advance(self, until_s: float) -> int:
        """Run until `until_s` or until somebody must be told something; how many happenings there are to read."""
        until = round(until_s * 1e9)
        if self._due[0] > until:
            self._now[0] = max(self._now[0], until)
            self._count = 0
            return 0
        happenings = run(self.address, until)
        while happenings == SHORT:
            self.enlarge()
            happenings = run(self.address, until)
        self._count = happenings
        return happenings

    def told(self) -> list[Told]:
        if not self._count:
            return []
        if self._heads[0] == 1:
            return [self.told_at(0)]
        heads, among = self._head_bytes[: self._heads[0] * _HEAD.size], (self._told,)
        return [_told(Told, head + among) for head in _HEAD.iter_unpack(heads)]

    def be_quiet(self) -> None:
        self._ether.config["quiet"] = 1

    @property
    def ended_s(self) -> float:
        return self._ended_s[0]

    def take_ended(self, before_s: float) -> list[int]:
        count, rows = int(self._ended[0]), self._ether.ended
        gone = int(np.searchsorted(rows["at_s"][:count], before_s))
        tokens: list[int] = rows["frame"][:gone].tolist()
        rows[: count - gone] = rows[gone:count].copy()
        self._ended[0] = count - gone
        return tokens

    @property
    def heads(self) -> int:
        """How many things the last stop has told of."""
        return int(self._heads[0])

    def told_at(self, place: int) -> Told:
        """One of what is told."""
        head: tuple[int, int, int, int, int, int, float] = _HEAD.unpack_from(self._head_bytes, place * _HEAD.size)
        return _told(Told, (*head, self._told))

    def happened(self) -> Table:
        """The happenings of this stop as rows (at_s, frame, node, peer, kind)."""
        return self._told.rows[: self._count]

    def enlarge(self) -> None:
        """Have more room wherever there is little."""
        self._ether = with_more_room(self._ether)
        self._open_book()

    def _open_book(self) -> None:
        self._book = address_book(self._ether)
        self.address: int = self._book.ctypes.data
        self._told = Happenings(self._ether.told)
        self._head_bytes = self._ether.head.view("u1").data

    def switch(self, now_s: float, node: int, on: bool) -> None:
        """Turn a node's radio on or off; what waited in its queue is dropped (told by the next `advance`)."""
        now = round(now_s * 1e9)
        while switch(self.address, now, node, int(on)) == SHORT:
            self.enlarge()

    @property
    def now_s(self) -> float:
        return float(self._now[0]) * 1e-9

    @property
    def counters(self) -> Table:
        """The counters of every node, one row each."""
        return counted(self._ether)

    def mean_hearers(self) -> float:
        """How many nodes may sense a frame, on average (of nodes that do not move)."""
        return float(self._ether.hearer_first[-1]) / len(self._ether.node)

    def totals(self) -> WifiTotals:
        return totals(self.counters)
