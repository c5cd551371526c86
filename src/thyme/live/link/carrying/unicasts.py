"""Unicasts under way: repeated with growing patience until they are acknowledged, and given up in the end.

Each peer has a lane with a window of what may be under way to it at once; it opens with every acknowledgement and
halves when one is late. Further messages wait for their turn, and while many wait there is no room: whoever can wait,
an application with its next operation, is kept waiting (`Unicasts.room`). A parcel that later ones have overtaken is
sent again without further waiting. When one is given up and nothing was heard of the peer meanwhile, the link to it is
broken, and whatever else is meant for it fails with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Annotated

import msgspec

from thyme.live.link.carrying.lanes import Failed, Lane, Parcel, Waiting
from thyme.live.link.carrying.parcels import MAX_MESSAGES
from thyme.live.link.frames import Kind
from thyme.model.ids import NodeId
from thyme.model.settings.bounds import AtLeastOne, Count, Positive


class UnicastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ack_wait_s: Positive = 0.1
    """How long the first try waits: far longer than a round trip in one place."""
    ack_growth: Positive = 2.0
    retries: Count = 4
    """With the waits above, a link is given up after 3.1 s: a busy laptop may be silent for a second or two."""
    window: AtLeastOne = 64
    """Datagrams under way to one peer at once, a large one counted as several (`lanes.UNIT_BYTES`): what the usual
    socket buffer holds."""
    first_window: AtLeastOne = 16
    overtaken: AtLeastOne = 3
    """A parcel is taken for lost when one sent so many later has arrived."""
    together: Annotated[int, msgspec.Meta(ge=1, le=MAX_MESSAGES)] = MAX_MESSAGES
    """Messages in one datagram."""
    gather_s: Positive = 0.001
    """How long small messages are gathered at most while many are under way: …"""
    unhurried: AtLeastOne = 4
    """… so many datagrams. With fewer, what is said in one turn leaves at its end."""
    waiting: AtLeastOne = 50_000
    """Messages that wait for their turn, to all peers; a further one is dropped, which is told and breaks no link."""
    room: AtLeastOne = 256
    """With fewer than this waiting for peers that answer, there is room for another operation."""


class Way(msgspec.Struct, frozen=True):
    """What unicasts ask of the link that they are part of."""

    number: Callable[[], int]
    """One that no other frame of this node has."""
    datagram_bytes: Callable[[NodeId], int]
    """What a datagram holds on the way to a peer."""
    transmit: Callable[[NodeId, Kind, int, bytes, bool], None]
    """(to, kind, number, body, again): put a frame on its way, for the first time or again."""
    given_up: Callable[[], None]


class Unicasts:
    """What this node sent and is not yet acknowledged, and what waits to be sent."""

    def __init__(self, options: UnicastOptions, way: Way) -> None:
        self._options = options
        self._way = way
        self._loop = asyncio.get_running_loop()
        self._first_window = float(min(options.first_window, options.window))
        self._lanes: dict[NodeId, Lane] = {}
        """Of those who were written to and are still here."""
        self._waiting = 0
        self.roomy = True
        """Whether few enough messages wait for their turn."""
        self._made_room = asyncio.Event()

    def __len__(self) -> int:
        """Messages that wait, and parcels that are under way."""
        return self._waiting + sum(len(lane.under_way) + len(lane.pieces) for lane in self._lanes.values())

    async def room(self) -> None:
        """Wait until few enough messages wait for their turn."""
        while not self.roomy:
            self._made_room.clear()
            await self._made_room.wait()

    def begin(self, to: NodeId, body: bytes, failed: Failed, datagram_bytes: int) -> bool:
        """Send it, soon or when its turn comes, by a path of so many bytes; False if too many wait already."""
        if self._waiting >= self._options.waiting:
            return False
        lane = self._lanes.get(to)
        if lane is None:
            lane = self._lanes[to] = Lane(to, self._first_window, self._options.together)
        message = Waiting(body, failed)
        if lane.idle and (parcel := lane.alone(message, datagram_bytes)):
            self._launch(lane, parcel)
            return True
        lane.put(message)
        self._count_waiting(1)
        if lane.open and lane.full_parcel_waits(datagram_bytes):
            self._fill(lane)
        elif lane.leaves is None and len(lane.under_way) < self._options.unhurried:
            lane.leaves = self._loop.call_soon(self._fill, lane)
        elif lane.leaves is None:
            lane.leaves = self._loop.call_later(self._options.gather_s, self._fill, lane)
        return True

    def acknowledge(self, numbers: Iterable[int], by: NodeId) -> None:
        lane = self._lanes.get(by)
        if lane is None:
            return
        for number in numbers:
            parcel = lane.under_way.pop(number, None)
            if parcel is None:
                continue
            if parcel.timer:
                parcel.timer.cancel()
            units = parcel.units
            lane.units_under_way -= units
            lane.arrived = max(lane.arrived, parcel.order)
            lane.widen(units, self._options.window)
        if lane.under_way:
            self._hurry(lane)
        lane.acknowledged_s = self._loop.time()
        self._fill(lane)
        if lane.idle and lane.window >= self._options.first_window:
            lane.rest(self._first_window)

    def abandon(self, to: NodeId) -> None:
        """The peer is gone: whatever is meant for it fails."""
        lane = self._lanes.pop(to, None)
        if lane is None:
            return
        self._count_waiting(-len(lane.waiting))
        under_way = [message for parcel in lane.under_way.values() for message in parcel.messages]
        self._still(lane)
        for message in (*under_way, *lane.unsent()):
            self._way.given_up()
            self._loop.call_soon(message.fail)

    def cancel(self) -> None:
        for lane in self._lanes.values():
            self._still(lane)
        self._lanes.clear()
        self._count_waiting(-self._waiting)

    def _still(self, lane: Lane) -> None:
        if lane.leaves:
            lane.leaves.cancel()
        for parcel in lane.under_way.values():
            if parcel.timer:
                parcel.timer.cancel()

    def _fill(self, lane: Lane) -> None:
        if lane.leaves:
            lane.leaves.cancel()
            lane.leaves = None
        while (lane.waiting or lane.pieces) and lane.open:
            waited = len(lane.waiting)
            parcel = lane.take(self._way.datagram_bytes(lane.to), self._way.number)
            self._count_waiting(len(lane.waiting) - waited)
            self._launch(lane, parcel)

    def _launch(self, lane: Lane, parcel: Parcel) -> None:
        lane.orders += 1
        parcel.number, parcel.order, parcel.begun_s = self._way.number(), lane.orders, self._loop.time()
        lane.under_way[parcel.number] = parcel
        lane.units_under_way += parcel.units
        self._try(lane, parcel)

    def _try(self, lane: Lane, parcel: Parcel) -> None:
        if parcel.tries > self._options.retries:
            self._end(lane, parcel)
            return
        if parcel.tries > 0:
            self._narrow(lane)
        wait_s = self._options.ack_wait_s * self._options.ack_growth**parcel.tries
        parcel.tries += 1
        self._way.transmit(lane.to, parcel.kind, parcel.number, parcel.body, parcel.tries > 1)
        parcel.timer = self._loop.call_later(wait_s, self._try, lane, parcel)

    def _hurry(self, lane: Lane) -> None:
        """What later ones have overtaken is lost, most likely."""
        for parcel in list(lane.under_way.values()):
            if parcel.order + self._options.overtaken > lane.arrived:
                return
            if not parcel.hurried:
                parcel.hurried = True
                self._narrow(lane)
                self._way.transmit(lane.to, parcel.kind, parcel.number, parcel.body, True)

    def _narrow(self, lane: Lane) -> None:
        """Once per wait: what was sent at one time is late at one time."""
        now_s = self._loop.time()
        if now_s - lane.narrowed_s > self._options.ack_wait_s:
            lane.narrowed_s = now_s
            lane.window = max(1.0, lane.window / 2.0)
            self._count_waiting(0)

    def _end(self, lane: Lane, parcel: Parcel) -> None:
        if lane.acknowledged_s < parcel.begun_s:
            self.abandon(lane.to)
            return
        del lane.under_way[parcel.number]
        lane.units_under_way -= parcel.units
        self._way.given_up()
        self._fill(lane)
        for message in parcel.messages:
            message.fail()

    def _count_waiting(self, more: int) -> None:
        self._waiting += more
        self.roomy = self._waiting < self._options.room or not self._crowded()
        if self.roomy:
            self._made_room.set()

    def _crowded(self) -> bool:
        """A peer that does not answer keeps nobody waiting, until half of all places are taken."""
        answering = sum(len(lane.waiting) for lane in self._lanes.values() if not lane.stalled)
        return answering >= self._options.room or 2 * self._waiting >= self._options.waiting
