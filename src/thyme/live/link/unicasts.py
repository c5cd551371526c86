"""Unicasts: retransmitted with growing timeouts until they are acknowledged, and given up after a few tries.

Each peer has a lane with a window of what may be under way to it at once; it grows with every acknowledgement and
halves when one is late. Further messages wait in the lane. While many wait there is no room: an application's next
operation waits (`has_room`). A parcel is retransmitted at once when later ones were acknowledged before it. When one is
given up and nothing was acknowledged meanwhile, the link to that peer is broken, and all its messages fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated

import msgspec

from thyme.live.link.frames import Kind
from thyme.live.link.lanes import Failed, Lane, Parcel, Unacknowledged
from thyme.live.link.parcels import MAX_MESSAGES
from thyme.live.link.timers import Timers
from thyme.model.ids import NodeId
from thyme.model.settings.bounds import AtLeastOne, Count, Positive

ACK_GROWTH = 2.0
"""Each try waits so many times as long as the one before."""
FIRST_WINDOW = 16
"""Datagrams under way to a new peer at once: a quarter of the usual window."""
OVERTAKEN_DATAGRAMS = 3
"""A parcel counts as lost when one sent this many later has arrived, as in TCP and QUIC."""
GATHER_S = 0.001
"""How long small messages are gathered at most while many are under way: …"""
UNHURRIED_DATAGRAMS = 4
"""… so many datagrams. With fewer, what is said in one turn leaves at its end."""


class UnicastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ack_wait_s: Positive = 0.1
    """How long the first try waits: far longer than a round trip in one place. It grows by `ACK_GROWTH`."""
    retries: Count = 4
    """With the waits above, a link is given up after 3.1 s: a busy laptop may be silent for a second or two."""
    window: AtLeastOne = 64
    """Datagrams under way to one peer at once, a large one counted as several (`lanes.UNIT_BYTES`): what the usual
    socket buffer holds."""
    together: Annotated[int, msgspec.Meta(ge=1, le=MAX_MESSAGES)] = MAX_MESSAGES
    """Messages in one datagram."""
    waiting: AtLeastOne = 50_000
    """Messages that wait, to all peers; a further one is dropped with a warning and breaks no link."""
    room: AtLeastOne = 256
    """With fewer waiting for peers that answer, there is room for another operation."""


class UnicastSender(msgspec.Struct, frozen=True):
    """What unicasts need of the link that they are part of."""

    number: Callable[[], int]
    """A new number for a frame."""
    datagram_bytes: Callable[[NodeId], int]
    """Largest datagram on the path to a peer."""
    transmit: Callable[[NodeId, Kind, int, bytes, bool], None]
    """(to, kind, number, body, again): send a frame, for the first time or again."""
    given_up: Callable[[], None]
    made_room: Callable[[], None]
    """Few enough messages wait again."""


class Unicasts:
    """What this node sent and is not yet acknowledged, and what waits to be sent."""

    def __init__(self, options: UnicastOptions, timers: Timers, sender: UnicastSender) -> None:
        self._options = options
        self._timers = timers
        self._sender = sender
        self._first_window = float(min(FIRST_WINDOW, options.window))
        self._lanes: dict[NodeId, Lane] = {}
        """Of peers that are still here."""
        self._waiting = 0
        self.has_room = True
        """Whether few enough messages wait to be sent."""

    def __len__(self) -> int:
        """Messages that wait, and parcels that are under way."""
        return self._waiting + sum(len(lane.under_way) + len(lane.pieces) for lane in self._lanes.values())

    def send(self, to: NodeId, body: bytes, failed: Failed, datagram_bytes: int, *, bulk: bool = False) -> bool:
        """Send or queue a message, in datagrams of at most `datagram_bytes`; False if the queue is full. Bulk messages
        are sent after the others, and fill at most half of the queue."""
        if self._waiting >= (self._options.waiting // 2 if bulk else self._options.waiting):
            return False
        lane = self._lanes.get(to)
        if lane is None:
            lane = self._lanes[to] = Lane(to, self._first_window, self._options.together)
        message = Unacknowledged(body, failed)
        if lane.idle and (parcel := lane.alone(message, datagram_bytes)):
            self._launch(lane, parcel)
            return True
        lane.add(message, bulk=bulk)
        self._count_waiting(1)
        if lane.open and lane.full_parcel_waits(datagram_bytes):
            self._fill(lane)
        elif lane.leaves is None and len(lane.under_way) < UNHURRIED_DATAGRAMS:
            lane.leaves = self._timers.after(0.0, partial(self._fill, lane))
        elif lane.leaves is None:
            lane.leaves = self._timers.after(GATHER_S, partial(self._fill, lane))
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
            self._resend_overtaken(lane)
        lane.acknowledged_s = self._timers.now_s
        self._fill(lane)
        if lane.idle and lane.window >= FIRST_WINDOW:
            lane.reset(self._first_window)

    def abandon(self, to: NodeId) -> None:
        """The peer is gone: all messages to it fail."""
        lane = self._lanes.pop(to, None)
        if lane is None:
            return
        self._count_waiting(-lane.waiting)
        under_way = [message for parcel in lane.under_way.values() for message in parcel.messages]
        self._stop(lane)
        for message in (*under_way, *lane.unsent()):
            self._sender.given_up()
            self._timers.after(0.0, message.fail)

    def cancel(self) -> None:
        for lane in self._lanes.values():
            self._stop(lane)
        self._lanes.clear()
        self._count_waiting(-self._waiting)

    def _stop(self, lane: Lane) -> None:
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
            waited = lane.waiting
            parcel = lane.next_parcel(self._sender.datagram_bytes(lane.to), self._sender.number)
            self._count_waiting(lane.waiting - waited)
            self._launch(lane, parcel)

    def _launch(self, lane: Lane, parcel: Parcel) -> None:
        lane.orders += 1
        parcel.number, parcel.order, parcel.begun_s = self._sender.number(), lane.orders, self._timers.now_s
        lane.under_way[parcel.number] = parcel
        lane.units_under_way += parcel.units
        self._try(lane, parcel)

    def _try(self, lane: Lane, parcel: Parcel) -> None:
        if parcel.tries > self._options.retries:
            self._end(lane, parcel)
            return
        if parcel.tries > 0:
            self._narrow(lane)
        wait_s = self._options.ack_wait_s * ACK_GROWTH**parcel.tries
        parcel.tries += 1
        self._sender.transmit(lane.to, parcel.kind, parcel.number, parcel.body, parcel.tries > 1)
        parcel.timer = self._timers.after(wait_s, partial(self._try, lane, parcel))

    def _resend_overtaken(self, lane: Lane) -> None:
        """A parcel is most likely lost if later ones have arrived."""
        for parcel in list(lane.under_way.values()):
            if parcel.order + OVERTAKEN_DATAGRAMS > lane.arrived:
                return
            if not parcel.hurried:
                parcel.hurried = True
                self._narrow(lane)
                self._sender.transmit(lane.to, parcel.kind, parcel.number, parcel.body, True)

    def _narrow(self, lane: Lane) -> None:
        """Once per timeout: what was sent together is late together."""
        now_s = self._timers.now_s
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
        self._sender.given_up()
        self._fill(lane)
        for message in parcel.messages:
            message.fail()

    def _count_waiting(self, more: int) -> None:
        self._waiting += more
        before, self.has_room = self.has_room, self._waiting < self._options.room or not self._is_crowded()
        if self.has_room and not before:
            self._sender.made_room()

    def _is_crowded(self) -> bool:
        """Messages to a peer that does not answer do not count until they fill half of the queue."""
        answering = sum(lane.waiting for lane in self._lanes.values() if not lane.stalled)
        return answering >= self._options.room or 2 * self._waiting >= self._options.waiting
