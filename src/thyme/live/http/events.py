"""What happens at a node, as server-sent events.

Every event has a number within this run of the node. The newest events are kept, so a client that reconnects continues
after the last event it received (`Last-Event-ID`). The node does not wait for slow readers: events that were dropped
before a client read them are counted, and the client receives that number. If the id is of another run of the node, all
kept events are sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from secrets import token_hex
from typing import Any

import msgspec
from starlette.responses import StreamingResponse

from thyme.live.failures import RequestError
from thyme.live.http.limits import HEARTBEAT_S, HttpOptions

RETRY_MS = 1_000
LIFE_BYTES = 4


class NodeEvent(msgspec.Struct, frozen=True):
    number: int
    kind: str
    data: bytes
    """As JSON."""
    sid: int | None
    """The subscription it is about, if it is about one."""


Wanted = Callable[[NodeEvent], bool]


class Events:
    """The events of one node."""

    def __init__(self, options: HttpOptions) -> None:
        self._options = options
        self._life = token_hex(LIFE_BYTES)
        self._kept: deque[NodeEvent] = deque(maxlen=options.kept_events)
        self._next = 0
        self._readers: set[asyncio.Event] = set()
        self._ended = False

    @property
    def last(self) -> str:
        """The id of the newest event, behind which a new stream can begin."""
        return self._id(self._next - 1)

    @property
    def streams(self) -> int:
        return len(self._readers)

    def put(self, kind: str, data: Any, sid: int | None = None) -> None:
        self._kept.append(NodeEvent(self._next, kind, msgspec.json.encode(data), sid))
        self._next += 1
        self._wake()

    def end(self) -> None:
        """The node leaves: streams end."""
        self._ended = True
        self._wake()

    def response(
        self, after: str | None, wanted: Wanted, ends: Callable[[], bool] = lambda: False
    ) -> StreamingResponse:
        """A stream of the wanted events after the one with the id `after`, or of all kept events without one. It ends
        when `ends` returns true and all events were sent.
        """
        if len(self._readers) >= self._options.streams:
            raise RequestError(503, "busy", f"{len(self._readers)} streams are open, which is the limit; close one")
        first = self._first_after(after)
        return StreamingResponse(
            self._lines(first, wanted, ends), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def _lines(self, first: int, wanted: Wanted, ends: Callable[[], bool]) -> AsyncIterator[bytes]:
        changed = asyncio.Event()
        self._readers.add(changed)
        try:
            yield b"retry: %d\n\n" % RETRY_MS
            while True:
                changed.clear()
                events, lost = self._from(first)
                if lost:
                    yield b'event: lost\ndata: {"events":%d}\n\n' % lost
                for event in events:
                    if wanted(event):
                        yield self._line(event)
                first = events[-1].number + 1 if events else first + lost
                if self._ended or ends():
                    yield b"event: end\ndata: {}\n\n"
                    return
                if first == self._next:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(HEARTBEAT_S):
                            await changed.wait()
                    if not changed.is_set():
                        yield b": still here\n\n"
        finally:
            self._readers.discard(changed)

    def _from(self, first: int) -> tuple[list[NodeEvent], int]:
        """The kept events from this number on, and how many of those asked for are not kept any more."""
        oldest = self._next - len(self._kept)
        skipped = max(0, first - oldest)
        return [event for i, event in enumerate(self._kept) if i >= skipped], max(0, oldest - first)

    def _first_after(self, after: str | None) -> int:
        oldest = self._next - len(self._kept)
        life, _, number = (after or "").partition(".")
        if life != self._life or not number.lstrip("-").isdigit():
            return oldest
        return min(int(number) + 1, self._next)

    def _line(self, event: NodeEvent) -> bytes:
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (self._id(event.number).encode(), event.kind.encode(), event.data)

    def _id(self, number: int) -> str:
        return f"{self._life}.{number}"

    def _wake(self) -> None:
        for reader in self._readers:
            reader.set()
