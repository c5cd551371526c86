"""Keepers: where only some members keep an object (`replicas_in_cell`), their number stays constant as members change
(§7.1).

The members determine an object's keepers: its owner, if it is a member, and those that a hash of object and node puts
first. When the members change, the first remaining old keeper sends the object to the new ones. A former keeper keeps
its copy, so there may be more copies, but not fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests, Shipment
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.holdings import home_of
from thyme.approaches.dcs.keys import keepers_among
from thyme.approaches.dcs.lookups import Found
from thyme.approaches.dcs.replicas import Replicas
from thyme.approaches.interface import ignore
from thyme.model.ids import NodeId
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellState, KeepCopy

CHECK_S = 60.0
"""How long an owner waits for others to retrieve a large object before it asks for copies, and between two checks …"""
CHECKS = 5
"""… and the number of checks."""


class Keepers:
    """Keeps the number of an object's copies in a cell."""

    def __init__(self, cell: Cell, requests: CellRequests) -> None:
        self._cell = cell
        self._requests = requests
        self._node = cell.host.node
        self._members: list[NodeId] = []
        if cell.options.replicas_in_cell > 0:
            cell.settled.then(self._on_settled)
            cell.regrouped.then(self._on_regrouped)

    def _on_settled(self, alone: bool) -> None:
        self._members = self._present()

    def _on_regrouped(self) -> None:
        before, self._members = self._members, self._present()
        lacking: dict[NodeId, list[CellState]] = {}
        for metadata in list(self._cell.holdings.objects()):
            if home_of(metadata) != self._cell.id:
                continue
            key, wanted = metadata.key, self._cell.options.replicas_in_cell
            old, new = keepers_among(key, before, wanted), keepers_among(key, self._members, wanted)
            first = next((node for node in old if node in self._members), self._node)
            for node in new if first == self._node else ():
                if node not in old and node != self._node:
                    lacking.setdefault(node, []).append(self._cell.holdings.object_state(key))
        for node, items in sorted(lacking.items()):
            send = partial(self._cell.router.send_to_node, node, self._cell.id)
            Shipment(self._cell, self._requests, items, send, ignore, (node,)).begin()

    def _present(self) -> list[NodeId]:
        return sorted([self._node, *self._cell.others])


class LargeCopies:
    """Copies of large contents (`whole_cell_bytes`). Copying them to every member, and to every joining node, would
    take more of the channel than users' retrievals. Nodes that retrieve one keep it, so its owner waits for that, and
    then asks neighbours to keep copies until there are enough. With `cast`, it asks at once and broadcasts the content
    (`casting`)."""

    def __init__(
        self, cell: Cell, copies: Copies, replicas: Replicas, lookups: Callable[[Metadata, Found], None]
    ) -> None:
        self._cell = cell
        self._host = cell.host
        self._copies = copies
        self._replicas = replicas
        self._look_up = lookups
        cell.hear(KeepCopy, self._on_keep)

    def is_large(self, metadata: Metadata) -> bool:
        return 0 < self._cell.options.whole_cell_bytes < metadata.size_bytes

    def start(self) -> None:
        for metadata in self._copies.owned():
            if self.is_large(metadata) and home_of(metadata) is None:
                self.watch(metadata)

    def begin(self, metadata: Metadata) -> None:
        """A large content was inserted."""
        others = self._cell.options.large_copies - 1
        self._replicas.cast(metadata, partial(self._ask, metadata, set(), others))
        self.watch(metadata)

    def watch(self, metadata: Metadata, checks: int = CHECKS) -> None:
        """Make sure that there are enough copies of an own object."""
        wait_s = CHECK_S * self._host.random.uniform(0.75, 1.25)
        self._host.after(wait_s, partial(self._check, metadata, checks))

    def _check(self, metadata: Metadata, checks: int) -> None:
        def found(fresh: Metadata | None, deleted: bool) -> None:
            known = {replica.node for replica in fresh.replicas} if fresh is not None else set()
            lacking = self._cell.options.large_copies - len(known | {self._host.node})
            if lacking > 0 and not deleted:
                self._ask(fresh or metadata, known, lacking)
                if checks > 1:
                    self.watch(metadata, checks - 1)

        if self._copies.own(metadata.key.oid) is not None:
            self._look_up(metadata, found)

    def _ask(self, metadata: Metadata, known: set[NodeId], lacking: int) -> None:
        """Ask members of this cell, otherwise neighbours in other cells."""
        near = [self._cell.place, *self._cell.grid.around(self._cell.place)]
        nodes = [(node, cell) for cell in near for node in self._cell.members_of(cell) if node not in known]
        here = Replica(self._host.node, self._cell.place)
        told = msgspec.structs.replace(metadata, replicas=(here,))
        for node, cell in nodes[:lacking]:
            self._cell.router.send_to_node(node, cell, KeepCopy(told))

    def _on_keep(self, arrival: Arrival, message: KeepCopy) -> None:
        key = message.metadata.key
        wanted = key.owner == arrival.origin and not self._cell.contents.has(key)
        if wanted and not self._cell.holdings.index.deleted(key):
            self._replicas.keep_copy(message.metadata)
