"""The floor under live nodes: bare UDP between two processes, with nothing above it but the event loop."""

from __future__ import annotations

import asyncio
import time
from multiprocessing.connection import Connection
from typing import Any, cast

from thyme.live.loop import run

PAYLOAD_BYTES = 100
"""As large as a notification."""
PATIENCE_S = 5.0


class _Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self._transport.sendto(data, addr)


class _Ping(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answered = asyncio.Event()

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self.answered.set()


def echo(pipe: Connection) -> None:
    """A process that sends back what it receives, until the other side of the pipe says something."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(_Echo, local_addr=("127.0.0.1", 0))
        pipe.send(transport.get_extra_info("sockname"))
        await loop.run_in_executor(None, pipe.recv)
        transport.close()

    run(serve())


def ping(address: tuple[str, int], number: int) -> list[float]:
    """How long each of some datagrams took to that process and back, in seconds."""

    async def play() -> list[float]:
        transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(_Ping, remote_addr=address)
        took_s = []
        for _ in range(number):
            began_s = time.perf_counter()
            protocol.answered.clear()
            transport.sendto(bytes(PAYLOAD_BYTES))
            await asyncio.wait_for(protocol.answered.wait(), PATIENCE_S)
            took_s.append(time.perf_counter() - began_s)
        transport.close()
        return took_s

    return run(play())
