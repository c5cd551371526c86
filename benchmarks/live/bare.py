"""Bare UDP beside live nodes: parts of the same size, as many at a time as the link lets be under way.

Bare, parts of nothing are sent and thrown away: nothing is sealed, hashed, written, acknowledged or asked for again.
Honest, what a node does to each byte is done to it here, too, and nothing else: parts are read from a file, sealed and
opened; chunks are compared with their digests and written to a file, and that is compared once more and copied.
"""

from __future__ import annotations

import asyncio
import os
import struct
import tempfile
import time
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from thyme.live.link.lanes import UNIT_BYTES
from thyme.live.link.paths import LOOPBACK_PART_BYTES
from thyme.live.link.sealing import Seal
from thyme.live.link.unicasts import UnicastOptions
from thyme.live.loop import run
from thyme.live.trust.namespaces import Namespace
from thyme.model.chunks import CHUNK_BYTES

WINDOW = -(-UnicastOptions().window // (1 + LOOPBACK_PART_BYTES // UNIT_BYTES))
"""Parts that the link lets be under way at once."""
PATIENCE_S = 5.0
WRITE_BYTES = 2**20
COPY_BYTES = 8 * CHUNK_BYTES
_request = struct.Struct("!QI")


def write_random(path: Path, size_bytes: int) -> None:
    with path.open("wb") as file:
        for at in range(0, size_bytes, WRITE_BYTES):
            file.write(os.urandom(min(WRITE_BYTES, size_bytes - at)))


def digests_of(path: Path) -> list[bytes]:
    digests: list[bytes] = []
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digests.append(sha256(chunk).digest())
    return digests


def _seal() -> Seal:
    shared = Namespace.open()
    return Seal(shared.number, shared.frame_key)


class _Giver(asyncio.DatagramProtocol):
    """Gives parts of a file, or without one of nothing but zeros."""

    def __init__(self, path: Path | None) -> None:
        self._file = os.open(path, os.O_RDONLY) if path is not None else -1
        self._seal = _seal()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        if self._file < 0:
            self._transport.sendto(data + bytes(_request.unpack(data)[1]), addr)
            return
        request = self._seal.open(data)
        offset, size = _request.unpack(request)
        self._transport.sendto(self._seal.close(request + os.pread(self._file, size, offset)), addr)


class _Taker(asyncio.DatagramProtocol):
    def __init__(self, size_bytes: int, digests: list[bytes], path: Path | None) -> None:
        self.ended = asyncio.get_running_loop().create_future()
        self._missing = iter(_parts(size_bytes))
        self._left_bytes = self._size_bytes = size_bytes
        self._digests = digests
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT) if path is not None else -1
        self._chunks: dict[int, tuple[bytearray, list[int]]] = {}
        self._seal = _seal()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        for _ in range(WINDOW):
            self._ask()

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self._ask()
        if self._file >= 0:
            data = self._seal.open(data)
            self._keep(_request.unpack_from(data)[0], data[_request.size :])
        self._left_bytes -= len(data) - _request.size
        if self._left_bytes == 0:
            self.ended.set_result(None)

    def _keep(self, offset: int, part: bytes) -> None:
        number, at = divmod(offset, CHUNK_BYTES)
        length = min(CHUNK_BYTES, self._size_bytes - number * CHUNK_BYTES)
        chunk, left = self._chunks.setdefault(number, (bytearray(length), [length]))
        chunk[at : at + len(part)] = part
        left[0] -= len(part)
        if left[0] == 0:
            assert sha256(chunk).digest() == self._digests[number], "UDP has changed a chunk"
            os.pwrite(self._file, chunk, number * CHUNK_BYTES)
            del self._chunks[number]

    def _ask(self) -> None:
        wanted = next(self._missing, None)
        if wanted is not None:
            request = _request.pack(*wanted)
            self._transport.sendto(self._seal.close(request) if self._file >= 0 else request)


def _parts(size_bytes: int) -> list[tuple[int, int]]:
    """(offset, bytes) of each part; none reaches from one chunk into the next."""
    parts: list[tuple[int, int]] = []
    for begins in range(0, size_bytes, CHUNK_BYTES):
        ends = min(begins + CHUNK_BYTES, size_bytes)
        parts += [(at, min(LOOPBACK_PART_BYTES, ends - at)) for at in range(begins, ends, LOOPBACK_PART_BYTES)]
    return parts


def give_parts(pipe: Connection) -> None:
    """A process that sends parts over UDP until a message arrives on the pipe. It first receives the number of random
    bytes to send, 0 for bare UDP.
    """

    async def serve(folder: Path) -> None:
        loop = asyncio.get_running_loop()
        path = folder / "file" if (size_bytes := pipe.recv()) else None
        if path is not None:
            write_random(path, size_bytes)
        transport, _ = await loop.create_datagram_endpoint(lambda: _Giver(path), local_addr=("127.0.0.1", 0))
        pipe.send((transport.get_extra_info("sockname"), digests_of(path) if path is not None else []))
        await loop.run_in_executor(None, pipe.recv)
        transport.close()

    with tempfile.TemporaryDirectory() as folder:
        run(serve(Path(folder)))


def take_parts(pipe: Connection, size_bytes: int, *, honest: bool) -> float:
    """How long this number of bytes took over UDP, bare or honest."""

    async def play(folder: Path) -> float:
        pipe.send(size_bytes if honest else 0)
        address, digests = pipe.recv()
        path = folder / "kept" if honest else None
        began_s = time.perf_counter()
        loop = asyncio.get_running_loop()
        transport, taker = await loop.create_datagram_endpoint(
            lambda: _Taker(size_bytes, digests, path), remote_addr=address
        )
        await asyncio.wait_for(taker.ended, PATIENCE_S + size_bytes / 1e6)
        if path is not None:
            await asyncio.to_thread(_copy, path, folder / "copy", digests)
        took_s = time.perf_counter() - began_s
        transport.close()
        pipe.send("enough")
        return took_s

    with tempfile.TemporaryDirectory() as folder:
        return run(play(Path(folder)))


def _copy(path: Path, to: Path, digests: list[bytes]) -> None:
    expected = iter(digests)
    with path.open("rb", buffering=0) as source, to.open("wb") as target:
        while piece := source.read(COPY_BYTES):
            for at in range(0, len(piece), CHUNK_BYTES):
                assert sha256(piece[at : at + CHUNK_BYTES]).digest() == next(expected), "the disk has changed a chunk"
            target.write(piece)
