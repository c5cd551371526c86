"""Holders: a content larger than one message is held by `copies` devices, and whoever notices fewer asks for more.

Holders are its owner, those that it asks, and those that retrieved it. All of them are in the replication list, which
the cells of the metadata keep; a holder enters it when it has the content. The owner asks for what is missing a while
after the insertion, since users may retrieve the object meanwhile; at once if the content is cast, or if an insertion
must not depend on one device (`confirmed`). A holder that was asked, or the owner, counts again when another holder of
the list falls silent, when its own content is damaged, and when it starts. It asks the cells for the list, without
those that fell silent, and has neighbours keep what is missing, until there are enough or its checks are over.

Holders keep their copies wherever they walk: what moves is their place in the list, not the content.

A deletion goes to the replicas of the list (`broker`), and from whoever asked a holder to that holder, since the list
is bounded. A cell that a holder reports its copy to tells it of the deletion, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.keys import merged
from thyme.approaches.dcs.replicas import Replicas
from thyme.approaches.interface import ignore
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellAnswer, DropCopy, KeepCopy

CHECK_S = 60.0
"""How long a holder waits, give or take a quarter, before it counts the others: they may be back, or more by then."""
CHECKS = 5
"""How often it counts before it leaves it at that."""
SPACING_S = 0.1
"""Between the counts of two objects that become due together."""
MAX_ASKED = 16
"""Nodes asked to hold an object that are remembered, the latest."""
MAX_SILENT = 64
"""Silent nodes that are remembered, the latest."""


class Holders:
    """One node's part in the number of holders."""

    def __init__(self, cell: Cell, copies: Copies, replicas: Replicas) -> None:
        self._cell = cell
        self._host = cell.host
        self._copies = copies
        self._replicas = replicas
        self._wanted = cell.options.copies
        self._due: set[ObjectKey] = set()
        """Objects whose holders are counted after the wait."""
        self._silent: Bounded[NodeId, None] = Bounded(MAX_SILENT, renewing=True)
        cell.hear(KeepCopy, self._on_keep)
        cell.hear(DropCopy, self._on_drop)
        cell.silent.then(self._on_silent)
        cell.lost.then(lambda key: self._count_soon([key] if self._copies.is_held(key) else []))

    def apply_to(self, metadata: Metadata) -> bool:
        return self._wanted > 0 and metadata.size_bytes > self._cell.options.contents.part_bytes

    def start(self) -> None:
        self._count_soon(metadata.key for metadata in self._copies.held())

    def begin(self, metadata: Metadata) -> None:
        """This node's user inserted a content that is to have holders."""
        self._copies.hold(metadata.key)
        ask = partial(self._ask, metadata, {self._host.node}, self._wanted - 1)
        if self._cell.options.cast:
            self._replicas.cast(metadata, ask)
        elif self._cell.options.confirmed:
            ask()
        self._count_soon([metadata.key])

    def _on_silent(self, node: NodeId) -> None:
        self._silent[node] = None
        held = self._copies.held()
        self._count_soon(each.key for each in held if any(replica.node == node for replica in each.replicas))

    def _count_soon(self, keys: Iterable[ObjectKey], checks: int = CHECKS) -> None:
        wait_s = CHECK_S * self._host.random.uniform(0.75, 1.25)
        for key in keys:
            if key not in self._due:
                self._due.add(key)
                self._host.after(wait_s, partial(self._count, key, checks))
                wait_s += SPACING_S

    def _count(self, key: ObjectKey, checks: int) -> None:
        self._due.discard(key)
        metadata = self._copies.get(key)
        if metadata is None or not self._copies.is_held(key):
            return
        self._replicas.keep_copy(metadata, ignore)

        def found(fresh: Metadata | None, deleted: bool) -> None:
            if deleted:
                self._replicas.report_copy(metadata)  # a cell answers with the deletion and its proof
            if deleted or not self._copies.is_held(key):
                return
            listed = fresh or metadata
            self._copies.renew(listed)
            known = {replica.node for replica in listed.replicas if not self._is_silent(replica.node)}
            known.add(self._host.node)
            if len(known) < self._wanted:
                self._ask(listed, known, self._wanted - len(known))
                if checks > 1:
                    self._count_soon([key], checks - 1)

        self._replicas.look_up(metadata, found)

    def _is_silent(self, node: NodeId) -> bool:
        return node in self._silent and self._cell.beacons.neighbour(node) is None

    def _ask(self, metadata: Metadata, known: set[NodeId], lacking: int) -> None:
        """Ask members of this cell, otherwise neighbours in other cells, unless the object was deleted meanwhile."""
        if not self._copies.is_held(metadata.key):
            return
        near = [self._cell.place, *self._cell.grid.around(self._cell.place)]
        nodes = [Replica(node, cell) for cell in near for node in self._cell.members_of(cell) if node not in known]
        asked = nodes[:lacking]
        there = [replica for replica in metadata.replicas if replica.node in known - {self._host.node}]
        here = Replica(self._host.node, self._cell.place)
        told = msgspec.structs.replace(metadata, replicas=(here, *there, *asked))
        for replica in asked:
            self._cell.router.send_to_node(replica.node, replica.cell, KeepCopy(told))
        remembered = merged(self._copies.asked(metadata.key), tuple(asked), MAX_ASKED)
        self._copies.hold(metadata.key, remembered)

    def tell_of_deletion(self, key: ObjectKey) -> None:
        """Tell those that this node asked to hold an object, until they answer."""
        for replica in self._copies.asked(key):
            self._cell.requests.begin(partial(self._tell, replica, key), ignore)

    def _tell(self, replica: Replica, key: ObjectKey, request: int) -> None:
        self._cell.router.send_to_node(replica.node, replica.cell, DropCopy(key, request))

    def _on_drop(self, arrival: Arrival, message: DropCopy) -> None:
        if message.request >= 0:
            self._cell.answer(arrival, CellAnswer(message.request, self._cell.place))
        if message.key.owner != self._host.node and message.key in self._copies:
            self.tell_of_deletion(message.key)
            self._replicas.drop_copy(message.key)

    def _on_keep(self, arrival: Arrival, message: KeepCopy) -> None:
        metadata = message.metadata
        if not self._cell.holdings.index.deleted(metadata.key):
            self._replicas.keep_copy(metadata, partial(self._copies.hold, metadata.key))
