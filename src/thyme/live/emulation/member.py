"""A member of an emulated crowd: one process with one device and its user, who carries out the operations it receives.

It is the simulator's user on the device of a live node; events go to a log of its own, with the records of a
simulation. It ends on request, or when the process that started it is gone.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from thyme.approaches.user import FIRST_REACTION, Numbers, User
from thyme.live.emulation.closed_loop import ClosedLoop
from thyme.live.emulation.meter import Meter
from thyme.live.emulation.orders import (
    Did,
    FetchOrder,
    Issue,
    LeaveOrder,
    Life,
    Listens,
    Loop,
    Meet,
    MemberState,
    Metered,
    Order,
    ReadMeter,
    Rest,
    Share,
    Stand,
    line,
    read_life,
    read_order,
)
from thyme.live.loop import run
from thyme.live.node.clock import Clock
from thyme.live.node.device import Device
from thyme.live.node.host import LiveHost
from thyme.live.store.folders import open_store
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.model.objects import Metadata


class SingleObjects:
    """Single objects that this member was ordered to share or to fetch, and how long that took."""

    def __init__(self, user: User, host: LiveHost, say: Callable[[Any], None]) -> None:
        self._user = user
        self._host = host
        self._say = say
        self._notified: dict[str, Metadata] = {}
        self._wanted: set[str] = set()

    def told(self, metadata: Metadata) -> None:
        """The user was notified."""
        self._notified[metadata.key.oid] = metadata
        if metadata.key.oid in self._wanted:
            self._wanted.discard(metadata.key.oid)
            self._retrieve(metadata)

    def share(self, order: Share) -> None:
        content = order.oid.encode().ljust(order.size_bytes, b".")[: order.size_bytes]
        number, ended = self._user.numbers.take(), self._timed(order.oid)
        self._user.insert(number, order.oid, content, (order.tag,), b"", ended, order.replicate)

    def fetch(self, order: FetchOrder) -> None:
        known = self._notified.get(order.oid)
        if known is None:
            self._wanted.add(order.oid)
        else:
            self._retrieve(known)

    def _retrieve(self, metadata: Metadata) -> None:
        self._user.retrieve(self._user.numbers.take(), metadata, self._timed(metadata.key.oid))

    def _timed(self, oid: str) -> Callable[[str], None]:
        began_s = self._host.now()
        return lambda failure: self._say(Did(oid, self._host.now() - began_s, failure))


STATE_EVERY_S = 0.5
REACTIONS = 1_000_000
"""Numbers that one member has for operations in reaction to notifications."""
MAX_ORDERS = 10_000


class Member:
    def __init__(self, life: Life) -> None:
        options = life.device
        clock = Clock(time.time() - life.epoch_s, common=True)
        self._store = open_store(life.store, options.node, options.approach, options.disk)
        self._device = Device(options, store=self._store, clock=clock)
        numbers = Numbers(FIRST_REACTION + options.node * REACTIONS)
        self._user = User(NodeId(options.node), self._device.host, life.users, numbers, life.seed)
        self._user.told = self._told
        self._notified = 0
        self._life = life
        self._meter: Meter | None = None
        self._loop: ClosedLoop | None = None
        self._objects = SingleObjects(self._user, self._device.host, say)

    def _told(self, key: SubscriptionKey, matches: Sequence[tuple[Metadata, float]]) -> None:
        self._notified += len(matches)
        for metadata, _ in matches:
            self._objects.told(metadata)
            if self._loop is not None:
                self._loop.told(metadata)

    async def live(self, orders: asyncio.Queue[Order | None]) -> None:
        await self._device.open()
        self._user.take(self._device.approach)
        if self._life.tail_s:
            self._meter = Meter(self._device.host, self._life.tail_s)
        say(Listens(*self._device.address))
        telling = asyncio.ensure_future(self._tell())
        try:
            while (order := await orders.get()) is not None and not isinstance(order, LeaveOrder):
                await self._obey(order)
        finally:
            telling.cancel()
            self._user.lose()
            await self._device.close("quit")
            if hasattr(self._store, "close"):
                await self._store.close()

    async def _obey(self, order: Meet | Issue | Stand | Loop | Rest | ReadMeter | Share | FetchOrder) -> None:
        match order:
            case Meet():
                await self._device.connect(order.peers)
                await self._device.join()
            case Issue():
                self._user.issue(order.operation)
            case Stand():
                self._device.host.place(order.place, moving=order.moving)
            case Share():
                self._objects.share(order)
            case FetchOrder():
                self._objects.fetch(order)
            case _ if self._meter is not None:
                self._use(order, self._meter)

    def _use(self, order: Loop | Rest | ReadMeter, meter: Meter) -> None:
        match order:
            case Loop():
                self._loop = ClosedLoop(self._user, self._device.host, meter, order.options, self._life.seed)
                self._loop.begin()
            case Rest():
                if self._loop is not None:
                    self._loop.end()
            case ReadMeter():
                say(Metered(meter.account()))
                meter.reset()

    async def _tell(self) -> None:
        while True:
            say(self.state())
            await asyncio.sleep(STATE_EVERY_S)

    def state(self) -> MemberState:
        approach = self._device.approach
        cell = getattr(getattr(approach, "cell", None), "place", None)
        held = {name: count for name, count, _ in approach.stored()}
        neighbours = tuple(sorted(int(node) for node in self._device.neighbours()))
        return MemberState(self._device.joined.is_set(), cell, neighbours, held, self._notified, self._user.busy)


def say(what: Any) -> None:
    with suppress(OSError):
        os.write(sys.stdout.fileno(), line(what))


def _read_orders(loop: asyncio.AbstractEventLoop, orders: asyncio.Queue[Order | None]) -> None:
    for text in sys.stdin.buffer:
        loop.call_soon_threadsafe(orders.put_nowait, read_order(text))
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(orders.put_nowait, None)


async def main() -> None:
    life = read_life(sys.stdin.buffer.readline())
    orders: asyncio.Queue[Order | None] = asyncio.Queue(MAX_ORDERS)
    member = Member(life)
    threading.Thread(target=_read_orders, args=(asyncio.get_running_loop(), orders), daemon=True).start()
    await member.live(orders)


if __name__ == "__main__":
    run(main())
    sys.stdout.flush()
    os._exit(0)  # the thread that reads orders would hold the process up
