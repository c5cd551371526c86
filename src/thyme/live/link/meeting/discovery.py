"""Discovery: nodes of one network find each other with no address given.

A node says by multicast, on every interface and over IPv4 and IPv6, that it is there and on which port; whoever hears
it and does not know it greets it (`acquaintance`), which proves who it is. It is said several times at the beginning
and now and then later, on whatever interfaces there are by then. An announcement is sealed like every datagram, so it
is heard within its namespace only, and believed for nothing but where to send a greeting. Nodes of the same machine
hear each other over its loopback interface.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated

import msgspec

from thyme.live.link.addresses import Address, plain_address
from thyme.model.settings.bounds import AtLeastOne, Positive

logger = logging.getLogger("thyme.live")

GROUP_4 = "239.255.84.72"
"""Of those that stay within a site."""
GROUP_6 = "ff02::5448"
"""Of those that stay on a link."""
READ_AT_ONCE = 64
MAX_ANNOUNCEMENT_BYTES = 512
FIRST_S = (0.0, 0.2, 0.5, 1.0, 1.5, 2.0)
"""When a node that comes says so: the first may be lost, and two nodes are to see each other within two seconds."""


class DiscoveryOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8_473
    """Of the groups, the same on all nodes; 0: no discovery."""
    again_s: Positive = 3.0
    most_interfaces: AtLeastOne = 32


class Interface(msgspec.Struct, frozen=True):
    """Where announcements go: by index, or for a link that is bound to one IPv4 address, by that address."""

    family: int
    index: int = 0
    address: str = ""


class Discovery:
    """One link's part in it."""

    def __init__(
        self,
        options: DiscoveryOptions,
        announcements: Callable[[], Sequence[bytes]],
        heard: Callable[[bytes, Address], None],
    ) -> None:
        """`heard` is told of each announcement and of the address that it came from, whose port means nothing."""
        self._options = options
        self._announcements = announcements
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._listening: dict[int, socket.socket] = {}
        self._joined: set[Interface] = set()
        self._bound: Address = ("", 0)
        self._family = socket.AF_INET
        self._timers: list[asyncio.TimerHandle] = []
        self._sending: dict[int, socket.socket] = {}

    def begin(self, bound: Address, family: int) -> None:
        """The link listens at this address from now on."""
        if not self._options.port:
            return
        self._bound, self._family = bound, socket.AddressFamily(family)
        for one in self._families():
            self._open(one)
        if self._listening:
            self._timers = [self._loop.call_later(wait_s, self._announce) for wait_s in FIRST_S]
            self._timers.append(self._loop.call_later(FIRST_S[-1] + self._options.again_s, self._go_on))

    def end(self) -> None:
        for timer in self._timers:
            timer.cancel()
        for listening in self._listening.values():
            self._loop.remove_reader(listening.fileno())
        for one in (*self._listening.values(), *self._sending.values()):
            one.close()
        self._listening, self._sending = {}, {}

    def interfaces(self) -> list[Interface]:
        """Where this node can be found, as of now."""
        host = self._bound[0]
        found: list[Interface] = []
        for family in self._families():
            if family == socket.AF_INET and host not in ("0.0.0.0", "::"):
                found.append(Interface(family, address=host))
                continue
            with suppress(OSError):
                found += [Interface(family, index) for index, _ in socket.if_nameindex()]
        return found[: self._options.most_interfaces]

    def _families(self) -> list[int]:
        """A link that is bound to everything of IPv6 also has IPv4."""
        if self._family == socket.AF_INET:
            return [socket.AF_INET]
        return [socket.AF_INET, socket.AF_INET6] if self._bound[0] == "::" else [socket.AF_INET6]

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
            listening.bind(("", self._options.port))
        except OSError as error:
            listening.close()
            sending.close()
            logger.debug("no discovery over family %d: %s", family, error)
            return
        self._listening[family], self._sending[family] = listening, sending
        self._loop.add_reader(listening.fileno(), self._read, listening)

    def _go_on(self) -> None:
        self._announce()
        self._timers = [self._loop.call_later(self._options.again_s, self._go_on)]

    def _announce(self) -> None:
        """On every interface that there is now; one that cannot be used is tried again the next time."""
        there = self.interfaces()
        self._joined &= set(there)
        for interface in there:
            if interface.family not in self._listening:
                continue
            try:
                if interface not in self._joined:
                    _join(self._listening[interface.family], interface)
                    self._joined.add(interface)
                _choose(self._sending[interface.family], interface)
                group = GROUP_6 if interface.family == socket.AF_INET6 else GROUP_4
                for announcement in self._announcements():
                    self._sending[interface.family].sendto(announcement, (group, self._options.port))
            except OSError as error:
                logger.debug("no discovery on %s: %s", interface, error)

    def _read(self, listening: socket.socket) -> None:
        with suppress(BlockingIOError):
            for _ in range(READ_AT_ONCE):
                data, sender = listening.recvfrom(MAX_ANNOUNCEMENT_BYTES)
                self._heard(data, plain_address(sender))


def _join(listening: socket.socket, interface: Interface) -> None:
    """Whoever joined before the interface went and came back is told so by an error."""
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


def _choose(sending: socket.socket, interface: Interface) -> None:
    if interface.family == socket.AF_INET6:
        sending.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, interface.index)
    else:
        sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(4) + _ipv4(interface))


def _ipv4(interface: Interface) -> bytes:
    """The end of an ip_mreqn: an address of the interface or none, and its index or none."""
    address = socket.inet_aton(interface.address) if interface.address else bytes(4)
    return address + struct.pack("@i", interface.index)
