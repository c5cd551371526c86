"""A node for scripts: the operations of `Node`, as blocking calls.

    with thyme.SyncNode(1, store="memory") as node:
        node.insert("first", "3-3!", ["goal"])
        for notice in node.subscribe("goal & !replay", last="10m"):
            print(node.retrieve(notice))

The node lives on an event loop in a thread of its own, so it answers others while the script does something else.
Several threads may use it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from thyme.live.node.arguments import Given, Instant, NodeOptions, Span, Wanted, Which, span_s
from thyme.live.node.node import NOT_GIVEN, Node
from thyme.live.node.notifications import Notice, Notifications
from thyme.live.node.retrievals import Progress
from thyme.live.store.folders import Place
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.model.objects import Metadata

Answer = TypeVar("Answer")


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="thyme node", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for a coroutine on the loop; cancel it if the wait is interrupted (Ctrl-C)."""
        if not self._thread.is_alive() or threading.current_thread() is self._thread:
            work.close()
            raise InputError("the node is closed, or was called from its own thread")
        future: Future[Answer] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


class SyncNotifications:
    """What a subscription brings: an iterator that waits for the next match, no longer than `patience`."""

    def __init__(self, loop: _Loop, stream: Notifications, patience: Span | None) -> None:
        self._loop = loop
        self._stream = stream
        self._patience_s = None if patience is None else span_s(patience)

    @property
    def key(self) -> SubscriptionKey:
        return self._stream.key

    @property
    def query(self) -> str:
        return self._stream.query

    @property
    def remaining(self) -> int:
        """Known past matches that were not delivered yet."""
        return self._loop.run(_called(lambda: self._stream.remaining))

    def more(self, most: int = 0) -> int:
        """Ask for the next past matches, or for a stream of up to `most`; how many are left after them."""
        return self._loop.run(self._stream.more(most))

    def close(self) -> None:
        """End the subscription, if it has not ended."""
        self._loop.run(self._stream.aclose())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Notice:
        notice = self._loop.run(_next(self._stream, self._patience_s))
        if notice is None:
            raise StopIteration
        return notice


class SyncNode:
    """A `Node` whose operations block. It runs from its making until `close`, or within `with`."""

    def __init__(self, node: int | None = None, *, store: Place = None, **options: Unpack[NodeOptions]) -> None:
        """The options are those of `Node`."""
        self._node = Node(node, store=store, **options)
        self._loop = _Loop()
        try:
            self._loop.run(self._node.__aenter__())
        except BaseException:
            self._loop.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave. Operations under way in other threads fail, and iterations end."""
        try:
            self._loop.run(self._node.close())
        finally:
            self._loop.end()

    @property
    def id(self) -> int:
        return self._node.id

    @property
    def address(self) -> str:
        return self._node.address

    def insert(
        self,
        name: Given,
        data: Given = NOT_GIVEN,
        tags: Iterable[str] = (),
        summary: bytes | str = b"",
        *,
        replicate: bool | None = None,
        expires: Span | None = None,
    ) -> Metadata:
        return self._loop.run(self._node.insert(name, data, tags, summary, replicate=replicate, expires=expires))

    def place(
        self,
        x_m: float | None = None,
        y_m: float | None = None,
        *,
        latitude: float | None = None,
        longitude: float | None = None,
    ) -> None:
        """The device is here now."""
        self._loop.run(_called(lambda: self._node.place(x_m, y_m, latitude=latitude, longitude=longitude)))

    def delete(self, oid: str) -> None:
        self._loop.run(self._node.delete(oid))

    def subscribe(
        self,
        query: str,
        frame: TimeFrame | None = None,
        *,
        start: Instant | None = None,
        end: Instant | None = None,
        last: Span | None = None,
        patience: Span | None = None,
    ) -> SyncNotifications:
        """Iterate over what matches. The iteration ends when nothing comes for as long as `patience`."""
        stream = self._loop.run(self._node.subscribe(query, frame, start=start, end=end, last=last))
        return SyncNotifications(self._loop, stream, patience)

    def unsubscribe(self, what: Which | SyncNotifications) -> None:
        which = what.key if isinstance(what, SyncNotifications) else what
        self._loop.run(self._node.unsubscribe(which))

    def find(
        self, query: str, *, start: Instant | None = None, end: Instant | None = None, last: Span | None = None
    ) -> list[Metadata]:
        """Current matches, oldest first."""
        return self._loop.run(self._node.find(query, start=start, end=end, last=last))

    def retrieve(self, what: Wanted, progress: Progress | None = None) -> bytes:
        return self._loop.run(self._node.retrieve(what, progress))

    def retrieve_to(self, what: Wanted, path: str | os.PathLike[str], progress: Progress | None = None) -> int:
        return self._loop.run(self._node.retrieve_to(what, path, progress))

    def peers(self) -> dict[NodeId, str]:
        """Peers in range now: their addresses, by node number."""
        return self._loop.run(_called(self._node.device.neighbours))

    def known(self) -> list[Metadata]:
        """Objects that this node inserted or was notified of, oldest first."""
        return self._loop.run(_called(self._node.known))


async def _called(read: Callable[[], Answer]) -> Answer:
    return read()


async def _next(stream: Notifications, patience_s: float | None) -> Notice | None:
    """The next match; None when there is none any more, or none came in time."""
    try:
        async with asyncio.timeout(patience_s):
            return await anext(stream, None)
    except TimeoutError:
        return None
