"""Unicasts under way: repeated with growing patience until they are acknowledged, and given up in the end.

Each peer has a window of unicasts that may be under way to it at once; it opens with every acknowledgement and halves
when one is late. Further ones wait for their turn, and while many wait there is no room: whoever can wait, an
application with its next operation, is kept waiting (`Unicasts.room`). When a unicast is given up and nothing was
heard of the peer meanwhile, the link to it is broken, and whatever else is meant for it fails with it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf

import msgspec

from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.settings.bounds import AtLeastOne, Count, Positive

Failed = Callable[[], None] | None


class UnicastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ack_wait_s: Positive = 0.1
    """How long the first try waits: far longer than a round trip in one place."""
    ack_growth: Positive = 2.0
    retries: Count = 4
    """With the waits above, a link is given up after 3.1 s: a busy laptop may be silent for a second or two."""
    window: AtLeastOne = 64
    """Unicasts under way to one peer at once: as many small ones as the usual socket buffer holds several times."""
    first_window: AtLeastOne = 16
    waiting: AtLeastOne = 50_000
    """Unicasts that wait for their turn, to all peers; a further one is dropped, which is told and breaks no link."""
    room: AtLeastOne = 256
    """With fewer than this waiting for peers that answer, there is room for another operation."""
    heard: AtLeastOne = 10_000
    """Unicasts remembered by their receiver, to hand each up only once."""


class _Unicast(msgspec.Struct):
    number: int
    to: NodeId
    datagram: bytes
    failed: Failed
    begun_s: float = 0.0
    tries: int = 0
    timer: asyncio.TimerHandle | None = None


class _Lane:
    """What is meant for one peer."""

    def __init__(self, window: float) -> None:
        self.window = window
        self.under_way: dict[int, _Unicast] = {}
        self.waiting: deque[_Unicast] = deque()
        self.acknowledged_s = -inf
        self.narrowed_s = -inf

    @property
    def stalled(self) -> bool:
        return self.narrowed_s > self.acknowledged_s


class Unicasts:
    """Both sides: what this node sent and is not yet acknowledged, and what it has heard already."""

    def __init__(
        self,
        options: UnicastOptions,
        transmit: Callable[[NodeId, bytes, bool], None],
        given_up: Callable[[], None],
    ) -> None:
        """`transmit(to, datagram, again)` puts a datagram on its way, for the first time or again."""
        self._options = options
        self._transmit = transmit
        self._given_up = given_up
        self._loop = asyncio.get_running_loop()
        self._lanes: dict[NodeId, _Lane] = {}
        self._waiting = 0
        self._roomy = asyncio.Event()
        self._roomy.set()
        self._heard: Bounded[tuple[NodeId, int], None] = Bounded(self._options.heard)

    def __len__(self) -> int:
        return self._waiting + sum(len(lane.under_way) for lane in self._lanes.values())

    async def room(self) -> None:
        """Wait until few enough unicasts wait for their turn."""
        await self._roomy.wait()

    def begin(self, number: int, to: NodeId, datagram: bytes, failed: Failed) -> bool:
        """Send it, now or when its turn comes; False if too many wait already."""
        if self._waiting >= self._options.waiting:
            return False
        lane = self._lanes.get(to)
        if lane is None:
            lane = self._lanes[to] = _Lane(float(min(self._options.first_window, self._options.window)))
        lane.waiting.append(_Unicast(number, to, datagram, failed))
        self._count_waiting(1)
        self._fill(lane)
        return True

    def acknowledge(self, number: int, by: NodeId) -> None:
        lane = self._lanes.get(by)
        unicast = lane.under_way.pop(number, None) if lane else None
        if lane is None or unicast is None:
            return
        if unicast.timer:
            unicast.timer.cancel()
        lane.acknowledged_s = self._loop.time()
        lane.window = min(lane.window + 1.0 / lane.window, float(self._options.window))
        self._fill(lane)
        if not lane.under_way and not lane.waiting and lane.window >= self._options.first_window:
            self._lanes.pop(by, None)

    def first_heard(self, number: int, sender: NodeId) -> bool:
        """Whether this is not a repetition."""
        if (sender, number) in self._heard:
            return False
        self._heard[(sender, number)] = None
        return True

    def abandon(self, to: NodeId) -> None:
        """The peer is gone: whatever is meant for it fails."""
        lane = self._lanes.pop(to, None)
        if lane is None:
            return
        self._count_waiting(-len(lane.waiting))
        for unicast in (*lane.under_way.values(), *lane.waiting):
            if unicast.timer:
                unicast.timer.cancel()
            self._given_up()
            if unicast.failed:
                self._loop.call_soon(unicast.failed)

    def cancel(self) -> None:
        for lane in self._lanes.values():
            for unicast in lane.under_way.values():
                if unicast.timer:
                    unicast.timer.cancel()
        self._lanes.clear()
        self._count_waiting(-self._waiting)

    def _fill(self, lane: _Lane) -> None:
        while lane.waiting and len(lane.under_way) < int(lane.window):
            unicast = lane.waiting.popleft()
            self._count_waiting(-1)
            lane.under_way[unicast.number] = unicast
            unicast.begun_s = self._loop.time()
            self._try(lane, unicast)

    def _try(self, lane: _Lane, unicast: _Unicast) -> None:
        if unicast.tries > self._options.retries:
            self._end(lane, unicast)
            return
        if unicast.tries > 0:
            self._narrow(lane)
        wait_s = self._options.ack_wait_s * self._options.ack_growth**unicast.tries
        unicast.tries += 1
        unicast.timer = self._loop.call_later(wait_s, self._try, lane, unicast)
        self._transmit(unicast.to, unicast.datagram, unicast.tries > 1)

    def _narrow(self, lane: _Lane) -> None:
        """Once per wait: what was sent at one time is late at one time."""
        now_s = self._loop.time()
        if now_s - lane.narrowed_s > self._options.ack_wait_s:
            lane.narrowed_s = now_s
            lane.window = max(1.0, lane.window / 2.0)
            self._count_waiting(0)

    def _end(self, lane: _Lane, unicast: _Unicast) -> None:
        if lane.acknowledged_s < unicast.begun_s:
            self.abandon(unicast.to)
            return
        del lane.under_way[unicast.number]
        self._given_up()
        self._fill(lane)
        if unicast.failed:
            unicast.failed()

    def _count_waiting(self, more: int) -> None:
        self._waiting += more
        if self._waiting < self._options.room or not self._crowded():
            self._roomy.set()
        else:
            self._roomy.clear()

    def _crowded(self) -> bool:
        """A peer that does not answer keeps nobody waiting, until half of all places are taken."""
        answering = sum(len(lane.waiting) for lane in self._lanes.values() if not lane.stalled)
        return answering >= self._options.room or 2 * self._waiting >= self._options.waiting
