"""Subscriptions over HTTP: those that are kept with the node, and those that last as long as a connection.

What a node itself remembers of a subscription is its conjunctions; its text and time frame are kept beside it in the
node's store, and so survive a restart. A connection's subscription ends with the connection, and its past matches are
paged through without being asked for; if the node is killed meanwhile, the subscription ends when it is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from thyme.live.failures import OperationError, ReaderTooSlow, RequestError, not_found
from thyme.live.http.limits import HEARTBEAT_S, HttpOptions
from thyme.live.node.node import FIND_WAIT_S, Node
from thyme.live.node.notifications import Notice, Notifications
from thyme.live.views import NewSubscription, SubscriptionView, frame_from, notice_view, subscription_from
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame

KIND = "asked over http"
CONNECTION_KIND = "listened over http"
MAX_COUNTED = 10_000
"""Subscriptions whose notifications are counted."""


class StoredSubscription(msgspec.Struct, frozen=True, array_like=True):
    query: str
    frame: TimeFrame


class ClientSubscriptions:
    """All subscriptions of one node, from all clients."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._store = node.device.host.store
        self._told: Bounded[int, int] = Bounded(MAX_COUNTED)
        self._asked: dict[int, StoredSubscription] = {}
        here = {stream.key.sid for stream in node.subscriptions()}
        for name, value in self._store.items(KIND):
            if int(name) in here:
                self._asked[int(name)] = msgspec.msgpack.decode(value, type=StoredSubscription)
            else:
                self._store.remove(KIND, name)

    def count(self, sid: int) -> None:
        self._told[sid] = self._told.get(sid, 0) + 1

    def __contains__(self, sid: int) -> bool:
        return any(stream.key.sid == sid for stream in self._node.subscriptions())

    async def add(self, asked: NewSubscription) -> SubscriptionView:
        frame = frame_from(asked, self._node.now())
        stream = await self._node.subscribe(asked.query, frame)
        sid = stream.key.sid
        self._asked[sid] = StoredSubscription(stream.query, frame)
        self._store.put(KIND, str(sid), msgspec.msgpack.encode(self._asked[sid]))
        return self.view(sid)

    async def remove(self, sid: int) -> None:
        self._expect(sid)
        await self._node.unsubscribe(sid)
        self._asked.pop(sid, None)
        self._store.remove(KIND, str(sid))

    async def more(self, sid: int) -> SubscriptionView:
        self._expect(sid)
        await self._node.more(sid)
        return self.view(sid)

    def views(self) -> list[SubscriptionView]:
        return [self.view(stream.key.sid) for stream in self._node.subscriptions()]

    def view(self, sid: int) -> SubscriptionView:
        stream = next((each for each in self._node.subscriptions() if each.key.sid == sid), None)
        if stream is None:
            raise not_found(f"subscription {sid}")
        asked = self._asked.get(sid) or StoredSubscription(stream.query, TimeFrame.always())
        try:
            remaining = self._node.remaining(sid)
        except InputError:  # a search of the past whose time is over
            remaining = 0
        frame, told = asked.frame, self._told.get(sid, 0)
        return SubscriptionView(sid, str(stream.key), asked.query, frame.start_s, frame.end_s, told, remaining)

    def _expect(self, sid: int) -> None:
        if sid not in self:
            raise not_found(f"subscription {sid}")


class ConnectionSubscriptions:
    """Subscriptions that end with their connections."""

    def __init__(self, node: Node, options: HttpOptions) -> None:
        self._node = node
        self._options = options
        self._open: set[Notifications] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        for name, _ in node.device.host.store.items(CONNECTION_KIND):
            self._run_apart(self._unsubscribe(int(name)))

    async def listen(self, request: Request, _: None) -> StreamingResponse:
        if len(self._open) >= self._options.streams:
            raise RequestError(
                503, "busy", f"{len(self._open)} connections have a subscription, which is the limit; close one"
            )
        asked = subscription_from(request.query_params)
        frame = frame_from(asked, self._node.now())
        stream = await self._node.subscribe(asked.query, frame)
        self._node.device.host.store.put(CONNECTION_KIND, str(stream.key.sid), b"")
        self._open.add(stream)
        return StreamingResponse(
            self._lines(stream, frame), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    def end(self) -> None:
        """The node leaves: all of them end."""
        for stream in self._open:
            stream.end()

    async def _lines(self, stream: Notifications, frame: TimeFrame) -> AsyncIterator[bytes]:
        try:
            yield _event("subscribed", {"subscription": stream.key.sid, "query": stream.query})
            over = frame.ended(self._node.now())
            while not stream.ended or stream.waiting:
                notice, quiet = await self._next(stream, FIND_WAIT_S if over else HEARTBEAT_S)
                if isinstance(notice, ReaderTooSlow):
                    yield _event("lost", {"events": notice.lost})
                elif notice is not None:
                    yield _event("notified", notice_view(notice, self._node))
                elif over and quiet:
                    break
                elif quiet:
                    over = frame.ended(self._node.now())
                    yield b": still here\n\n"
            yield _event("end", {})
        finally:
            self._open.discard(stream)
            self._run_apart(self._unsubscribe(stream.key.sid))

    async def _next(self, stream: Notifications, wait_s: float) -> tuple[Notice | ReaderTooSlow | None, bool]:
        """The next match, if one comes, or what was dropped before it; and whether the wait timed out."""
        if not stream.waiting and stream.remaining:
            with suppress(OperationError):  # nodes that did not answer are asked with the next batch
                await stream.more()
        try:
            async with asyncio.timeout(wait_s):
                return await anext(stream, None), False
        except ReaderTooSlow as lost:
            return lost, False
        except TimeoutError:
            return None, True

    async def _unsubscribe(self, sid: int) -> None:
        with suppress(InputError, OperationError):
            await self._node.unsubscribe(sid)
        with suppress(InputError):  # the node has left, and does it when it is back
            self._node.device.host.store.remove(CONNECTION_KIND, str(sid))

    def _run_apart(self, doing: Coroutine[Any, Any, None]) -> None:
        """Apart from the request, which may have been cancelled."""
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _event(kind: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(data))
