"""Discovery: how a link discovers nodes whose addresses were not configured.

It announces itself by multicast on every interface, several times after the start and later at a random time of every
interval, unless enough of its peers did so in that interval (Trickle, RFC 6206, with a constant interval): a crowd
sends about as many announcements however large it is. It greets nodes whose announcements it receives. Peers exchange
the addresses of other peers (PEERS), so one known address is enough. An announced or exchanged address is only used to
send a greeting to it; nothing else is believed. Addresses that are valid only on the sender's machine or link are not
passed on elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from random import Random
from struct import Struct
from typing import Annotated

import msgspec

from thyme.live.link.addresses import Address, address_text, parse_address
from thyme.live.link.directory import Directory
from thyme.live.link.frames import EVERYBODY, HEADER_BYTES, Frame, Kind, unpack
from thyme.live.link.greetings import GREETING_BYTES
from thyme.live.link.peers import Peer, Peers
from thyme.live.link.reception import Count
from thyme.live.link.sealing import FrameError, Seals
from thyme.live.link.timers import LinkTimer, Timers
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind

_HERE = Struct("!HQ")
"""Port and session."""
FIRST_S = (0.0, 0.2, 0.5, 1.0, 1.5, 2.0)
"""When a new node announces itself: the first may be lost, and two nodes should meet within two seconds."""
AGAIN_S = 3.0
"""The interval after the first ones: one announcement in each, …"""
ENOUGH = 4
"""… unless so many peers have announced themselves in it. Those of strangers do not count, so two
crowds that meet hear each other."""
MAX_TOLD = 16
"""Addresses in one frame."""
MAX_BYTES = 1_000
TOLD_S = 0.1
"""Between two greetings of addresses received from peers."""
MAX_WAITING = 64
"""Addresses received from peers that wait to be greeted."""


class DiscoveryOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8_473
    """Of the multicast groups, the same on all nodes; 0: no discovery."""


class Finder(msgspec.Struct, frozen=True):
    """What discovery needs from its link."""

    node: NodeId
    seals: Seals
    peers: Peers
    session: int
    address: Callable[[], Address]
    sealed: Callable[[Kind, NodeId, bytes, Peer | None], bytes]
    """(kind, to, body, peer): a datagram, marked for a peer."""
    send: Callable[[bytes, Address], None]
    announce: Callable[[bytes], None]
    greet: Callable[[Address], None]
    count: Count
    random: Random


class Discovery:
    """Does nothing unless `on`."""

    def __init__(self, options: DiscoveryOptions, link: Finder, timers: Timers, directory: Directory) -> None:
        self.on = False
        self._options = options
        self._link = link
        self._timers = timers
        self.directory = directory
        self._announced: set[NodeId] = set()
        """Peers that announced themselves in this interval."""
        self._running: list[LinkTimer] = []
        self._told: Bounded[Address, None] = Bounded(MAX_WAITING)
        """Addresses received from peers, to be greeted."""
        self.on_announcement: Callable[[bytes, Address], None] | None = None
        """Called for every announcement, also of other namespaces."""

    def start(self) -> None:
        if self.on and self._options.port:
            self._running = [self._timers.after(wait_s, self._announce) for wait_s in FIRST_S]
            self._running.append(self._timers.after(FIRST_S[-1], self._begin_interval))

    def stop(self) -> None:
        for timer in self._running:
            timer.cancel()

    def announcement(self) -> bytes:
        """As large as the greeting that it asks for (`greetings.GREETING_BYTES`)."""
        here = _HERE.pack(self._link.address()[1], self._link.session)
        return self._link.sealed(Kind.HERE, EVERYBODY, here.ljust(GREETING_BYTES - HEADER_BYTES, b"\0"), None)

    def receive(self, data: bytes, source: Address) -> None:
        """Greet the sender of an announcement, unless it is known at that port and in that session: a peer with another
        was started again before it was missed. A peer that is known by its IPv6 address is also greeted at that of
        IPv4, from which it sends to the multicast group."""
        if self.on_announcement is not None:
            self.on_announcement(data, source)
        if self.directory.receive(data):
            return
        try:
            opened, behind = self._link.seals.open(data)
            frame = unpack(opened)
        except FrameError as error:
            self._link.count(TrafficKind.DROPPED, "announcement", len(data), str(error))
            return
        if frame.kind is not Kind.HERE or len(data) < GREETING_BYTES or frame.sender == self._link.node:
            return
        peer, (port, session) = self._link.peers.find(frame.sender), _HERE.unpack_from(frame.body)
        here = (source[0], port)
        if peer is None or peer.address[1] != port or (":" not in here[0] and self._link.peers.at(here) is None):
            self._link.seals.note(here, behind=behind)
            self._greet(here)
        elif peer.session != session:
            self._link.greet(peer.address)
        else:
            self._announced.add(frame.sender)

    def handle_peers(self, frame: Frame) -> None:
        """Receive the addresses of other peers from a peer, and greet them one after the other."""
        if not self._told:
            self._running.append(self._timers.after(TOLD_S, self._greet_told))
        for address in unpack_addresses(frame.body):
            self._told[address] = None

    def tell(self, node: NodeId) -> None:
        """Send a new peer the addresses of others."""
        peer = self._link.peers.find(node)
        if not self.on or peer is None:
            return
        if body := pack_addresses(self._link.peers.addresses(), peer.address):
            self._link.send(self._link.sealed(Kind.PEERS, node, body, peer), peer.address)

    def _greet_told(self) -> None:
        while self._told:
            address = next(iter(self._told))
            del self._told[address]
            if self._greet(address):
                break
        if self._told:
            self._running.append(self._timers.after(TOLD_S, self._greet_told))

    def _begin_interval(self) -> None:
        """In its second half, this node announces itself if that is of use."""
        self._announced.clear()
        when_s = AGAIN_S * self._link.random.uniform(0.5, 1.0)
        again = self._timers.after(AGAIN_S, self._begin_interval)
        self._running = [self._timers.after(when_s, self._announce_unless_enough), again]

    def _announce_unless_enough(self) -> None:
        if len(self._announced) < ENOUGH:
            self._announce()

    def _announce(self) -> None:
        for datagram in (self.announcement(), self.directory.announcement()):
            if datagram:
                self._link.announce(datagram)

    def _greet(self, address: Address) -> bool:
        """Whether an address was worth greeting."""
        reached = self._link.peers.at(address) is not None or not self._link.peers.may_come(address)
        if not self.on or reached or not address[1] or address == self._link.address():
            return False
        self._link.greet(address)
        return True


def pack_addresses(peers: Iterable[Address], to: Address) -> bytes:
    """The addresses of other peers to send to the peer at `to`; nothing if there are none."""
    others = [address for address in peers if address != to and _is_meant_at(address, to)]
    return "\n".join(address_text(address) for address in others[:MAX_TOLD]).encode()


def unpack_addresses(body: bytes) -> list[Address]:
    if len(body) > MAX_BYTES:
        raise FrameError("no addresses")
    try:
        lines = body.decode("ascii").split("\n")
        addresses = [parse_address(line, "a peer") for line in lines[:MAX_TOLD]]
        for host, _ in addresses:
            ip_address(host)
    except (InputError, ValueError) as error:
        raise FrameError("no addresses") from error
    return addresses


def _is_meant_at(address: Address, to: Address) -> bool:
    """Whether an address means the same at `to`."""
    mine, theirs = (ip_address(host.partition("%")[0]) for host, _ in (address, to))
    return mine.version == theirs.version and mine.is_loopback == theirs.is_loopback and not mine.is_link_local
