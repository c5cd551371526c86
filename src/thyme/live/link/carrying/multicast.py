"""Multicast: one datagram for all peers that hear it, in place of one for each.

A node asks now and then, by multicast, who hears it; whoever does says so by unicast and is believed for a while. While
enough peers are believed to hear, a broadcast is sent to the group once, and to each of the others by itself. So where
a network does not carry multicast, or only to some, nothing is lost but the questions. Datagrams leave from the link's
own socket, so that a receiver knows their sender by its address.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Annotated

import msgspec

from thyme.live.link.addresses import Address
from thyme.live.link.carrying.paths import is_loopback
from thyme.live.link.frames import MAX_DATAGRAM_BYTES
from thyme.model.bounded import Bounded
from thyme.model.settings.bounds import AtLeastOne, Positive

GROUP = "239.255.84.72"
"""Of those that stay within a site."""
MAX_BELIEVED = 1_000
READ_AT_ONCE = 64


class MulticastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8_472
    """Of the group, the same on all nodes; 0: no multicast."""
    least_peers: AtLeastOne = 4
    """With fewer that hear it, a datagram for each is surer: radios repeat those, and multicast not."""
    ask_s: Positive = 2.0
    believed_s: Positive = 7.0
    """How long an answer counts: three questions may be lost."""
    loopback: bool = False
    """Also within one machine, where it is of no use but to try it."""


class Multicast:
    """One node's part in the group."""

    def __init__(
        self, options: MulticastOptions, ask: Callable[[], None], hear: Callable[[bytes, Address], None]
    ) -> None:
        """`ask` asks who hears this node; `hear` is told of datagrams to the group."""
        self._options = options
        self._ask = ask
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._believed: Bounded[Address, float] = Bounded(MAX_BELIEVED, renewing=True)
        self.group: Address = (GROUP, options.port)

    @property
    def open(self) -> bool:
        return self._socket is not None

    def join(self, own: socket.socket, address: Address) -> None:
        """Listen to the group on the network of this address; `own` is the socket to send from."""
        wanted = self._options.port and own.family == socket.AF_INET
        if not wanted or (is_loopback(address) and not self._options.loopback):
            return
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            network = socket.inet_aton(address[0])
            listening.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("", self._options.port))
            membership = struct.pack("4s4s", socket.inet_aton(GROUP), network)
            listening.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, network)
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        except OSError:  # there is no multicast here
            listening.close()
            return
        self._socket = listening
        self._loop.add_reader(listening.fileno(), self._read)
        self._timer = self._loop.call_later(self._options.ask_s, self._ask_again)

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._socket is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def believe(self, address: Address) -> None:
        """Whoever is there hears this node by multicast."""
        self._believed[address] = self._loop.time() + self._options.believed_s

    def reached(self, addresses: Iterable[Address]) -> set[Address]:
        """Which of these one datagram to the group reaches; none if they are too few."""
        if self._socket is None:
            return set()
        now_s = self._loop.time()
        hearing = {address for address in addresses if self._believed.get(address, 0.0) > now_s}
        return hearing if len(hearing) >= self._options.least_peers else set()

    def _ask_again(self) -> None:
        self._ask()
        self._timer = self._loop.call_later(self._options.ask_s, self._ask_again)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            for _ in range(READ_AT_ONCE):
                if self._socket is None:
                    return
                data, sender = self._socket.recvfrom(MAX_DATAGRAM_BYTES + 1)
                self._hear(data, (str(sender[0]), int(sender[1])))
