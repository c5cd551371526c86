"""`LiveHost`: one device as a `thyme.host.Host`.

Time is the crowd's (`crowd_time`), randomness the operating system's unless a seed is given, frames are datagrams, and
what happened goes to a log. The store is in memory unless another is given. A frame is sent when everything stored
before it is durable, so no peer learns of something that a crash could still undo. When the device is off, its timers
do not run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from random import Random
from secrets import randbits

import msgspec

from thyme.host import MemoryStore, Store, StoreFull, Timer
from thyme.live.link.crowd_time import CrowdTime
from thyme.live.link.link import LinkOptions
from thyme.live.link.sockets import Network
from thyme.live.link.udp import UdpLink
from thyme.live.node.clock import Clock
from thyme.live.node.logs.log import Log, NoLog
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.records import Counted, LogRecord, TrafficKind
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec

logger = logging.getLogger("thyme.live")

Action = Callable[[], None]
Receive = Callable[[NodeId, Message], None]
LogCallback = Callable[[LogRecord], None]
Failed = Callable[[], None] | None
ORIGIN = Point(0.0, 0.0)


ROUNDS = 4
"""How often deferred actions may defer others before the event loop continues: an insertion into the node's own cell
does so twice.
"""


class _Deferred(msgspec.Struct, gc=False):
    action: Action | None

    def cancel(self) -> None:
        self.action = None


class DeferredActions:
    """Zero-delay callbacks, run in order at the end of this iteration of the event loop.

    An insertion into the node's own cell is a message to itself and an answer to itself: an iteration for each would
    cost more than the work. Code that starts an operation and waits for such a callback runs them at once.
    """

    def __init__(self, run: Callable[[Action], None]) -> None:
        """`run` runs one action."""
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Deferred] = []

    def add(self, action: Action) -> _Deferred:
        if not self._waiting:
            self._loop.call_soon(self._run_all)
        deferred = _Deferred(action)
        self._waiting.append(deferred)
        return deferred

    def run_now(self) -> None:
        """Run the deferred actions, and those that they defer."""
        for _ in range(ROUNDS):
            if not self._waiting:
                return
            self._run_all()

    def _run_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            if deferred.action is not None:
                try:
                    self._run(deferred.action)
                except Exception as error:
                    self._loop.call_exception_handler({"message": "a deferred action failed", "exception": error})


class LiveHost:
    """The machine of one live node."""

    def __init__(
        self,
        node: NodeId,
        *,
        clock: Clock | None = None,
        store: Store | None = None,
        log: Log | None = None,
        seed: int | None = None,
        position: Point = ORIGIN,
        link: LinkOptions | None = None,
        only_listed: bool = False,
        codec: Codec = PLAIN,
        identity: Identity | None = None,
        namespace: Namespace | None = None,
        discovers: bool = False,
        network: Network | None = None,
    ) -> None:
        self.node = node
        self.codec = codec
        self.clock = clock or Clock()
        self.random = Random(f"{randbits(128) if seed is None else seed}/{node}")
        self.store: Store = MemoryStore() if store is None else store
        self.receive: Receive | None = None
        self.watch: LogCallback | None = None
        """Called for every record except traffic, unless it is None."""
        self.sending: Callable[[Message], None] | None = None
        """Called for every message before it is sent, and before it waits for the disk."""
        self.log = log or NoLog()
        self._position = position
        self._moving = False
        self._failed: set[str] = set()
        """Types of messages that could not be handled: one error is logged for each."""
        self.on = True
        self.deferred = DeferredActions(self._run)
        self.link = UdpLink(
            node,
            self.random,
            self._receive,
            self._count,
            link,
            only_listed=only_listed,
            codec=codec,
            identity=identity,
            namespace=namespace,
            discovers=discovers,
            network=network,
        )
        self.time = self.link.peering.time = CrowdTime(
            *self.clock.ticks(), device=self.clock.device, fixed=self.clock.common
        )
        self.now = self.time.now

    @property
    def log(self) -> Log:
        return self._log

    @log.setter
    def log(self, log: Log) -> None:
        self._log, self._logging = log, not isinstance(log, NoLog)

    def position(self) -> Point:
        return self._position

    def moving(self) -> bool:
        return self._moving

    def place(self, position: Point, *, moving: bool = False) -> None:
        """The device found out where it is, and whether it is on its way."""
        self._position, self._moving = position, moving

    def broadcast(self, message: Message) -> None:
        if self.sending is not None:
            self.sending(message)
        self.store.commit(partial(self._send, message, partial(self.link.broadcast, message)))

    def unicast(self, to: NodeId, message: Message, failed: Failed = None, unsent: Failed = None) -> None:
        if self.sending is not None:
            self.sending(message)
        told = partial(self._run, failed) if failed else None
        self.store.commit(partial(self._send, message, partial(self.link.unicast, to, message, told)))

    async def durable(self) -> None:
        """Wait until what was stored before now survives a crash."""
        reached: list[None] = []
        waiting: asyncio.Future[None] | None = None

        def commit() -> None:
            reached.append(None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

        self.store.commit(commit)
        if not reached:
            waiting = asyncio.get_running_loop().create_future()
            await waiting

    def alone(self) -> bool:
        return not self.link.peers.nodes()

    def part_bytes(self) -> int:
        return self.link.part_bytes()

    def idle(self) -> bool:
        return self.link.idle()

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        return self.deferred.add(action) if delay_s <= 0.0 else self.clock.after(delay_s, partial(self._run, action))

    @property
    def recording(self) -> bool:
        """Whether a log or a callback takes records now."""
        return self._logging or self.watch is not None

    def record(self, event: LogRecord) -> None:
        if self.on:
            if self._logging:
                self.log.record(self.now(), self.node, event)
            if self.watch and not isinstance(event, Counted):
                self.watch(event)

    async def close(self) -> None:
        self.on = False
        self.receive = None
        await self.link.close()
        self.log.close(self.now())

    def _receive(self, sender: NodeId, message: Message, size_bytes: int) -> None:
        if self.receive is None:
            return
        name = type(message).__name__
        if self._logging:
            self._count(TrafficKind.RECEIVED, name, size_bytes, "")
        try:
            self.receive(sender, message)
        except StoreFull:
            self._count(TrafficKind.DROPPED, name, size_bytes, "the store is full")
        except Exception:
            # Either an internal error, or a message that was decoded and makes no sense. The node goes on; the first
            # of each type of message is reported in full.
            level = logging.DEBUG if name in self._failed else logging.ERROR
            self._failed.add(name)
            logger.log(level, "node %d could not handle %s from %d", self.node, name, sender, exc_info=True)
            self._count(TrafficKind.DROPPED, name, size_bytes, "could not be handled")

    def _send(self, message: Message, send: Callable[[], int]) -> None:
        """What was stored before is durable: the message leaves."""
        if not self.on:
            return
        try:
            size_bytes = send()
        except StoreFull:
            self._count(TrafficKind.DROPPED, "record", 0, "the store is full")
            return
        if self._logging:  # the most frequent event, and often not logged
            self._count_sent(message, size_bytes)

    def _count_sent(self, message: Message, size_bytes: int) -> None:
        name = type(message).__name__
        self._count(TrafficKind.SENT, name, size_bytes, "")
        if message.control:
            self._count(TrafficKind.CONTROL, name, size_bytes, "")
        if message.forwarded_by(self.node):
            self._count(TrafficKind.FORWARDED, name, size_bytes, "")

    def _count(self, traffic: TrafficKind, name: str, size_bytes: int, reason: str) -> None:
        if self._logging:
            self.record(Counted(traffic, name, size_bytes=size_bytes, reason=reason))

    def _run(self, action: Action) -> None:
        if self.on:
            try:
                action()
            except StoreFull:
                self._count(TrafficKind.DROPPED, "record", 0, "the store is full")
