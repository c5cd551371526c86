"""Zenoh, which is what a notification costs without a store, and UDP with nothing above it but a codec and a window."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import msgspec

from benchmarks.live.contest.contender import Contender, OnPayload, Publisher, Server
from benchmarks.live.contest.servers import free_port

KEY = "thyme/goal"
WINDOW = 64
"""Datagrams under way; each is acknowledged, and none is ever repeated: on loopback none is lost."""


class Zenoh(Contender):
    name = "Zenoh"

    def missing(self) -> str:
        return "" if find_spec("zenoh") else "the Python package eclipse-zenoh"

    @asynccontextmanager
    async def publishing(self, server: Server, folder: Path | None) -> AsyncIterator[Publisher]:
        import zenoh

        address = f"tcp/127.0.0.1:{free_port()}"
        session: Any = zenoh.open(_settings("listen", address))
        speaker = session.declare_publisher(
            KEY, congestion_control=zenoh.CongestionControl.BLOCK, reliability=zenoh.Reliability.RELIABLE
        )

        async def publish(payloads: Sequence[bytes]) -> None:
            for payload in payloads:
                speaker.put(payload)

        yield Publisher(publish, address)
        session.close()

    @asynccontextmanager
    async def listening(self, address: str, told: OnPayload) -> AsyncIterator[None]:
        import zenoh

        session: Any = zenoh.open(_settings("connect", address))
        session.declare_subscriber(KEY, lambda sample: told(sample.payload.to_bytes()))
        await asyncio.sleep(0.5)  # a subscription has reached the other end by then
        yield
        session.close()


def _settings(side: str, address: str) -> Any:
    import zenoh

    settings = zenoh.Config()
    settings.insert_json5("mode", '"peer"')
    settings.insert_json5("scouting/multicast/enabled", "false")
    settings.insert_json5("listen/endpoints", "[]")
    settings.insert_json5(f"{side}/endpoints", msgspec.json.encode([address]).decode())
    return settings


class _Datagram(msgspec.Struct, array_like=True, gc=False):
    number: int
    payload: bytes = b""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Datagram).decode


class BareUdp(Contender):
    name = "UDP + msgspec"

    @asynccontextmanager
    async def publishing(self, server: Server, folder: Path | None) -> AsyncIterator[Publisher]:
        loop = asyncio.get_running_loop()
        transport, speaker = await loop.create_datagram_endpoint(_Speaker, local_addr=("127.0.0.1", 0))
        port = transport.get_extra_info("sockname")[1]
        yield Publisher(speaker.publish, f"127.0.0.1:{port}")
        transport.close()

    @asynccontextmanager
    async def listening(self, address: str, told: OnPayload) -> AsyncIterator[None]:
        host, _, port = address.rpartition(":")
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Listener(told), remote_addr=(host, int(port)))
        transport.sendto(_encode(_Datagram(-1)))
        yield
        transport.close()


class _Speaker(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self._next = self._acknowledged = 0
        self._to: Any = None
        self._room = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        if _decode(data).number < 0:
            self._to = addr
        else:
            self._acknowledged += 1
        self._room.set()

    async def publish(self, payloads: Sequence[bytes]) -> None:
        for payload in payloads:
            while self._to is None or self._next - self._acknowledged >= WINDOW:
                self._room.clear()
                await self._room.wait()
            self._next += 1
            self._transport.sendto(_encode(_Datagram(self._next, payload)), self._to)


class _Listener(asyncio.DatagramProtocol):
    def __init__(self, told: OnPayload) -> None:
        self._told = told

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        datagram = _decode(data)
        self._told(datagram.payload)
        self._transport.sendto(_encode(_Datagram(datagram.number)))
