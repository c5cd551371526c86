"""The peers of a live node: who is here, at which address, and when something last came from each.

Addresses come from the person who started the node (listed), and, unless the topology is restricted to those, from
nodes that greet. A peer that leaves or is silent for long makes room for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from thyme.live.link.addresses import Address
from thyme.live.link.sessions import Session
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.terminal import printable

MAX_OTHERS = 3
"""Further addresses of a peer."""
MAX_LIVES = 10_000
"""Nodes whose store is remembered after they left."""


UNHURRIED_PEERS = 6
"""With more peers than this, each is asked less often, so that an idle node sends as much in any crowd."""


class Presence(msgspec.Struct, frozen=True):
    """A peer came, or went."""

    node: NodeId
    address: str
    here: bool
    name: str = ""
    """What people call it."""


class Peer(msgspec.Struct):
    node: NodeId
    address: Address
    """Address to send to."""
    life: int
    heard_s: float
    session: int
    cipher: Session
    """Decrypts what comes from this peer."""

    others: list[Address] = []
    """Further addresses at which it has answered, such as those of another family."""
    in_group: bool = False
    """Whether something came from it by multicast."""

    def is_same(self, other: Peer) -> bool:
        """Whether nothing has changed except when it was last heard."""
        return (self.node, self.life, self.session) == (other.node, other.life, other.session)


class Peers:
    def __init__(self, maximum: int, per_host: int, *, only_listed: bool = False) -> None:
        self._maximum, self._per_host = maximum, per_host
        self._only_listed = only_listed
        self._listed: dict[Address, None] = {}
        self._by_address: dict[Address, Peer] = {}
        self._by_node: dict[NodeId, Peer] = {}
        self.at: Callable[[Address], Peer | None] = self._by_address.get
        """The peer at an address, …"""
        self.find: Callable[[NodeId], Peer | None] = self._by_node.get
        """… and of a node id. Both are called several times for every datagram."""
        self._addresses: tuple[Address, ...] | None = ()
        """Of all peers; None when one came or went."""
        self._names: Bounded[NodeId, str] = Bounded(MAX_LIVES, renewing=True)
        self._lives: Bounded[NodeId, int] = Bounded(MAX_LIVES, renewing=True)

    def note_name(self, node: NodeId, name: str) -> None:
        """What a node calls itself."""
        if name != self._names.get(node, ""):
            self._names[node] = name

    def name_of(self, node: NodeId) -> str:
        """What people call a node that is or was a peer; nothing if it is unknown."""
        return self._names.get(node, "")

    def called(self, node: NodeId) -> str:
        """A node in a sentence: its number, and its name if it is known."""
        name = self.name_of(node)
        return f"node {node} ({printable(name)})" if name else f"node {node}"

    def list_addresses(self, addresses: Iterable[Address]) -> None:
        for address in addresses:
            self._listed[address] = None

    def may_come(self, address: Address) -> bool:
        """Whether frames from this address are accepted at all."""
        return not self._only_listed or address in self._listed

    def is_listed(self, address: Address) -> bool:
        return address in self._listed

    def has_place(self, address: Address) -> bool:
        """Whether an address is a peer's or may become one's. Peers stay; one host has a part of the places."""
        if address in self._listed or address in self._by_address:
            return True
        there = sum(known[0] == address[0] for known in self.addresses())
        return len(self._by_node) < self._maximum and there < self._per_host

    def add(self, peer: Peer) -> bool:
        """Add a peer; whether it was here before with another store. Remove a peer with its address or id first."""
        known = self._lives.get(peer.node, peer.life)
        self._lives[peer.node] = peer.life
        self._by_address[peer.address] = self._by_node[peer.node] = peer
        self._addresses = None
        return known != peer.life

    def add_address(self, peer: Peer, address: Address) -> None:
        """A peer has also answered here: its frames are accepted from both addresses."""
        if len(peer.others) >= MAX_OTHERS:
            del self._by_address[peer.others.pop(0)]
        peer.others.append(address)
        self._by_address[address] = peer

    def move(self, peer: Peer, address: Address) -> None:
        """A peer no longer answers at the address where it was sent to, but at another one of its own."""
        peer.others.remove(address)
        del self._by_address[peer.address]
        peer.address = address
        self._addresses = None

    def remove(self, peer: Peer) -> None:
        for address in (peer.address, *peer.others):
            del self._by_address[address]
        del self._by_node[peer.node]
        self._addresses = None

    def addresses(self) -> tuple[Address, ...]:
        """Of all peers; the same tuple while no peer comes or goes."""
        if self._addresses is None:
            self._addresses = tuple(peer.address for peer in self._by_node.values())
        return self._addresses

    def all_addresses(self) -> list[Address]:
        """Of all peers, with their further ones."""
        return list(self._by_address)

    @property
    def patience(self) -> float:
        """How many times as long as usual to wait before each peer is asked something again."""
        return max(1.0, len(self._by_node) / UNHURRIED_PEERS)

    def unanswered(self) -> list[Address]:
        """Listed addresses with no known peer."""
        return [address for address in self._listed if address not in self._by_address]

    def silent_since(self, at_s: float) -> list[Peer]:
        return [peer for peer in self._by_node.values() if peer.heard_s < at_s]

    def nodes(self) -> dict[NodeId, Address]:
        return {node: self._by_node[node].address for node in sorted(self._by_node)}
