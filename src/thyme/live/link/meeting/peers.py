"""The peers of a live node: who is here, at which address, and when each was heard last.

Addresses come from the person who started the node (listed), and, unless the topology is restricted to those, from
nodes that turn up by themselves. Whoever leaves, or is not heard for long, makes room for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from thyme.live.link.addresses import Address
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId

MAX_LIVES = 10_000
"""Nodes that came by and whose store would be known again."""


class Presence(msgspec.Struct, frozen=True):
    """A peer came, or went."""

    node: NodeId
    address: str
    here: bool


class Peer(msgspec.Struct):
    node: NodeId
    address: Address
    life: int
    heard_s: float
    session: int = 0
    key: bytes = b""
    """What is marked by it comes from this peer (`sessions`)."""

    def is_same(self, other: Peer) -> bool:
        """Whether nothing has changed but when it was heard."""
        return (self.node, self.life, self.session) == (other.node, other.life, other.session)


class Peers:
    def __init__(self, maximum: int, *, only_listed: bool = False) -> None:
        self._maximum = maximum
        self._only_listed = only_listed
        self._listed: dict[Address, None] = {}
        self._by_address: dict[Address, Peer] = {}
        self._by_node: dict[NodeId, Peer] = {}
        self.at: Callable[[Address], Peer | None] = self._by_address.get
        """Who is at an address, …"""
        self.find: Callable[[NodeId], Peer | None] = self._by_node.get
        """… and a node, if it is here: asked for every datagram, several times."""
        self._addresses: tuple[Address, ...] | None = ()
        """Those of all peers, until one comes or goes."""
        self._lives: Bounded[NodeId, int] = Bounded(MAX_LIVES, renewing=True)

    def list_addresses(self, addresses: Iterable[Address]) -> None:
        for address in addresses:
            self._listed[address] = None

    def may_come(self, address: Address) -> bool:
        """Whether frames from this address are heard at all."""
        return not self._only_listed or address in self._listed

    def is_listed(self, address: Address) -> bool:
        return address in self._listed

    def has_place(self, address: Address) -> bool:
        return address in self._listed or address in self._by_address or len(self._by_address) < self._maximum

    def add(self, peer: Peer) -> bool:
        """The peer is here; whether it was here before with another store. Who has its address or its id goes first."""
        known = self._lives.get(peer.node, peer.life)
        self._lives[peer.node] = peer.life
        self._by_address[peer.address] = self._by_node[peer.node] = peer
        self._addresses = None
        return known != peer.life

    def remove(self, peer: Peer) -> None:
        del self._by_address[peer.address]
        del self._by_node[peer.node]
        self._addresses = None

    def addresses(self) -> tuple[Address, ...]:
        """Where a broadcast goes; the same tuple while nobody comes or goes."""
        if self._addresses is None:
            self._addresses = tuple(self._by_address)
        return self._addresses

    def unacquainted(self) -> list[Address]:
        """Listed addresses behind which nobody is known to be."""
        return [address for address in self._listed if address not in self._by_address]

    def silent_since(self, at_s: float) -> list[Peer]:
        return [peer for peer in self._by_address.values() if peer.heard_s < at_s]

    def nodes(self) -> dict[NodeId, Address]:
        return {node: self._by_node[node].address for node in sorted(self._by_node)}
