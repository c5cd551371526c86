"""Finding: what a link does to meet nodes that nobody named.

It says that it is there (`discovery`), hears others say so, is told of others by its peers and tells them (`gossip`),
and greets whom it does not know. It also keeps the list of open namespaces around (`directory`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from thyme.live.link.addresses import Address
from thyme.live.link.carrying.reception import Count
from thyme.live.link.frames import EVERYBODY, Frame, Kind, unpack
from thyme.live.link.meeting import gossip
from thyme.live.link.meeting.directory import Directory
from thyme.live.link.meeting.discovery import Discovery, DiscoveryOptions
from thyme.live.link.meeting.peers import Peer, Peers
from thyme.live.link.sealing import FrameError, Seal
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind

PORT_BYTES = 2


class Finder(msgspec.Struct, frozen=True):
    """What finding asks of the link that it is part of."""

    node: NodeId
    seal: Seal
    peers: Peers
    address: Callable[[], Address]
    sealed: Callable[[Kind, NodeId, bytes, Peer | None], bytes]
    """A datagram of this kind to somebody, with this body, marked for a peer."""
    send: Callable[[bytes, Address], None]
    greet: Callable[[Address], None]
    count: Count


class Finding:
    """One link's part in it; does nothing unless `on`."""

    def __init__(self, options: DiscoveryOptions, link: Finder, *, on: bool) -> None:
        self.on = on
        self._link = link
        self._discovery = Discovery(options, self._announcements, self.hear)
        self.directory = Directory(asyncio.get_running_loop().time)
        self.overhear: Callable[[bytes, Address], None] | None = None
        """Told of every announcement, whoever can read it."""

    def begin(self, bound: Address, family: int) -> None:
        if self.on:
            self._discovery.begin(bound, family)

    def end(self) -> None:
        self._discovery.end()

    def announcement(self) -> bytes:
        """Here I am."""
        port = self._link.address()[1].to_bytes(PORT_BYTES, "big")
        return self._link.sealed(Kind.HERE, EVERYBODY, port, None)

    def hear(self, data: bytes, address: Address) -> None:
        """Somebody says by multicast that it is there: it is greeted, unless it is known to be just there. A peer with
        another port was started again, before anybody missed it."""
        if self.overhear is not None:
            self.overhear(data, address)
        if self.directory.hear(data):
            return
        try:
            frame = unpack(self._link.seal.open(data))
        except FrameError as error:
            self._link.count(TrafficKind.DROPPED, "announcement", len(data), str(error))
            return
        if frame.kind is not Kind.HERE or len(frame.body) != PORT_BYTES or frame.sender == self._link.node:
            return
        peer, port = self._link.peers.find(frame.sender), int.from_bytes(frame.body, "big")
        if peer is None or peer.address[1] != port:
            self._greet([(address[0], port)])

    def learn(self, frame: Frame) -> None:
        """A peer tells of others."""
        self._greet(gossip.read(frame.body))

    def tell(self, node: NodeId) -> None:
        """Somebody was met: it is told of others."""
        peer = self._link.peers.find(node)
        if not self.on or peer is None:
            return
        if body := gossip.told(self._link.peers.addresses(), peer.address):
            self._link.send(self._link.sealed(Kind.PEERS, node, body, peer), peer.address)

    def _announcements(self) -> list[bytes]:
        return [said for said in (self.announcement(), self.directory.announcement()) if said]

    def _greet(self, addresses: Iterable[Address]) -> None:
        for address in addresses if self.on else ():
            reached = self._link.peers.at(address) is not None or not self._link.peers.may_come(address)
            if not reached and address[1] and address != self._link.address():
                self._link.greet(address)
