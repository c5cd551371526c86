"""A large object between two processes: by live nodes of Thyme-LS, with their disks, and by bare UDP.

Bare UDP asks for parts of the same size, as many at a time as the link lets be under way, and throws them away: nothing
is hashed, written, acknowledged or asked for again. The nodes compare every chunk with its digest, keep it on the disk,
and copy it to a file. The memory is that of the process that retrieves.
"""

from __future__ import annotations

import asyncio
import os
import struct
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import msgspec
import psutil

from thyme.bench.live.notifications import QUICK, TAG
from thyme.live import Node
from thyme.live.link.lanes import UNIT_BYTES
from thyme.live.link.paths import PathOptions
from thyme.live.link.unicasts import UnicastOptions
from thyme.live.loop import run

PART_BYTES = PathOptions().loopback_part_bytes
WINDOW = -(-UnicastOptions().window // (1 + PART_BYTES // UNIT_BYTES))
"""Parts that the link lets be under way at once."""
PATIENCE_S = 5.0
WRITE_BYTES = 2**20
_request = struct.Struct("!QI")


class Transferred(msgspec.Struct, frozen=True):
    size_bytes: int
    wall_s: float
    cpu_s: float
    """Of the process that retrieves."""
    grown_bytes: int
    """How much larger that process was at its largest."""


class _Parts(asyncio.DatagramProtocol):
    """Gives parts of a content that is all zeros."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self._transport.sendto(data + bytes(_request.unpack(data)[1]), addr)


class _Asker(asyncio.DatagramProtocol):
    def __init__(self, size_bytes: int) -> None:
        self.ended = asyncio.get_running_loop().create_future()
        self._missing = iter(range(0, size_bytes, PART_BYTES))
        self._left_bytes = self._size_bytes = size_bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        for _ in range(WINDOW):
            self._ask()

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self._left_bytes -= len(data) - _request.size
        self._ask()
        if self._left_bytes == 0:
            self.ended.set_result(None)

    def _ask(self) -> None:
        offset = next(self._missing, None)
        if offset is not None:
            self._transport.sendto(_request.pack(offset, min(PART_BYTES, self._size_bytes - offset)))


def give_parts(pipe: Connection) -> None:
    """A process that gives parts over bare UDP, until the other side of the pipe says something."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(_Parts, local_addr=("127.0.0.1", 0))
        pipe.send(transport.get_extra_info("sockname"))
        await loop.run_in_executor(None, pipe.recv)
        transport.close()

    run(serve())


def take_parts(address: tuple[str, int], size_bytes: int) -> float:
    """How long so many bytes took over bare UDP."""

    async def play() -> float:
        began_s = time.perf_counter()
        loop = asyncio.get_running_loop()
        transport, asker = await loop.create_datagram_endpoint(lambda: _Asker(size_bytes), remote_addr=address)
        await asyncio.wait_for(asker.ended, PATIENCE_S + size_bytes / 1e6)
        transport.close()
        return time.perf_counter() - began_s

    return run(play())


def give_object(pipe: Connection) -> None:
    """A process with a node that inserts a file of as many random bytes as it is told."""

    async def serve(folder: Path) -> None:
        loop = asyncio.get_running_loop()
        async with Node(1, store=folder / "store", settings=QUICK) as node:
            await node.device.joined.wait()
            pipe.send(node.address)
            file = folder / "file"
            size_bytes = await loop.run_in_executor(None, pipe.recv)
            await asyncio.to_thread(write_random, file, size_bytes)
            await node.insert("file", file, [TAG])
            await loop.run_in_executor(None, pipe.recv)

    with tempfile.TemporaryDirectory() as folder:
        run(serve(Path(folder)))


def write_random(path: Path, size_bytes: int) -> None:
    with path.open("wb") as file:
        for at in range(0, size_bytes, WRITE_BYTES):
            file.write(os.urandom(min(WRITE_BYTES, size_bytes - at)))


def take_object(pipe: Connection, size_bytes: int) -> Transferred:
    """Retrieve that object to a file."""

    async def play(folder: Path) -> Transferred:
        async with Node(2, store=folder / "store", settings=QUICK, peers=[pipe.recv()]) as node:
            await node.device.joined.wait()
            stream = await node.subscribe(TAG)
            pipe.send(size_bytes)
            metadata = (await anext(stream)).metadata
            process, before = psutil.Process(), psutil.Process().memory_info().rss
            largest = [before]

            def look(have_bytes: int, of_bytes: int) -> None:
                largest[0] = max(largest[0], process.memory_info().rss)

            began_s, cpu_s = time.perf_counter(), time.process_time()
            await node.retrieve_to(metadata, folder / "file", look)
            took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
            pipe.send("enough")
            return Transferred(size_bytes, took_s, cpu_s, largest[0] - before)

    with tempfile.TemporaryDirectory() as folder:
        return run(play(Path(folder)))
