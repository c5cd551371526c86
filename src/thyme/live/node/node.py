"""`Node`: a live node for an application, with every operation as something to await.

    async with live.Node(1, listen="127.0.0.1:9001", peers=["127.0.0.1:9002"]) as node:
        await node.insert("first", b"…", ["goal"])
        async for notice in await node.subscribe("goal & !replay"):
            print(await node.retrieve(notice.metadata))

Wrong use raises `InputError` and nothing happens; an operation that the crowd could not carry out raises
`OperationError`. Each operation is recorded as the simulator records it. Numbers of subscriptions start from the
clock, so that a node that lost its memory does not take up a number that others still know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import msgspec

from thyme.approaches.interface import Done, Outcome
from thyme.host import Store
from thyme.live.link.addresses import address_text
from thyme.live.node.clock import Clock
from thyme.live.node.device import Device, DeviceOptions
from thyme.live.node.log import Log
from thyme.live.node.notifications import Notice, Notifications
from thyme.live.node.ongoing import Ongoing, OperationError, Subject
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.model.records import Notified, OperationKind

MAX_KNOWN_OBJECTS = 10_000
"""Objects that can be retrieved by key alone; beyond that, the one known longest is forgotten."""
SID_CYCLE = 1_000_000


class Node:
    """One live node and the bookkeeping of its user's operations."""

    def __init__(
        self,
        node: int,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
        log_to: Log | None = None,
        **options: Any,
    ) -> None:
        """`options` are those of `DeviceOptions`: listen, peers, approach, settings, log, …"""
        given = {"node": node, **options, "peers": tuple(options.get("peers", ()))}
        try:
            self.options = msgspec.convert(given, DeviceOptions)
        except msgspec.ValidationError as error:
            raise InputError(f"node {node}: {error}") from error
        self.on_notice: Callable[[Notice], None] | None = None
        """Told of every notification at once, besides the streams."""
        self._brought = (store, clock, log_to)
        self._device: Device | None = None
        self._ongoing: Ongoing | None = None
        self._next_sid = 0
        self._streams: dict[int, Notifications] = {}
        self._subscribed_s: dict[SubscriptionKey, float] = {}
        self._known: Bounded[ObjectKey, Metadata] = Bounded(MAX_KNOWN_OBJECTS)

    async def __aenter__(self) -> Self:
        await self.open()
        try:
            await self.connect(self.options.peers)
            await self.join()
        except BaseException:
            await self.close("failed")
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Listen and forward, without taking part yet."""
        store, clock, log = self._brought
        device = Device(self.options, store=store, clock=clock, log=log)
        try:
            await device.open()
        except BaseException:
            await device.host.close()
            raise
        self._device = device
        self._ongoing = Ongoing(device.host)
        known = device.store.resume(self._notified)
        self._next_sid = max([int(device.host.now()) % SID_CYCLE, *(key.sid + 1 for key in known)])
        for key in known:
            self._streams[key.sid] = Notifications(key, "")

    async def connect(self, peers: Iterable[str]) -> None:
        await self.device.connect(peers)

    async def join(self) -> None:
        await self.device.join()

    async def close(self, reason: str = "quit") -> None:
        """Leave. Operations under way fail, and streams of notifications end."""
        if self._device is None:
            return
        self.ongoing.abandon("node left")
        for stream in self._streams.values():
            stream.end()
        device, self._device = self._device, None
        await device.close(reason)

    @property
    def device(self) -> Device:
        if self._device is None:
            raise InputError(f"node {self.options.node} is not running; use it within `async with`")
        return self._device

    @property
    def id(self) -> NodeId:
        return NodeId(self.options.node)

    @property
    def address(self) -> str:
        return address_text(self.device.address)

    @property
    def ongoing(self) -> Ongoing:
        """The operations under way."""
        if self._ongoing is None:
            raise InputError(f"node {self.options.node} is not running; use it within `async with`")
        return self._ongoing

    def known(self) -> list[Metadata]:
        """Objects that this node inserted or was notified of, in that order."""
        return list(self._known.values())

    def subscriptions(self) -> list[Notifications]:
        return list(self._streams.values())

    async def insert(
        self, oid: str, data: bytes, tags: Iterable[str], summary: bytes = b"", *, number: int | None = None
    ) -> Metadata:
        inserted: list[Metadata] = []
        store = self.device.store

        def ask(done: Done) -> None:
            inserted.append(store.insert(oid, data, tags, summary, done))

        subject = Subject(ObjectKey(oid, self.id), size_bytes=len(data), number=number)
        await self.ongoing.carry_out(OperationKind.INSERT, subject, ask)
        self._known[inserted[0].key] = inserted[0]
        return inserted[0]

    async def delete(self, oid: str, *, number: int | None = None) -> None:
        store = self.device.store
        subject = Subject(ObjectKey(oid, self.id), number=number)
        await self.ongoing.carry_out(OperationKind.DELETE, subject, lambda done: store.delete(oid, done))
        self._known.pop(ObjectKey(oid, self.id), None)

    async def subscribe(
        self, query: str, frame: TimeFrame | None = None, *, sid: int | None = None, number: int | None = None
    ) -> Notifications:
        """Subscribe, and iterate over what matches. If the crowd could not be told, there is no subscription."""
        store = self.device.store
        asked = parse_query(query)
        chosen = self._next_sid if sid is None else sid
        key = SubscriptionKey(chosen, self.id)
        if chosen in self._streams:
            raise InputError(f"subscription {chosen} of this node exists already; choose another number")
        self._next_sid = max(self._next_sid, chosen + 1)
        stream = self._streams[chosen] = Notifications(key, asked.text)
        self._subscribed_s[key] = self.device.host.now()

        def ask(done: Done) -> None:
            store.subscribe(asked, frame or TimeFrame.always(), self._notified, done, sid=chosen)

        try:
            await self.ongoing.carry_out(OperationKind.SUBSCRIBE, Subject(subscription=key, number=number), ask)
        except InputError:
            self._forget(key)
            raise
        except OperationError:
            self._forget(key)
            if self._device is not None:
                store.unsubscribe(chosen, lambda _: None)
            raise
        return stream

    async def unsubscribe(self, sid: int, *, number: int | None = None) -> None:
        store = self.device.store
        key = SubscriptionKey(sid, self.id)

        def ask(done: Done) -> None:
            store.unsubscribe(sid, done)
            self._forget(key)

        await self.ongoing.carry_out(OperationKind.UNSUBSCRIBE, Subject(subscription=key, number=number), ask)

    async def retrieve(self, what: Metadata | ObjectKey, *, number: int | None = None) -> bytes:
        """The content of an object of which this node was notified."""
        store = self.device.store
        metadata = what if isinstance(what, Metadata) else self._known.get(what)
        if metadata is None:
            raise InputError(f"this node was not notified of {what}; subscribe to one of its tags first")
        content: list[bytes] = []

        def ask(done: Done) -> None:
            def fetched(outcome: Outcome, data: bytes) -> None:
                content.append(data)
                done(outcome)

            store.retrieve(metadata, fetched)

        subject = Subject(metadata.key, size_bytes=metadata.size_bytes, number=number)
        await self.ongoing.carry_out(OperationKind.RETRIEVE, subject, ask)
        return content[0]

    async def more(self, sid: int, *, number: int | None = None) -> int:
        """Ask for the next past matches; how many are left after them."""
        store = self.device.store
        subject = Subject(subscription=SubscriptionKey(sid, self.id), number=number)
        await self.ongoing.carry_out(OperationKind.MORE, subject, lambda done: store.more(sid, done))
        return store.remaining(sid)

    def remaining(self, sid: int) -> int:
        """Past matches of a subscription that can still be asked for with `more`."""
        return self.device.store.remaining(sid)

    def _notified(self, key: SubscriptionKey, metadata: Metadata, hops: int) -> None:
        host = self.device.host
        delay_s = host.now() - max(metadata.published_s, self._subscribed_s.get(key, 0.0))
        host.record(Notified(key, metadata.key, delay_s, hops))
        self._known[metadata.key] = metadata
        notice = Notice(key, metadata, delay_s)
        if stream := self._streams.get(key.sid):
            stream.put(notice)
        if self.on_notice:
            self.on_notice(notice)

    def _forget(self, key: SubscriptionKey) -> None:
        self._subscribed_s.pop(key, None)
        stream = self._streams.pop(key.sid, None)
        if stream is not None:
            stream.end()
