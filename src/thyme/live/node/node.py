"""`Node`: a live node for an application, with every operation as something to await.

    async with thyme.Node(listen="127.0.0.1:9001", peers=["127.0.0.1:9002"]) as node:
        await node.insert("first", b"…", ["goal"])
        async for notice in await node.subscribe("goal & !replay"):
            print(await node.retrieve(notice.metadata))

Wrong use raises `InputError` and nothing happens; an operation that the crowd could not carry out raises
`OperationError`. Each operation is recorded as the simulator records it. Numbers of subscriptions start from the
clock, so that a node that lost its memory does not take up a number that others still know.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any, Self, Unpack

import msgspec

from thyme.approaches.operation_records import Ended
from thyme.approaches.user import BY_HAND, Fetched, Numbers, User
from thyme.host import Store, Timer
from thyme.live.failures import OperationError
from thyme.live.link.addresses import address_text
from thyme.live.link.peers import Presence
from thyme.live.link.sockets import Network
from thyme.live.node.arguments import (
    Given,
    Instant,
    NodeOptions,
    Span,
    Wanted,
    Which,
    bytes_of,
    frame_of,
    name_of,
    number_of,
    options_of,
    path_of,
    place_of,
    query_of,
    span_s,
    wanted_of,
)
from thyme.live.node.clock import Clock
from thyme.live.node.device import Device
from thyme.live.node.gpsd import Gpsd, gpsd_address
from thyme.live.node.host import LiveHost
from thyme.live.node.insertions import InsertArguments, Insertion, Insertions, digested, forget_unfinished, given_bytes
from thyme.live.node.logs.log import Log
from thyme.live.node.notifications import Notice, Notifications, Presences, Streams, read_all
from thyme.live.node.operations import Answer, OperationContext, OperationQueue, PendingOperation, Request
from thyme.live.node.position import MovementDetector, PositionFile
from thyme.live.node.quota import Quota
from thyme.live.node.retrievals import Progress, Retrievals, copied, written_to
from thyme.live.store.disk import DiskStore
from thyme.live.store.folders import MEMORY, Place, identity_at, identity_folder, open_store
from thyme.live.trust.device_names import device_name_of, keep_name, kept_name
from thyme.live.trust.identity import FIRST_DERIVED, Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, Metadata, size_of, tags_of
from thyme.model.records import LogRecord, OperationKind

SID_CYCLE = 1_000_000
NOT_GIVEN: Any = object()
NAME_BYTES = 8
"""Of a name that is made up, as hexadecimal digits."""
FIND_WAIT_S = 1.0
"""Longer than approaches collect answers (LS 0.5 s), and than an answer is on its way among neighbours."""


class Node:
    """One live node and its user, who does only what the application asks for."""

    def __init__(
        self,
        node: int | None = None,
        *,
        store: Place = None,
        identity: Identity | None = None,
        clock: Clock | None = None,
        log_to: Log | None = None,
        network: Network | None = None,
        **options: Unpack[NodeOptions],
    ) -> None:
        """`store` is a folder for everything the node keeps, by default one in the user's data folder; `"memory"` keeps
        nothing after the end. It also holds the node's key, from which its number derives; a number given as `node` is
        for tests, and protects nothing. `network` replaces this machine's network, for simulations.
        """
        self.namespace, checked = options_of(node, options)
        self.identity = identity or (identity_at(store) if node is None else Identity.given(node))
        self._named_in = identity_folder(store) if node is None else None
        name = checked.name or (kept_name(self._named_in) if self.identity.node >= FIRST_DERIVED else "")
        self.options = msgspec.structs.replace(checked, node=self.identity.node, name=name)
        self._place, self._clock, self._log_to, self._network = store, clock, log_to, network
        self._device: Device | None = None
        self._queue: OperationQueue | None = None
        self._quota: Quota | None = None
        self._streams = Streams(self)
        self._current = _CurrentHost()
        self.user = User(self.id, self._current, BY_HAND, Numbers(0), seed=0)
        self.user.told = self._streams.notify
        self._next_sid = 0
        self._insertions, self._retrievals = Insertions(self.id, self._streams.known), Retrievals()
        self._movement = MovementDetector()
        self._gpsd: Gpsd | None = None
        self._opened_s = 0.0
        self.keep_namespace: Callable[[Namespace], None] | None = None
        """Called with the namespace when its key has changed, to keep it for the next start."""

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
        """Listen and forward, without taking part yet. If that fails, nothing stays open."""
        options = self.options
        store = open_store(self._place, options.node, options.approach, options.disk, self.namespace)
        try:
            device = await self._switched_on(store)
        except BaseException:
            await _close(store)
            raise
        forget_unfinished(store, self.id)
        device.on_renewed = self._keep
        self._device, self._opened_s = device, asyncio.get_running_loop().time()
        host = device.host
        together = host.codec.insert_together if host.codec.signs else None
        machine = OperationContext(device.can_send, device.wait_to_send, store.commit, host.deferred.run_now, together)
        self._queue = OperationQueue(options.operations, machine)
        if isinstance(store, DiskStore):
            self._quota = Quota(options.disk, store.room, host, device.approach, self._retrievals.__contains__)
            self._quota.begin()
        self._current.move_to(host)
        host.link.watch = self._streams.change
        device.approach.progress = self._retrievals.tell
        if self._place != MEMORY:  # what is forgotten with the node, the node itself remembers as long
            self._streams.known.keep_in(store)
        known = self.user.take(device.approach)
        self._next_sid = max([int(host.now()) % SID_CYCLE, *(key.sid + 1 for key in known)])
        for key in known:
            self._streams.add(key, "")
        if path := options.position_file:
            PositionFile(Path(path).expanduser(), self.place, host.after).begin()
        if source := options.position_source:
            self._gpsd = Gpsd(gpsd_address(source), lambda lat, lon: self.place(latitude=lat, longitude=lon))
            self._gpsd.begin()

    async def _switched_on(self, store: Store) -> Device:
        device = Device(
            self.options,
            store=store,
            clock=self._clock,
            log=self._log_to,
            identity=self.identity,
            namespace=self.namespace,
            network=self._network,
        )
        try:
            await device.open()
        except BaseException:
            await device.host.close()
            raise
        return device

    async def connect(self, peers: Iterable[str]) -> None:
        await self.device.connect(peers)

    async def join(self) -> None:
        await self.device.join()

    async def aclose(self) -> None:
        """Leave; the same as `close`, under the name that `contextlib.aclosing` expects."""
        await self.close()

    async def close(self, reason: str = "quit") -> None:
        """Leave. Operations under way fail, and streams of notifications end."""
        if self._device is None:
            return
        self.user.lose()
        self._streams.end()
        device, self._device = self._device, None
        self._queue = self._quota = None
        if self._gpsd is not None:
            await self._gpsd.close()
        await device.close(reason)
        await _close(device.host.store)

    @property
    def device(self) -> Device:
        if self._device is None:
            raise InputError(f"node {self.options.node} is not running; use it within `async with`")
        return self._device

    @property
    def up_s(self) -> float:
        """For how long it has been open."""
        return asyncio.get_running_loop().time() - self._opened_s

    @property
    def id(self) -> NodeId:
        return NodeId(self.options.node)

    @property
    def address(self) -> str:
        return address_text(self.device.address)

    @property
    def name(self) -> str:
        """What people call this device; others show it beside the node's number."""
        return self.options.name

    def rename(self, name: str) -> None:
        """Give the device another name, which is kept. Peers show it after the next greeting, within a minute or so."""
        self.options = msgspec.structs.replace(self.options, name=device_name_of(name))
        if self._named_in is not None:
            keep_name(self._named_in, self.options.name)
        if self._device is not None:
            self._device.host.link.peering.name = self.options.name

    def renew(self) -> str:
        """Give the namespace a new key; its new invitation. Members take the key over from each other, those who were
        away within a day. Only the device that created the namespace can."""
        self._keep(self.device.renew())
        return self.namespace.invitation()

    def rejoin(self, invitation: str) -> None:
        """Use the key of a newer invitation to this namespace. Peers that do not have it are left."""
        namespace = Namespace.invited(invitation)
        if not namespace.supersedes(self.namespace):
            raise InputError(f"this is no newer invitation to namespace {self.namespace.name!r}")
        self._keep(namespace)
        self.device.take(namespace)

    def _keep(self, namespace: Namespace) -> None:
        self.namespace = namespace
        if self.keep_namespace is not None:
            self.keep_namespace(namespace)

    def name_of(self, node: NodeId) -> str:
        """What people call a node; nothing if it is not known."""
        return self.name if node == self.id else self.device.host.link.peers.name_of(node)

    @property
    def on_notice(self) -> Callable[[Notice], None] | None:
        """Called for every notification at once, besides the streams."""
        return self._streams.on_notice

    @on_notice.setter
    def on_notice(self, told: Callable[[Notice], None] | None) -> None:
        self._streams.on_notice = told

    def peers(self) -> Presences:
        """Peers in range: first those that are here now, then every arrival and departure."""
        here = [Presence(node, at, True, self.name_of(node)) for node, at in self.device.neighbours().items()]
        return self._streams.presences(here)

    def now(self) -> float:
        """The crowd's time, in seconds since 1970; time frames are compared in it."""
        return self.device.host.now()

    def place(
        self,
        x_m: float | None = None,
        y_m: float | None = None,
        *,
        latitude: float | None = None,
        longitude: float | None = None,
    ) -> None:
        """Set the device's position: in metres from the south-west corner of the area, or as latitude and longitude in
        degrees (WGS84) if the namespace's area has a reference point. A node that keeps changing position counts as
        moving until some seconds after the last change.
        """
        self._movement.place(self.device.host, *place_of(self.namespace, x_m, y_m, latitude, longitude))

    def coordinates(self) -> tuple[float, float] | None:
        """Latitude and longitude of the device, if the namespace's area has a reference point."""
        area = self.namespace.area
        return None if area is None else area.coordinates(self.device.host.position())

    def notes(self) -> list[str]:
        """What the user should know, in sentences."""
        problem = "" if self._gpsd is None else self._gpsd.problem
        return [*self.device.notes(), *([problem] if problem else [])]

    def known(self) -> list[Metadata]:
        """Objects that this node inserted or was notified of, oldest first."""
        return self._streams.known.list()

    def subscriptions(self) -> list[Notifications]:
        return list(self._streams.subscriptions.values())

    async def insert(
        self,
        name: Given,
        data: Given = NOT_GIVEN,
        tags: Iterable[str] = (),
        summary: bytes | str = b"",
        *,
        replicate: bool | None = None,
        expires: Span | None = None,
    ) -> Metadata:
        """Store an object under its tags, and notify the subscribers of those tags. Give a name and what to store, or
        only what to store (`insert("3-3!", tags=["goal"])`), and a name is made up: bytes, a text, the path of a file
        (`pathlib.Path`) or a stream of bytes, asynchronous or not; files and streams are never in memory as a whole.
        `replicate` says for this object whether others keep it, too, where the approach leaves a choice (§7.1).
        With `expires` ("2h", a timedelta or seconds) it ends that long after its insertion, on all devices.

        Repeating an insertion of the same object succeeds, also after it was cancelled or has failed; one that is
        cancelled may still be carried out.
        """
        if data is NOT_GIVEN:
            name, data = token_hex(NAME_BYTES), name
        oid, listed, shown = name_of(name), tags_of(tags), bytes_of("summary", summary)
        lasts_s = None if expires is None else span_s(expires)
        if oid in self._insertions.under_way or self._insertions.before(oid) is not None:
            return await self._insert_again(
                InsertArguments(oid, await digested(data), listed, shown, lasts_s), replicate
            )
        if self._quota is not None:
            self._quota.make_room(given_bytes(data))
        if isinstance(data, bytes | str):
            return await self._insert(
                InsertArguments(oid, bytes_of("content", data), listed, shown, lasts_s), replicate
            )
        async with self._insertions.laid(self.device, oid, data) as content:
            return await self._insert(InsertArguments(oid, content, listed, shown, lasts_s), replicate)

    async def _insert(self, draft: InsertArguments, replicate: bool | None, before: Metadata | None = None) -> Metadata:
        insertion = Insertion(self.user, self._insertions, draft, replicate, before)
        self._insertions.under_way[draft.oid] = insertion
        return await self._begin(insertion)

    async def _insert_again(self, draft: InsertArguments, replicate: bool | None) -> Metadata:
        """Repeat an insertion of the same object: join it, or find it done, or carry it out once more."""
        while (running := self._insertions.under_way.get(draft.oid)) is not None:
            if running.draft != draft:
                raise InputError(f"object {draft.oid!r} is being inserted with other contents; use a new name")
            await running.join()
        before = self._insertions.before(draft.oid)
        if before is None:
            return await self._insert(draft, replicate)
        if not draft.describes(before):
            raise InputError(
                f"object {draft.oid!r} was inserted by this node before, with other contents; objects are immutable: "
                "use a new name"
            )
        return before if self._insertions.succeeded(draft.oid) else await self._insert(draft, replicate, before)

    async def delete(self, oid: str) -> None:
        """Remove one of this node's own objects."""
        user, oid = self.user, name_of(oid)
        await self._carry_out(OperationKind.DELETE, lambda number, ended: user.delete(number, oid, ended))
        self._insertions.forget(oid)

    async def subscribe(
        self,
        query: str,
        frame: TimeFrame | None = None,
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        last: Span | None = None,
    ) -> Notifications:
        """Subscribe, and iterate over what matches: ever, or what is published within a frame, or from `start` on,
        before `end`, or in the `last` ten minutes ("10m") and from now on. If no peer could be reached, there is no
        subscription.
        """
        user, approach = self.user, self.device.approach
        asked, period = query_of(query), frame_of(self.now(), frame, start, end, last)
        key = SubscriptionKey(self._next_sid, self.id)
        self._next_sid += 1
        stream = self._streams.add(key, asked.text)

        def issue(number: int, ended: Ended) -> None:
            user.subscribe(number, asked, period, key.sid, ended)

        try:
            await self._carry_out(OperationKind.SUBSCRIBE, issue)
        except InputError:
            self._streams.drop(key.sid)
            raise
        except (OperationError, asyncio.CancelledError):
            self._streams.drop(key.sid)
            if self._device is not None:
                with suppress(InputError):  # it had not begun
                    approach.unsubscribe(key.sid, lambda _: None)
            raise
        return stream

    async def find(
        self,
        query: str,
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        last: Span | None = None,
        wait_s: float = FIND_WAIT_S,
    ) -> list[Metadata]:
        """Current matches, oldest first; waits up to `wait_s` for each further answer."""
        now_s = self.now()
        begun = frame_of(now_s, None, start, end, last)
        past = TimeFrame(begun.start_s, now_s if begun.end_s is None else min(now_s, begun.end_s))
        async with await self.subscribe(query, past) as matches:
            return await read_all(matches, span_s(wait_s))

    async def unsubscribe(self, what: Which) -> None:
        user, sid = self.user, number_of(what)

        def issue(number: int, ended: Ended) -> None:
            user.unsubscribe(number, sid, ended)
            self._streams.drop(sid)

        await self._carry_out(OperationKind.UNSUBSCRIBE, issue)

    async def retrieve(self, what: Wanted, progress: Progress | None = None) -> bytes:
        """The content of an object that this node was notified of. Retrieve a large one to a file instead."""
        async with self._retrieved(what, progress) as (key, content):
            if isinstance(content, bytes):
                return content
            pieces: list[bytes] = []
            await copied(self.device.host.store, key, content, pieces.append)
            return b"".join(pieces)

    async def retrieve_to(self, what: Wanted, path: str | os.PathLike[str], progress: Progress | None = None) -> int:
        """Write the content of an object to a file, whole or not at all; its size. `progress` is called with the bytes
        received and the total, for each chunk of a large one. When it is cancelled or fails, the received part stays in
        the store, and the next retrieval continues from there, also after a restart.
        """
        place = path_of(path)
        async with self._retrieved(what, progress) as (key, content):
            await written_to(place, self.device.host.store, key, content)
            return size_of(content)

    def _retrieved(
        self, what: Wanted, progress: Progress | None
    ) -> AbstractAsyncContextManager[tuple[ObjectKey, Content]]:
        """A content that was retrieved, while this is entered."""
        user, device = self.user, self.device
        wanted = wanted_of(what)
        metadata = wanted if isinstance(wanted, Metadata) else self._streams.known.get(wanted)
        if metadata is None:
            raise InputError(f"this node was not notified of {what}; subscribe to one of its tags first")
        if self._quota is not None:
            self._quota.make_room(metadata.size_bytes)

        async def fetch(fetched: Fetched) -> None:
            def issue(number: int, ended: Ended) -> None:
                user.retrieve(number, metadata, ended, fetched)

            await self._carry_out(OperationKind.RETRIEVE, issue)

        return self._retrievals.retrieved(device, metadata.key, fetch, progress)

    async def more(self, what: Which, most: int = 0) -> int:
        """Ask for the next past matches, the approach's usual number of them or a stream of up to `most`; how many are
        left after them."""
        user, sid = self.user, number_of(what)
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            raise InputError(f"most is {most!r}; give a number of past matches")
        await self._carry_out(OperationKind.MORE, lambda number, ended: user.more(number, sid, ended, most))
        return self.remaining(sid)

    def remaining(self, what: Which) -> int:
        """Past matches of a subscription that can still be asked for with `more`."""
        return self.device.approach.remaining(number_of(what))

    async def _carry_out(self, kind: OperationKind, issue: Callable[[int, Ended], Answer]) -> Answer:
        return await self._begin(Request(kind, issue))

    async def _begin(self, operation: PendingOperation[Answer]) -> Answer:
        device = self.device
        assert self._queue is not None, device
        return await self._queue.carry_out(self.user, operation)


class _CurrentHost:
    """The user's view of the current host, which changes whenever the node is opened."""

    now: Callable[[], float]
    after: Callable[[float, Callable[[], None]], Timer]
    record: Callable[[LogRecord], None]
    _host: LiveHost

    def move_to(self, host: LiveHost) -> None:
        self._host = host
        self.now, self.after, self.record = host.now, host.after, host.record

    @property
    def recording(self) -> bool:
        return self._host.recording


async def _close(store: Store) -> None:
    if isinstance(store, DiskStore):
        await store.close()
