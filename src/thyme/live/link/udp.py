"""The UDP link: one hop between live nodes, with the promises that a radio makes in the simulator.

A broadcast is one datagram to every peer, unacknowledged. A unicast is repeated with growing patience until its
acknowledgement comes, and given up after a few tries; the receiver hands a repeated frame up only once. Nodes learn
who is behind an address by greeting it until it answers. Whatever arrives that cannot be read is counted and dropped.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, cast

import msgspec

from thyme.live.link.addresses import Address, address_text, family_of
from thyme.live.link.frames import EVERYBODY, Frame, FrameError, Kind, pack, unpack
from thyme.live.link.peers import Peers
from thyme.live.link.unicasts import Failed, UnicastOptions, Unicasts
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.wire.codec import DecodeError, decode, encode
from thyme.wire.message import Message

logger = logging.getLogger("thyme.live")

Hear = Callable[[NodeId, Message, int], None]
Count = Callable[[TrafficKind, str, int, str], None]
"""(kind of traffic, name, bytes, reason): one more of these happened"""


class LinkOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    unicasts: UnicastOptions = UnicastOptions()
    send_buffer_bytes: int = 1_000_000
    """Bytes that wait for the socket; above, frames are dropped until it drains."""
    peers: int = 256
    hello_wait_s: float = 0.25
    """Between two greetings of an address that has not answered; doubled each time."""
    hello_longest_wait_s: float = 10.0


class UdpLink(asyncio.DatagramProtocol):
    """One node's end of the link."""

    def __init__(
        self,
        node: NodeId,
        random: Random,
        hear: Hear,
        count: Count,
        options: LinkOptions | None = None,
        *,
        only_listed: bool = False,
    ) -> None:
        self._node = node
        self._hear = hear
        self._count = count
        self._options = options or LinkOptions()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.DatagramTransport | None = None
        self._full = False
        self._closed = self._loop.create_future()
        # Numbers must not repeat after a restart, or a new frame would be taken for one that was heard before.
        self._numbers = random.getrandbits(40) << 20
        self._unicasts = Unicasts(self._options.unicasts, self._transmit, self._given_up)
        self._greeting: asyncio.TimerHandle | None = None
        self._warned_of_twin = False
        self._warned_of_overflow = False
        self.peers = Peers(self._options.peers, only_listed=only_listed)
        self.acquainted = asyncio.Event()
        """Set when every listed peer has been heard."""

    @property
    def address(self) -> Address:
        assert self._transport is not None, "the link is not open"
        name = self._transport.get_extra_info("sockname")
        return str(name[0]), int(name[1])

    @property
    def unacknowledged(self) -> int:
        return len(self._unicasts)

    async def open(self, address: Address) -> None:
        try:
            await self._loop.create_datagram_endpoint(lambda: self, local_addr=address, family=family_of(address))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(
                    f"cannot listen on {address_text(address)}: the port is in use; choose another or stop who has it"
                ) from error
            raise InputError(f"cannot listen on {address_text(address)}: {error.strerror or error}") from error

    def greet(self, addresses: Iterable[Address]) -> None:
        """Make these addresses peers, and greet them until they answer."""
        listed = list(addresses)
        if self.address in listed:
            raise InputError(f"peer {address_text(self.address)} is this node's own address; name the others'")
        if len(listed) > self._options.peers:
            raise InputError(f"{len(listed)} peers are listed; a node has at most {self._options.peers}")
        self.peers.list_addresses(listed)
        self._greet(self._options.hello_wait_s)

    async def close(self) -> None:
        """Forget what is under way and close the socket."""
        if self._greeting:
            self._greeting.cancel()
        self._unicasts.cancel()
        if self._transport is not None:
            self._transport.close()
            await self._closed

    def broadcast(self, message: Message) -> int:
        """Send to every peer; the size of the encoded message."""
        body = encode(message)
        datagram = self._frame(Kind.BROADCAST, EVERYBODY, self._next_number(), body)
        for address in self.peers.addresses():
            self._send(datagram, address, "broadcast")
        return len(body)

    def unicast(self, to: NodeId, message: Message, failed: Failed) -> int:
        body = encode(message)
        name = type(message).__name__
        if self.peers.address_of(to) is None:
            self._refuse(name, len(body), "unknown neighbour", failed)
            return len(body)
        number = self._next_number()
        if not self._unicasts.begin(number, to, self._frame(Kind.UNICAST, to, number, body), failed):
            self._tell_of_overflow(name, len(body))
        return len(body)

    async def room(self) -> None:
        """Wait until the link keeps up with what it is given."""
        await self._unicasts.room()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._transport.set_write_buffer_limits(self._options.send_buffer_bytes)  # type: ignore[attr-defined]

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
        if self._transport is None or self._transport.is_closing():
            return
        address: Address = (str(addr[0]), int(addr[1]))
        if not self.peers.admits(address):
            self._count(TrafficKind.DROPPED, "datagram", len(data), "not from a peer")
            return
        try:
            frame = unpack(data)
            message = decode(frame.body) if frame.body else None
        except (FrameError, DecodeError) as error:
            reason = str(error) if isinstance(error, FrameError) else "unreadable message"
            self._count(TrafficKind.DROPPED, "datagram", len(data), reason)
            return
        if frame.sender == self._node:
            self._warn_of_twin(address)
            self._count(TrafficKind.DROPPED, "datagram", len(data), "another node with this node's id")
            return
        self._on_frame(frame, message, address)

    def _on_frame(self, frame: Frame, message: Message | None, address: Address) -> None:
        self.peers.learn(address, frame.sender)
        if not self.peers.unacquainted():
            self.acquainted.set()
        match frame.kind:
            case Kind.HELLO:
                self._send(self._frame(Kind.WELCOME, frame.sender, frame.number), address, "hello")
            case Kind.ACK:
                self._unicasts.acknowledge(frame.number, frame.sender)
            case Kind.BROADCAST if message is not None:
                self._hear(frame.sender, message, len(frame.body))
            case Kind.UNICAST if message is not None:
                self._on_unicast(frame, message, address)
            case _:
                pass

    def _on_unicast(self, frame: Frame, message: Message, address: Address) -> None:
        if frame.to != self._node:
            self._count(TrafficKind.DROPPED, "datagram", len(frame.body), "for another node")
            return
        self._send(self._frame(Kind.ACK, frame.sender, frame.number), address, "ack")
        if self._unicasts.first_heard(frame.number, frame.sender):
            self._hear(frame.sender, message, len(frame.body))
        else:
            self._count(TrafficKind.DROPPED, type(message).__name__, len(frame.body), "repeated")

    def _transmit(self, to: NodeId, datagram: bytes, again: bool) -> None:
        if again:
            self._count(TrafficKind.RETRANSMITTED, "unicast", 0, "")
        address = self.peers.address_of(to)
        if address is not None:
            self._send(datagram, address, "unicast")

    def _given_up(self) -> None:
        self._count(TrafficKind.GIVEN_UP, "unicast", 0, "retry limit")

    def _refuse(self, name: str, size_bytes: int, reason: str, failed: Failed) -> None:
        self._count(TrafficKind.DROPPED, name, size_bytes, reason)
        if failed:
            self._loop.call_soon(failed)

    def _tell_of_overflow(self, name: str, size_bytes: int) -> None:
        self._count(TrafficKind.DROPPED, name, size_bytes, "link queue full")
        if not self._warned_of_overflow:
            self._warned_of_overflow = True
            logger.warning(
                "node %d: more waits to be sent than the link holds (%d messages); what comes now is dropped",
                self._node,
                self._options.unicasts.waiting,
            )

    def _greet(self, wait_s: float) -> None:
        if self._greeting:
            self._greeting.cancel()
        unacquainted = self.peers.unacquainted()
        if not unacquainted:
            self.acquainted.set()
            return
        self.acquainted.clear()
        for address in unacquainted:
            self._send(self._frame(Kind.HELLO, EVERYBODY, self._next_number()), address, "hello")
        longer_s = min(wait_s * 2.0, self._options.hello_longest_wait_s)
        self._greeting = self._loop.call_later(wait_s, self._greet, longer_s)

    def _send(self, datagram: bytes, address: Address, name: str) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._full:
            self._count(TrafficKind.DROPPED, "datagram", len(datagram), "socket buffer full")
            return
        self._count(TrafficKind.PHY_SENT, name, len(datagram), "")
        self._transport.sendto(datagram, address)

    def _frame(self, kind: Kind, to: NodeId, number: int, body: bytes = b"") -> bytes:
        return pack(Frame(kind, self._node, to, number, body))

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _warn_of_twin(self, address: Address) -> None:
        if not self._warned_of_twin:
            self._warned_of_twin = True
            logger.warning(
                "%s also calls itself node %d: give each node an id of its own", address_text(address), self._node
            )
