"""Locations: a node tells the cells that know of it where it is, and sends again what they have lost (§6.2.3, §6.4.3).

The updates for a node's subscriptions and for the objects it holds as a replica are merged: one message per cell. It
also says since when the node may have missed something; cells then tell it what was published meanwhile. A cell that
was empty for a while may have lost what it was told; it says so, and the node sends it again. When it goes round that a
cell has lost its members (`rumours`), the node names what that cell should know, for the same reason.
"""

from __future__ import annotations

from functools import partial
from math import inf

import msgspec

from thyme.approaches.dcs.asking.subscriber import Subscriber
from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.keys import cells_of_tags
from thyme.approaches.dcs.objects.copies import Copies
from thyme.approaches.dcs.objects.replication import with_replica
from thyme.approaches.interface import Outcome
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival
from thyme.routing.cells.beacons import Neighbour
from thyme.wire.cells import InsertMetadata, LocationUpdate, Unknown

LAST_SEEN = "last seen"
SEEN_EVERY_S = 1.0
"""How often a node notes that it is there: a node that returns asks for what it missed from then on."""
SEEN_EARLY_S = 1e-6
"""How much earlier than that beacons are asked for, so that no rounding makes it too late."""

KEYS_PER_UPDATE = 60
"""Subscriptions and objects named in one update; more go in several messages."""


class Locations:
    """What this node has told to which cells."""

    def __init__(self, cell: Cell, requests: CellRequests, subscriber: Subscriber, copies: Copies) -> None:
        self._cell = cell
        self._host = cell.host
        self._requests = requests
        self._subscriber = subscriber
        self._copies = copies
        self._seen_s = -SEEN_EVERY_S
        self._named: CellId | None = None
        """The cell that this node last said to be in."""
        cell.settled.then(self._on_settled)
        cell.crossed.then(self._on_crossed)
        cell.heard.then(self._on_heard)
        cell.forgotten.then(self._on_forgotten)
        cell.hear(Unknown, self._send_again)

    def _on_settled(self, alone: bool) -> None:
        self._cell.beacons.wake(self._seen_s + SEEN_EVERY_S - SEEN_EARLY_S)
        options = self._cell.options
        self._tell(objects=self._cell.stay_s >= options.list_stay_s, catch_up=options.catch_up)

    def _on_crossed(self) -> None:
        """Whoever looks for this node in the cell that it named last hears it in the cells around, too."""
        near_cells, place = self._cell.options.near_cells, self._cell.place
        if self._named is None or self._cell.grid.steps(self._named, place) > near_cells:
            self._tell(objects=False, catch_up=False)

    def _on_heard(self, neighbour: Neighbour, digest: bytes) -> None:
        """This node is a member and hears its neighbours: until now it has missed nothing."""
        if not self._cell.member:
            self._cell.beacons.wake(inf)
            return
        now_s = self._host.now()
        if now_s - self._seen_s >= SEEN_EVERY_S:
            self._seen_s = now_s
            self._host.store.put(LAST_SEEN, "", msgspec.msgpack.encode(now_s))
        self._cell.beacons.wake(self._seen_s + SEEN_EVERY_S - SEEN_EARLY_S)

    def _on_forgotten(self, cell: CellId) -> None:
        """A cell has lost its members: tell whoever stands in for it by then what it should know of this node."""
        most_s = self._cell.options.reminder_s
        self._host.after(self._host.random.uniform(most_s / 4.0, most_s), partial(self._remind, cell))

    def _remind(self, cell: CellId) -> None:
        grid = self._cell.grid
        keys = [key for key, home in self._subscriber.shares(self._host.now()) if home == cell]
        own = [metadata.key for metadata in self._copies.owned() if cell in cells_of_tags(grid, metadata.tags)]
        self._send_all(cell, keys, own, None, sure=True)

    def _tell(self, *, objects: bool, catch_up: bool) -> None:
        """Say where this node is, to every cell that has one of its subscriptions and, if its objects have settled with
        it, to those that list it as a replica. With `catch_up` the cells also tell what was missed, and the update is
        repeated until they answer."""
        self._named = self._cell.place
        subscriptions: dict[CellId, list[SubscriptionKey]] = {}
        since_s = self._last_seen_s() if catch_up else None
        missed_s = (since_s or 0.0) if catch_up else self._host.now()
        for key, cell in self._subscriber.shares(missed_s):
            subscriptions.setdefault(cell, []).append(key)
        replicas: dict[CellId, list[ObjectKey]] = {}
        for metadata in self._copies if objects else ():
            for cell in cells_of_tags(self._cell.grid, metadata.tags):
                replicas.setdefault(cell, []).append(metadata.key)
        for cell in sorted({*subscriptions, *replicas}):
            keys, held = subscriptions.get(cell, []), replicas.get(cell, [])
            self._send_all(cell, keys, held, since_s, sure=since_s is not None)

    def _send_all(
        self, cell: CellId, keys: list[SubscriptionKey], held: list[ObjectKey], since_s: float | None, *, sure: bool
    ) -> None:
        for first in range(0, max(len(keys), len(held)), KEYS_PER_UPDATE):
            last = first + KEYS_PER_UPDATE
            self._send(cell, tuple(keys[first:last]), tuple(held[first:last]), since_s, sure)

    def _send(
        self,
        cell: CellId,
        keys: tuple[SubscriptionKey, ...],
        held: tuple[ObjectKey, ...],
        since_s: float | None,
        sure: bool,
    ) -> None:
        def send(number: int, cells: list[CellId]) -> None:
            update = LocationUpdate(self._host.node, self._cell.place, self._host.now(), keys, held, since_s, number)
            self._cell.router.send_to_cell(cell, update)

        if sure:
            self._requests.begin([cell], send, _ignore)
        else:
            send(-1, [cell])

    def _send_again(self, arrival: Arrival, message: Unknown) -> None:
        """A cell has lost what this node told it before it was away."""
        for key in message.objects:
            metadata = self._copies.own(key.oid)
            if metadata is not None:
                metadata = msgspec.structs.replace(metadata, replicas=self._replicas_of(metadata))
                self._requests.ask([message.cell], partial(InsertMetadata, metadata=metadata), _ignore)
        for subscription in message.subscriptions:
            self._subscriber.send_again(subscription, message.cell, _ignore)

    def _replicas_of(self, metadata: Metadata) -> tuple[Replica, ...]:
        """Where copies of an own object were at first, and where its owner is with one now."""
        here = Replica(self._host.node, self._cell.place)
        return with_replica(metadata.replicas, here, self._cell.options.replication_list)

    def _last_seen_s(self) -> float | None:
        value = self._host.store.get(LAST_SEEN, "")
        return msgspec.msgpack.decode(value, type=float) if value else None


def _ignore(outcome: Outcome) -> None:
    """Nobody waits for an update; a cell that cannot be reached now is told with the next one."""
