"""A port: the socket of a link in the event loop, how much is read from it at a turn, and when it takes no more."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any, cast

import msgspec

from thyme.live.link.addresses import ANY_6, MAPPED, Address, address_text, family_of, plain_address
from thyme.live.link.carrying.reception import Count
from thyme.live.link.frames import MAX_DATAGRAM_BYTES
from thyme.model.errors import InputError
from thyme.model.records import TrafficKind

Take = Callable[[bytes, Address], None]


class Buffers(msgspec.Struct, frozen=True):
    send_bytes: int
    """Above so many that wait for the socket, datagrams are dropped until it drains."""
    receive_bytes: int
    datagrams_per_turn: int


class Port(asyncio.DatagramProtocol):
    """Datagrams go out by `send`, and come in by `take`."""

    def __init__(
        self, take: Take, work: Callable[[], None], end_turn: Callable[[], None], count: Count, buffers: Buffers
    ) -> None:
        """`work` is called after the first datagram of a turn, and `end_turn` after the last."""
        self._take = take
        self._work = work
        self._end_turn = end_turn
        self._count = count
        self._buffers = buffers
        self._transport: asyncio.DatagramTransport | None = None
        self._full = False
        self._mapping = False
        """Whether addresses of IPv4 have to be written as those of IPv6."""
        self._closed = asyncio.get_running_loop().create_future()

    @property
    def address(self) -> Address:
        assert self._transport is not None, "the link is not open"
        name = self._transport.get_extra_info("sockname")
        return str(name[0]), int(name[1])

    async def open(self, address: Address) -> socket.socket:
        self._socket = bound_socket(address, self._buffers.receive_bytes)
        self._mapping = self._socket.family == socket.AF_INET6 and address[0] == ANY_6
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=self._socket)
        return self._socket

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            await self._closed

    def send(self, datagram: bytes, address: Address, name: str) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._full:
            self._count(TrafficKind.DROPPED, "datagram", len(datagram), "socket buffer full")
            return
        self._count(TrafficKind.PHY_SENT, name, len(datagram), "")
        if self._mapping and ":" not in address[0]:
            address = (MAPPED + address[0], address[1])
        self._transport.sendto(datagram, address)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._transport.set_write_buffer_limits(self._buffers.send_bytes)  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False

    def error_received(self, exc: Exception) -> None:
        self._count(TrafficKind.DROPPED, "datagram", 0, "the socket refused it")

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """The loop reads one datagram at a turn; whatever else is there is read with it, or a busy socket overflows.
        The first is worked on before others are looked for, as most often there are none."""
        self.hear(data, addr)
        self._work()
        for _ in range(self._buffers.datagrams_per_turn - 1):
            try:
                data, addr = self._socket.recvfrom(MAX_DATAGRAM_BYTES + 1)
            except OSError:  # there is no more, or the socket was closed by what was read
                break
            self.hear(data, addr)
        self._end_turn()

    def hear(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """A datagram has come, while there is somebody to take it."""
        if self._transport is not None and not self._transport.is_closing():
            self._take(data, plain_address(addr))


def bound_socket(address: Address, receive_buffer_bytes: int) -> socket.socket:
    """A UDP socket that is bound to an address; InputError if it cannot be."""
    try:
        bound = socket.socket(family_of(address), socket.SOCK_DGRAM)
    except OSError as error:
        raise InputError(f"cannot listen on {address_text(address)}: {error.strerror or error}") from error
    bound.setblocking(False)
    if address[0] == ANY_6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"cannot listen on {address_text(address)}: the port is in use; choose another or stop who has it"
            ) from error
        raise InputError(f"cannot listen on {address_text(address)}: {error.strerror or error}") from error
    return bound
