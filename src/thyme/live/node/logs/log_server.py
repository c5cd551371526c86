"""A node's log over TCP, sent to every watcher that connects (`thyme watch HOST:PORT`).

A watcher first receives the node's id and the number of past lines that follow, then the past lines that are kept, then
every new line. The node reads nothing from watchers, and none can block it: one that reads too slowly is disconnected.
Anyone who can connect can watch, so this is off by default.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

import msgspec

from thyme.live.link.addresses import Address, address_text, parse_address
from thyme.live.node.logs.log import EventLines
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import LogRecord

VERSION = 1
READ_BYTES = 4_096

FAREWELL_S = 2.0
"""How long a leaving node waits for its watchers to take the last lines."""


class SharedLogOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kept_lines: int = 50_000
    """Past lines for a new watcher, about 10 MB; older lines are dropped and counted."""
    watchers: int = 8
    unread_bytes: int = 32_000_000
    """Lines that wait for one watcher; it must take the whole past at once."""


class Greeting(msgspec.Struct, frozen=True, tag_field="thyme", tag="events"):
    """The first line."""

    version: int
    node: int
    past: int
    """How many of the next lines are of the past."""
    forgotten: int
    """How many older ones there were."""


class SharedLog:
    """A log that is sent to watchers instead of being written."""

    def __init__(self, node: int, options: SharedLogOptions | None = None) -> None:
        self._node = node
        self._options = options or SharedLogOptions()
        self._events = EventLines()
        self._past: deque[bytes] = deque(maxlen=self._options.kept_lines)
        self._forgotten = 0
        self._watchers: dict[int, asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self._served = 0

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    @property
    def address(self) -> Address:
        assert self._server is not None, "the server has not started"
        name = self._server.sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def open(self, address: str) -> None:
        host, port = parse_address(address, "--tell", any_port=True)
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except OSError as error:
            raise InputError(
                f"--tell {address_text((host, port))}: cannot listen there: {error.strerror or error}"
            ) from error

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        self._tell(self._events.add(at_s, node, event))

    def close(self, at_s: float) -> None:
        self._tell(self._events.rest(at_s))

    async def end(self) -> None:
        """Close all connections once the last lines have gone, or anyway when patience ends."""
        if self._server is None:
            return
        self._server.close()
        leaving = list(self._watchers.values())
        for writer in leaving:
            writer.close()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(FAREWELL_S):
                for writer in leaving:
                    await writer.wait_closed()
        for writer in leaving:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._watchers) >= self._options.watchers:
            writer.close()
            return
        self._served += 1
        number = self._served
        greeting = Greeting(VERSION, self._node, len(self._past), self._forgotten)
        writer.write(msgspec.json.encode(greeting) + b"\n" + b"".join(self._past))
        self._watchers[number] = writer
        try:
            with suppress(OSError):
                while await reader.read(READ_BYTES):
                    pass
        finally:
            self._watchers.pop(number, None)
            writer.close()

    def _tell(self, lines: list[bytes]) -> None:
        if not lines:
            return
        self._forgotten += max(0, len(self._past) + len(lines) - self._options.kept_lines)
        self._past.extend(lines)
        for writer in self._watchers.values():
            transport = writer.transport
            if transport.get_write_buffer_size() > self._options.unread_bytes:
                transport.abort()
            elif not transport.is_closing():
                writer.write(b"".join(lines))
