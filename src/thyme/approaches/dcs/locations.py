"""Locations: a node reports its location to the cells that know it, and resends what they have lost (§6.2.3, §6.4.3).

The updates for a node's subscriptions and for its replicas are merged: one message per cell. After the first one, a
node sends an update only when it can no longer be found at its last reported location, and repeats it until it is
acknowledged. A cell that was empty for a while may have lost its state; it says so, and the node sends it again. When a
cell has lost its members (`lost_cells`), the node lists what that cell should know, for the same reason: first its
subscriptions and what it inserted or deleted, later its copies of others' objects, so that whoever holds one can give
the cell its metadata if the owner does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.keys import cells_of_tags, with_replica
from thyme.approaches.dcs.subscriber import Subscriber
from thyme.approaches.interface import Done, Outcome, ignore
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import DeleteMetadata, InsertMetadata, LocationUpdate, Unknown

KEYS_PER_UPDATE = 60
"""Most subscriptions and objects named in one update; more need several messages."""


class Locations:
    """What this node has reported to which cells."""

    def __init__(self, cell: Cell, requests: CellRequests, subscriber: Subscriber, copies: Copies) -> None:
        self._cell = cell
        self._host = cell.host
        self._requests = requests
        self._subscriber = subscriber
        self._copies = copies
        self._homes: tuple[int, frozenset[CellId]] = (-1, frozenset())
        self._settled = False
        """Whether this node has been a member since it started."""
        cell.settled.then(self._on_settled)
        cell.crossed.then(self._on_crossed)
        cell.forgotten.then(self._on_forgotten)
        cell.hear(Unknown, self._send_again)

    def _on_settled(self, alone: bool) -> None:
        """A node that starts or returns updates all cells, whatever it reported while moving. Later it lists its copies
        where it stays for long; others only if it is one of the object's holders, or its owner and a cell has not
        answered yet."""
        options, named = self._cell.options, self._cell.named
        if not self._settled:
            named.clear()
            self._settled = True
        stays = self._cell.stay_s >= options.list_stay_s
        unnamed = (metadata for metadata in self._copies.owned() if metadata.key not in named)
        others = {metadata.key: metadata for metadata in chain(unnamed, self._copies.held())}
        self._tell(self._copies if stays else others.values())

    def _on_crossed(self) -> None:
        self._tell(self._copies.held())

    def _on_forgotten(self, cell: CellId) -> None:
        """A cell has lost its members: send its current proxy what it should know of this node."""
        most_s, uniform = self._cell.options.reminder_s, self._host.random.uniform
        if any(self._known_to(cell)) or self._kept_in(cell, self._copies.deleted()):
            self._host.after(uniform(most_s / 4.0, most_s), partial(self._remind, cell))
        if cell in self._homes_of_copies() or self._kept_in(cell, self._others_objects()):
            self._host.after(uniform(most_s, 3.0 * most_s), partial(self._remind_of_copies, cell))

    def _remind(self, cell: CellId) -> None:
        self._send_all(cell, *self._known_to(cell), ignore)
        for key in self._kept_in(cell, self._copies.deleted()):
            self._requests.ask([cell], partial(DeleteMetadata, key=key), ignore)

    def _remind_of_copies(self, cell: CellId) -> None:
        self._send_all(cell, [], self._kept_in(cell, self._others_objects()), ignore)

    def _others_objects(self) -> Iterator[Metadata]:
        """Of those that all members of this node's cell keep, one member speaks."""
        yield from self._copies.retrieved()
        if self._cell.member and self._cell.leads:
            yield from (one for one in self._cell.holdings.objects() if one.key not in self._copies)

    def _known_to(self, cell: CellId) -> tuple[list[SubscriptionKey], list[ObjectKey]]:
        """The subscriptions and own objects that a cell should know."""
        keys = [key for key, home in self._subscriber.shares(self._host.now()) if home == cell]
        return keys, self._kept_in(cell, self._copies.owned()) if cell in self._homes_of_copies() else []

    def _kept_in(self, cell: CellId, copies: Iterable[Metadata]) -> list[ObjectKey]:
        """The objects whose metadata a cell keeps."""
        return [metadata.key for metadata in copies if cell in cells_of_tags(self._cell.grid, metadata.tags)]

    def _homes_of_copies(self) -> frozenset[CellId]:
        """The cells of all copies, cached: in a large crowd some cell is lost at any time, and every node checks
        whether it is affected."""
        changes, homes = self._homes
        if changes != self._copies.changes:
            grid = self._cell.grid
            homes = frozenset(grid.cell_for(tag) for metadata in self._copies for tag in metadata.tags)
            self._homes = (self._copies.changes, homes)
        return homes

    def _tell(self, copies: Iterable[Metadata]) -> None:
        """Report this node's location to every cell that has one of its subscriptions, and to those that list it as a
        replica; skip items last reported from a cell so near that the node is still found. Updates that must arrive are
        repeated until they are acknowledged."""
        subscriptions: dict[CellId, list[SubscriptionKey]] = {}
        for key, cell in self._subscriber.shares(self._host.now()):
            if not self._is_found(key):
                subscriptions.setdefault(cell, []).append(key)
        replicas: dict[CellId, list[ObjectKey]] = {}
        for metadata in copies:
            if not self._is_found(metadata.key):
                for cell in cells_of_tags(self._cell.grid, metadata.tags):
                    replicas.setdefault(cell, []).append(metadata.key)
        sure = self._cell.options.near_cells > 0
        for cell in sorted({*subscriptions, *replicas}):
            keys, held = subscriptions.get(cell, []), replicas.get(cell, [])
            self._send_all(cell, keys, held, self._naming(*keys, *held) if sure else None)

    def _naming(self, *keys: SubscriptionKey | ObjectKey) -> Done:
        """Note that this node reported these keys from its current cell. The returned callback undoes that if no
        acknowledgement came, so that the next update has them again."""
        named, place = self._cell.named, self._cell.place
        for key in keys:
            named[key] = place

        def ended(outcome: Outcome) -> None:
            for key in keys if not outcome.ok else ():
                if named.get(key) == place:
                    del named[key]

        return ended

    def _is_found(self, key: SubscriptionKey | ObjectKey) -> bool:
        """A request sent to the cell that this node last reported reaches it in the cells around, too."""
        near_cells, named = self._cell.options.near_cells, self._cell.named.get(key)
        return near_cells > 0 and named is not None and self._cell.grid.steps(named, self._cell.place) <= near_cells

    def _send_all(
        self,
        cell: CellId,
        keys: list[SubscriptionKey],
        held: list[ObjectKey],
        done: Done | None,
    ) -> None:
        """Send to one cell, in as many messages as needed; with `done`, it acknowledges each."""
        for first in range(0, max(len(keys), len(held)), KEYS_PER_UPDATE):
            last = first + KEYS_PER_UPDATE
            self._send(cell, tuple(keys[first:last]), tuple(held[first:last]), done)

    def _send(
        self,
        cell: CellId,
        keys: tuple[SubscriptionKey, ...],
        held: tuple[ObjectKey, ...],
        done: Done | None,
    ) -> None:
        def send(number: int, cells: list[CellId]) -> None:
            update = LocationUpdate(self._host.node, self._cell.place, self._host.now(), keys, held, number)
            self._cell.router.send_to_cell(cell, update)

        if done is not None:
            self._requests.begin([cell], send, done)
        else:
            send(-1, [cell])

    def _send_again(self, arrival: Arrival, message: Unknown) -> None:
        """A cell has lost what this node reported."""
        for key in message.objects:
            metadata = self._copies.get(key) or self._cell.holdings.object(key)
            if metadata is not None:
                metadata = msgspec.structs.replace(metadata, replicas=self._replicas_of(metadata))
                self._requests.ask([message.cell], partial(InsertMetadata, metadata=metadata), ignore)
        for subscription in message.subscriptions:
            self._subscriber.send_again(subscription, message.cell, ignore)

    def _replicas_of(self, metadata: Metadata) -> tuple[Replica, ...]:
        """The first locations of an object's copies, and this node's current one."""
        here = Replica(self._host.node, self._cell.place)
        return with_replica(metadata.replicas, here, self._cell.options.replication_list)
