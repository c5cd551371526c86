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

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from thyme.approaches.ledger import Ended
from thyme.approaches.user import BY_HAND, Fetched, Numbers, User
from thyme.live.failures import OperationError
from thyme.live.link.addresses import address_text
from thyme.live.link.meeting.peers import Presence
from thyme.live.node.clock import Clock
from thyme.live.node.device import Device
from thyme.live.node.logs.log import Log
from thyme.live.node.operations.awaiting import Answer, Asked
from thyme.live.node.operations.files import copied, written_to
from thyme.live.node.operations.finding import found
from thyme.live.node.operations.given import (
    Given,
    Wanted,
    Which,
    bytes_of,
    name_of,
    namespace_in,
    number_of,
    options_of,
    path_of,
    query_of,
    wanted_of,
)
from thyme.live.node.operations.insertions import Insertion, Insertions
from thyme.live.node.operations.notifications import Notice, Notifications
from thyme.live.node.operations.periods import Instant, Span, frame_of, span_s
from thyme.live.node.operations.presences import Presences
from thyme.live.node.operations.retrievals import Progress, Retrievals
from thyme.live.node.operations.tidings import Tidings
from thyme.live.node.position_file import PositionFile
from thyme.live.node.running import Means, Place, Running
from thyme.live.node.surroundings import NodeSurroundings
from thyme.live.node.whereabouts import Whereabouts
from thyme.live.store.places import MEMORY, identity_at
from thyme.live.trust.identity import Identity
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, Metadata, size_of, tags_of
from thyme.model.records import OperationKind

SID_CYCLE = 1_000_000
FIND_WAIT_S = 1.0
"""Longer than approaches collect answers (LS 0.5 s), and than an answer is on its way among neighbours."""


class Node:
    """One live node and its user, who does nothing but what the application asks for."""

    def __init__(
        self,
        node: int | None = None,
        *,
        store: Place = None,
        identity: Identity | None = None,
        clock: Clock | None = None,
        log_to: Log | None = None,
        **options: Any,
    ) -> None:
        """`store` is a folder to keep everything in, by default one of the user's data folder; `"memory"` forgets it at
        the end. There the node's key lies, from which its number derives; a number given as `node` is for tests, and
        protects nothing. `options` are those of `DeviceOptions`: namespace, passphrase, listen, peers, approach, …"""
        namespace, given = namespace_in(options)
        checked = options_of(node, given)
        self.identity = identity or (identity_at(store) if node is None else Identity.given(node))
        self.namespace = namespace
        self.options = msgspec.structs.replace(checked, node=self.identity.node)
        self._means = Means(self.options, self.identity, namespace, store, clock, log_to)
        self._running: Running | None = None
        self._tidings = Tidings(self)
        self._surroundings = NodeSurroundings()
        self.user = User(self.id, self._surroundings, BY_HAND, Numbers(0), seed=0)
        self.user.told = self._tidings.notify
        self._next_sid = 0
        self._insertions, self._retrievals = Insertions(), Retrievals()
        self._whereabouts = Whereabouts()

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
        self._running = await Running.begin(self._means, self._retrievals.__contains__)
        device = self._running.device
        self._surroundings.move_to(device.host)
        device.host.link.watch = self._tidings.notice
        device.store.progress = self._retrievals.tell
        if self._means.place != MEMORY:  # what is forgotten with the node, the node itself remembers as long
            self._tidings.known.keep_in(device.host.store)
        known = self.user.take(device.store)
        self._next_sid = max([int(device.host.now()) % SID_CYCLE, *(key.sid + 1 for key in known)])
        for key in known:
            self._tidings.stream(key, "")
        if path := self.options.position_file:
            PositionFile(Path(path).expanduser(), self.place, device.host.after).begin()

    async def connect(self, peers: Iterable[str]) -> None:
        await self.device.connect(peers)

    async def join(self) -> None:
        await self.device.join()

    async def close(self, reason: str = "quit") -> None:
        """Leave. Operations under way fail, and streams of notifications end."""
        if self._running is None:
            return
        self.user.lose()
        self._tidings.end()
        running, self._running = self._running, None
        await running.end(reason)

    @property
    def device(self) -> Device:
        return self._open().device

    @property
    def id(self) -> NodeId:
        return NodeId(self.options.node)

    @property
    def address(self) -> str:
        return address_text(self.device.address)

    @property
    def on_notice(self) -> Callable[[Notice], None] | None:
        """Told of every notification at once, besides the streams."""
        return self._tidings.on_notice

    @on_notice.setter
    def on_notice(self, told: Callable[[Notice], None] | None) -> None:
        self._tidings.on_notice = told

    def peers(self) -> Presences:
        """Who is in range: those who are here now, and then whoever comes and goes."""
        here = [Presence(node, address, True) for node, address in self.device.neighbours().items()]
        return self._tidings.presences(here)

    def now(self) -> float:
        """The crowd's time, in seconds since 1970 by the clock of who was there first; frames are compared in it."""
        return self.device.host.now()

    def place(self, x_m: float, y_m: float) -> None:
        """The device is here now, in metres from the south-west corner of the area. Whoever places it again and again
        is on the way, and stands still some seconds after the last step."""
        self._whereabouts.place(self.device.host, x_m, y_m)

    def known(self) -> list[Metadata]:
        """Objects that this node inserted or was notified of, in that order."""
        return self._tidings.known.list()

    def subscriptions(self) -> list[Notifications]:
        return list(self._tidings.streams.values())

    async def insert(
        self,
        oid: str,
        data: Given,
        tags: Iterable[str],
        summary: bytes | str = b"",
        *,
        replicate: bool | None = None,
    ) -> Metadata:
        """Store an object under its tags, and notify whoever subscribed to them. Give bytes, a text, the path of a file
        (`pathlib.Path`) or a stream of bytes, asynchronous or not; files and streams are never in memory as a whole.
        `replicate` says for this object whether others keep it, too, where the approach leaves a choice (§7.1)."""
        oid, listed, shown = name_of(oid), tags_of(tags), bytes_of("summary", summary)
        self._open().make_room_for(data)
        if isinstance(data, bytes | str):
            return await self._insert(oid, bytes_of("content", data), listed, shown, replicate)
        async with self._insertions.laid(self.device, oid, data) as content:
            return await self._insert(oid, content, listed, shown, replicate)

    async def _insert(
        self, oid: str, content: Content, tags: list[str], summary: bytes, replicate: bool | None
    ) -> Metadata:
        known = self._tidings.known
        insertion = Insertion(self.user, known, oid, content, tags, summary, replicate)
        try:
            return await self._open().turns.carry_out(self.user, insertion)
        except OperationError:
            known.forget(ObjectKey(oid, self.id))
            raise

    async def delete(self, oid: str) -> None:
        """Remove one of this node's own objects."""
        user, oid = self.user, name_of(oid)
        await self._carry_out(OperationKind.DELETE, lambda number, ended: user.delete(number, oid, ended))
        self._tidings.known.forget(ObjectKey(oid, self.id))

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
        before `end`, or in the `last` ten minutes ("10m") and from now on. If the crowd could not be told, there is no
        subscription."""
        user, store = self.user, self.device.store
        asked, period = query_of(query), frame_of(self.now(), frame, start, end, last)
        key = SubscriptionKey(self._next_sid, self.id)
        self._next_sid += 1
        stream = self._tidings.stream(key, asked.text)

        def issue(number: int, ended: Ended) -> None:
            user.subscribe(number, asked, period, key.sid, ended)

        try:
            await self._carry_out(OperationKind.SUBSCRIBE, issue)
        except InputError:
            self._tidings.drop(key.sid)
            raise
        except OperationError:
            self._tidings.drop(key.sid)
            if self._running is not None:
                store.unsubscribe(key.sid, lambda _: None)
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
        """What matches and is there now, the oldest first; further answers are waited for up to `wait_s` each."""
        now_s = self.now()
        begun = frame_of(now_s, None, start, end, last)
        past = TimeFrame(begun.start_s, now_s if begun.end_s is None else min(now_s, begun.end_s))
        async with await self.subscribe(query, past) as matches:
            return await found(matches, span_s(wait_s))

    async def unsubscribe(self, what: Which) -> None:
        user, sid = self.user, number_of(what)

        def issue(number: int, ended: Ended) -> None:
            user.unsubscribe(number, sid, ended)
            self._tidings.drop(sid)

        await self._carry_out(OperationKind.UNSUBSCRIBE, issue)

    async def retrieve(self, what: Wanted, progress: Progress | None = None) -> bytes:
        """The content of an object of which this node was notified. A large one is better retrieved to a file."""
        async with self._retrieved(what, progress) as (key, content):
            if isinstance(content, bytes):
                return content
            pieces: list[bytes] = []
            await copied(self.device.host.store, key, content, pieces.append)
            return b"".join(pieces)

    async def retrieve_to(self, what: Wanted, path: str | os.PathLike[str], progress: Progress | None = None) -> int:
        """Write the content of an object to a file, whole or not at all; its size. `progress` is told how many bytes of
        how many are here, with each chunk of a large one. When it is cancelled or fails, what has arrived stays in the
        store, and retrieving it again goes on from there, also after a restart."""
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
        metadata = wanted if isinstance(wanted, Metadata) else self._tidings.known.get(wanted)
        if metadata is None:
            raise InputError(f"this node was not notified of {what}; subscribe to one of its tags first")
        self._open().make_room(metadata.size_bytes)

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
        return self.device.store.remaining(number_of(what))

    async def _carry_out(self, kind: OperationKind, issue: Callable[[int, Ended], Answer]) -> Answer:
        return await self._open().turns.carry_out(self.user, Asked(kind, issue))

    def _open(self) -> Running:
        if self._running is None:
            raise InputError(f"node {self.options.node} is not running; use it within `async with`")
        return self._running
