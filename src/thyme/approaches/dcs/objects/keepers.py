"""Keepers: where only some members keep an object (`replicas_in_cell`), so many do, whoever comes and goes (§7.1).

Who is to keep an object follows from who the members are: its owner, if it is one, and those whom a hash of object and
node puts first. When the members change, the first of the old keepers that is left gives the object to the new ones. A
keeper that is no longer to be one keeps what it has, so there may be more, but not fewer.
"""

from __future__ import annotations

from functools import partial

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.kept.holdings import home_of
from thyme.approaches.dcs.keys import keepers_among
from thyme.approaches.dcs.members.shipping import Shipment
from thyme.model.ids import NodeId
from thyme.wire.cells import CellState


class Keepers:
    """A member's part in keeping the number of an object's copies."""

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
            Shipment(self._cell, self._requests, items, send, _ignore, (node,)).begin()

    def _present(self) -> list[NodeId]:
        return sorted([self._node, *self._cell.others])


def _ignore(arrived: bool) -> None:
    """Who could not be reached is gone, and the members have changed again."""
