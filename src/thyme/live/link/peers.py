"""The peers of a live node: the addresses it sends to and hears, and which node is behind each.

Addresses come from the person who started the node (listed), and, unless the topology is restricted to those, from
nodes that turn up by themselves. Which node is behind an address is learnt from the frames it sends.
"""

from __future__ import annotations

from collections.abc import Iterable

from thyme.live.link.addresses import Address
from thyme.model.ids import NodeId


class Peers:
    def __init__(self, maximum: int, *, only_listed: bool = False) -> None:
        self._maximum = maximum
        self._only_listed = only_listed
        self._listed: set[Address] = set()
        self._nodes: dict[Address, NodeId | None] = {}
        self._addresses: dict[NodeId, Address] = {}

    def list_addresses(self, addresses: Iterable[Address]) -> None:
        for address in addresses:
            self._listed.add(address)
            self._nodes.setdefault(address, None)

    def admits(self, address: Address) -> bool:
        """Whether frames from this address are heard at all."""
        return address in self._nodes or (not self._only_listed and len(self._nodes) < self._maximum)

    def learn(self, address: Address, node: NodeId) -> bool:
        """`node` was heard from `address`; True if that is news."""
        if self._nodes.get(address) == node:
            return False
        former = self._addresses.pop(node, None)
        if former is not None and former != address:
            self._forget(former)
        before = self._nodes.get(address)
        if before is not None:
            self._addresses.pop(before, None)
        self._nodes[address] = node
        self._addresses[node] = address
        return True

    def address_of(self, node: NodeId) -> Address | None:
        return self._addresses.get(node)

    def addresses(self) -> list[Address]:
        """Where a broadcast goes."""
        return list(self._nodes)

    def unacquainted(self) -> list[Address]:
        """Addresses behind which no node was heard yet."""
        return [address for address, node in self._nodes.items() if node is None]

    def nodes(self) -> dict[NodeId, Address]:
        return dict(sorted(self._addresses.items()))

    def _forget(self, address: Address) -> None:
        if address in self._listed:
            self._nodes[address] = None
        else:
            self._nodes.pop(address, None)
