"""The network as a link uses it: one socket for datagrams, one for a multicast group and some for announcements.

A `Network` opens a `DatagramEndpoint`, which hands datagrams to a `DatagramReceiver`. `UdpNetwork` is the one of this
machine; a simulation brings another. Broadcasts to the group (IPv4) leave from the own socket of the link, so that a
receiver knows their sender by its address. Announcements leave over IPv4 and IPv6. A link that listens to all addresses
sends both on every interface that there is at that time; nodes of one machine receive each other's announcements over
its loopback interface.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from math import inf
from os import urandom
from typing import Any, Protocol, cast

import msgspec

from thyme.live.link.addresses import ANY_6, GROUP_4, GROUP_6, MAPPED, Address, address_text, family_of, parse_address
from thyme.live.link.frames import MAX_DATAGRAM_BYTES
from thyme.live.link.paths import is_loopback
from thyme.model.errors import InputError

logger = logging.getLogger("thyme.live")

READ_AT_ONCE = 64
MAX_ANNOUNCEMENT_BYTES = 512
MAX_INTERFACES = 32
INTERFACES_S = 2.0
"""How often the group looks for interfaces that appeared."""
ANYWHERE = ("0.0.0.0", ANY_6)


class DatagramReceiver(Protocol):
    def receive(self, data: bytes, source: Address, *, grouped: bool = False) -> None:
        """A datagram came, to this node or to the group."""

    def receive_announcement(self, data: bytes, source: Address) -> None:
        """An announcement came; the port of its source means nothing."""

    def deliver(self) -> None:
        """The first datagram of a turn was received: most often there are no others."""

    def end_turn(self) -> None:
        """All datagrams of a turn were received."""

    def refused(self) -> None:
        """The network refused to send a datagram."""


DATAGRAMS_PER_TURN = 64
"""Read in one turn of the event loop; then timers and other sockets have theirs."""
SEND_BUFFER_BYTES = 1_000_000
"""Bytes that wait for the socket; above, datagrams are dropped until it drains."""
RECEIVE_BUFFER_BYTES = 4_000_000
"""Requested of the operating system, which may give less."""


class EndpointOptions(msgspec.Struct, frozen=True):
    group_port: int
    """0: no multicast group."""
    group_on_loopback: bool
    discovery_port: int
    """0: no announcements."""


class DatagramEndpoint(Protocol):
    address: Address
    has_group: bool
    """Whether datagrams to the group are received."""
    full: bool
    """Whether datagrams must be dropped until earlier ones were sent."""

    def send(self, datagram: bytes, address: Address) -> None: ...

    def announce(self, datagram: bytes) -> None:
        """On every interface."""

    async def close(self) -> None: ...


class Network(Protocol):
    def entropy(self, size_bytes: int) -> bytes:
        """Random bytes for keys and nonces."""

    async def open(self, address: Address, receiver: DatagramReceiver, options: EndpointOptions) -> DatagramEndpoint:
        """InputError if this node cannot listen there."""


class UdpNetwork:
    """The network of this machine."""

    def entropy(self, size_bytes: int) -> bytes:
        return urandom(size_bytes)

    async def open(self, address: Address, receiver: DatagramReceiver, options: EndpointOptions) -> DatagramEndpoint:
        bound = _bound_socket(address)
        endpoint = UdpEndpoint(bound, address, receiver, options)
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: endpoint, sock=bound)
        return endpoint


class UdpEndpoint(asyncio.DatagramProtocol):
    def __init__(
        self, bound: socket.socket, address: Address, receiver: DatagramReceiver, options: EndpointOptions
    ) -> None:
        self._socket = bound
        self._receiver = receiver
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.DatagramTransport | None = None
        self._mapping = bound.family == socket.AF_INET6 and address[0] == ANY_6
        """Whether IPv4 addresses have to be written as those of IPv6."""
        self._closed = self._loop.create_future()
        self.full = False
        name = bound.getsockname()
        self.address: Address = (str(name[0]), int(name[1]))
        self._group = _group_of(bound, address, options, receiver)
        self.has_group = self._group is not None
        self._announcements = _Announcements(address, bound.family, options.discovery_port, receiver)

    def send(self, datagram: bytes, address: Address) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._group is not None and address[0] == GROUP_4:
            self._group.send(datagram)
            return
        if self._mapping and ":" not in address[0]:
            address = (MAPPED + address[0], address[1])
        self._transport.sendto(datagram, address)

    def announce(self, datagram: bytes) -> None:
        self._announcements.send(datagram)

    async def close(self) -> None:
        self._announcements.close()
        if self._group is not None:
            self._group.close()
            self._group = None
        if self._transport is not None:
            self._transport.close()
            await self._closed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._transport.set_write_buffer_limits(SEND_BUFFER_BYTES)  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False

    def error_received(self, exc: Exception) -> None:
        self._receiver.refused()

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """The loop reads one datagram in a turn; all others that are there are read with it, or a busy socket's buffer
        overflows. The first is delivered before others are looked for, as most often there are none."""
        self._receive(data, addr)
        self._receiver.deliver()
        for _ in range(DATAGRAMS_PER_TURN - 1):
            try:
                data, addr = self._socket.recvfrom(MAX_DATAGRAM_BYTES + 1)
            except OSError:  # there is no more, or handling the first has closed the socket
                break
            self._receive(data, addr)
        self._receiver.end_turn()

    def _receive(self, data: bytes, addr: tuple[Any, ...]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._receiver.receive(data, plain_address(addr))


class _Interface(msgspec.Struct, frozen=True):
    """Where multicast goes: by index, or for a link that is bound to one IPv4 address, by that address."""

    family: int
    index: int = 0
    address: str = ""


def _interfaces(bound: Address, families: Iterable[int], *, loopback: bool = True) -> list[_Interface]:
    """Those of a link, at this moment."""
    host = bound[0]
    found: list[_Interface] = []
    for family in families:
        if family == socket.AF_INET and host not in ANYWHERE:
            found.append(_Interface(family, address=host))
            continue
        with suppress(OSError):
            named = socket.if_nameindex()
            found += [_Interface(family, index) for index, name in named if loopback or not name.startswith("lo")]
    return found[:MAX_INTERFACES]


def _group_of(
    own: socket.socket, bound: Address, options: EndpointOptions, receiver: DatagramReceiver
) -> _Group | None:
    """The group of a link that has IPv4 addresses; none on this machine's own, unless that is wanted."""
    four = own.family == socket.AF_INET or bound[0] == ANY_6
    if not options.group_port or not four or (is_loopback(bound) and not options.group_on_loopback):
        return None
    try:
        return _Group(own, bound, options, receiver)
    except OSError:  # there is no multicast here
        return None


class _Group:
    """The multicast group for broadcasts (IPv4). They leave from the link's own socket, on each of its interfaces."""

    def __init__(
        self, own: socket.socket, bound: Address, options: EndpointOptions, receiver: DatagramReceiver
    ) -> None:
        self._own, self._bound = own, bound
        self._loopback = options.group_on_loopback
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._to: Address = (MAPPED + GROUP_4 if bound[0] == ANY_6 else GROUP_4, options.group_port)
        self._joined: set[_Interface] = set()
        self._looked_s = -inf
        own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        self._listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._listening.setblocking(False)
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listening.bind(("", options.group_port))
        except OSError:
            self._listening.close()
            raise
        self._join_new()
        self._loop.add_reader(self._listening.fileno(), self._read)

    def close(self) -> None:
        self._loop.remove_reader(self._listening.fileno())
        self._listening.close()

    def send(self, datagram: bytes) -> None:
        """A full buffer, or an interface that cannot be used now, is a loss like any other."""
        self._join_new()
        for interface in self._joined:
            with suppress(OSError):
                _choose(self._own, interface)
                self._own.sendto(datagram, self._to)

    def _join_new(self) -> None:
        """On interfaces that appeared."""
        now_s = self._loop.time()
        if now_s - self._looked_s < INTERFACES_S:
            return
        self._looked_s = now_s
        interfaces = _interfaces(self._bound, [socket.AF_INET], loopback=self._loopback)
        self._joined &= set(interfaces)
        for interface in interfaces:
            if interface not in self._joined:
                with suppress(OSError):  # it has no IPv4 address, say
                    _join(self._listening, interface)
                    self._joined.add(interface)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            for _ in range(READ_AT_ONCE):
                if self._listening.fileno() < 0:
                    return
                data, sender = self._listening.recvfrom(MAX_DATAGRAM_BYTES + 1)
                self._receiver.receive(data, (str(sender[0]), int(sender[1])), grouped=True)
                self._receiver.end_turn()


class _Announcements:
    """Sockets for announcements, on whatever interfaces there are."""

    def __init__(self, bound: Address, family: int, port: int, receiver: DatagramReceiver) -> None:
        self._bound = bound
        self._port = port
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._listening: dict[int, socket.socket] = {}
        self._sending: dict[int, socket.socket] = {}
        self._joined: set[_Interface] = set()
        self._families: list[int] = [family]
        if family == socket.AF_INET6 and bound[0] == ANY_6:
            self._families = [socket.AF_INET, socket.AF_INET6]
        for one in self._families if port else ():
            self._open(one)

    def close(self) -> None:
        for listening in self._listening.values():
            self._loop.remove_reader(listening.fileno())
        for one in (*self._listening.values(), *self._sending.values()):
            one.close()
        self._listening, self._sending = {}, {}

    def send(self, datagram: bytes) -> None:
        """An interface that cannot be used is tried again the next time."""
        interfaces = _interfaces(self._bound, self._families) if self._sending else []
        self._joined &= set(interfaces)
        for interface in interfaces:
            if interface.family not in self._listening:
                continue
            try:
                if interface not in self._joined:
                    _join(self._listening[interface.family], interface)
                    self._joined.add(interface)
                _choose(self._sending[interface.family], interface)
                group = GROUP_6 if interface.family == socket.AF_INET6 else GROUP_4
                self._sending[interface.family].sendto(datagram, (group, self._port))
            except OSError as error:
                logger.debug("no announcement on %s: %s", interface, error)

    def _open(self, family: int) -> None:
        try:
            listening = socket.socket(family, socket.SOCK_DGRAM)
            sending = socket.socket(family, socket.SOCK_DGRAM)
        except OSError:  # there is no such family here
            return
        try:
            for one in (listening, sending):
                one.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                sending.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
            else:
                sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            listening.bind(("", self._port))
        except OSError as error:
            listening.close()
            sending.close()
            logger.debug("no announcements over family %d: %s", family, error)
            return
        self._listening[family], self._sending[family] = listening, sending
        self._loop.add_reader(listening.fileno(), self._read, listening)

    def _read(self, listening: socket.socket) -> None:
        with suppress(BlockingIOError):
            for _ in range(READ_AT_ONCE):
                data, sender = listening.recvfrom(MAX_ANNOUNCEMENT_BYTES)
                self._receiver.receive_announcement(data, plain_address(sender))


def _join(listening: socket.socket, interface: _Interface) -> None:
    """An error says that this socket joined before the interface went and came back."""
    if interface.family == socket.AF_INET6:
        level, option = socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP
        membership = socket.inet_pton(socket.AF_INET6, GROUP_6) + struct.pack("@I", interface.index)
    else:
        level, option = socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP
        membership = socket.inet_aton(GROUP_4) + _ipv4(interface)
    try:
        listening.setsockopt(level, option, membership)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise


def _choose(sending: socket.socket, interface: _Interface) -> None:
    if interface.family == socket.AF_INET6:
        sending.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, interface.index)
    else:
        sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(4) + _ipv4(interface))


def _ipv4(interface: _Interface) -> bytes:
    """The end of an ip_mreqn: an address of the interface or none, and its index or none."""
    address = socket.inet_aton(interface.address) if interface.address else bytes(4)
    return address + struct.pack("@i", interface.index)


def _bound_socket(address: Address) -> socket.socket:
    try:
        bound = socket.socket(family_of(address), socket.SOCK_DGRAM)
    except OSError as error:
        raise InputError(f"cannot listen on {address_text(address)}: {error.strerror or error}") from error
    bound.setblocking(False)
    if address[0] == ANY_6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"cannot listen on {address_text(address)}: the port is in use; choose another or stop its program"
            ) from error
        raise InputError(f"cannot listen on {address_text(address)}: {error.strerror or error}") from error
    return bound


def plain_address(given: tuple[Any, ...]) -> Address:
    """An address as a socket gives it: IPv4 without what IPv6 adds, and a link-local one with its interface."""
    if len(given) == 2:
        return given
    host, port = str(given[0]), int(given[1])
    if host.startswith(MAPPED) and "." in host:
        return host.removeprefix(MAPPED), port
    if given[3] and "%" not in host:
        host = f"{host}%{socket.if_indextoname(given[3])}"
    return host, port


async def resolve(text: str, what: str, family: int, *, any_port: bool = False) -> Address:
    """The numeric address that datagrams will carry."""
    host, port = parse_address(text, what, any_port=any_port)
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{what} {text!r}: cannot find the address of {host!r}: {error}") from error
    return str(found[0][4][0]), int(found[0][4][1])


def has_ipv6() -> bool:
    """Whether an IPv6 socket can be opened here."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind((ANY_6, 0))
    except OSError:
        return False
    return True
