"""Locations: a node tells the cells that know of it where it is, and sends again what they have lost (§6.2.3, §6.4.3).

The updates for a node's subscriptions and for the objects it holds as a replica are merged: one message per cell. When
the node comes for the first time, or back, it also says since when it may have missed something; cells then tell it
what was published meanwhile. After that it speaks only when it is no longer found where it said to be, and then until
it is answered. A cell that was empty for a while may have lost what it was told; it says so, and the node sends it
again. When it goes round that a cell has lost its members (`rumours`), the node names what that cell should know, for
the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf

import msgspec

from thyme.approaches.dcs.asking.subscriber import Subscriber
from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.keys import cells_of_tags
from thyme.approaches.dcs.objects.copies import Copies
from thyme.approaches.dcs.objects.replication import with_replica
from thyme.approaches.interface import Done, Outcome
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival
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
        self._homes: tuple[int, frozenset[CellId]] = (-1, frozenset())
        self._seen_s = -SEEN_EVERY_S
        self._settled = False
        """Whether this node has belonged to a cell since it is on."""
        cell.settled.then(self._on_settled)
        cell.crossed.then(self._on_crossed)
        cell.woken.then(self._note_seen)
        cell.forgotten.then(self._on_forgotten)
        cell.hear(Unknown, self._send_again)

    def _on_settled(self, alone: bool) -> None:
        """Who comes for the first time, or back, tells all cells and catches up, whatever it said on its way. Later it
        names its copies where it stays for long; own ones also where a cell has not answered yet."""
        self._cell.beacons.wake(self._seen_s + SEEN_EVERY_S - SEEN_EARLY_S)
        options, named = self._cell.options, self._cell.named
        if not self._settled:
            named.clear()
            self._settled = True
        stays = self._cell.stay_s >= options.list_stay_s
        unnamed = (metadata for metadata in self._copies.owned() if metadata.key not in named)
        self._tell(self._copies if stays else unnamed, catch_up=options.catch_up)

    def _on_crossed(self) -> None:
        self._tell((), catch_up=False)

    def _note_seen(self) -> None:
        """A member that hears its neighbours has missed nothing until now."""
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
        if any(self._known_to(cell)):
            most_s = self._cell.options.reminder_s
            self._host.after(self._host.random.uniform(most_s / 4.0, most_s), partial(self._remind, cell))

    def _remind(self, cell: CellId) -> None:
        self._send_all(cell, *self._known_to(cell), None, _ignore)

    def _known_to(self, cell: CellId) -> tuple[list[SubscriptionKey], list[ObjectKey]]:
        """The subscriptions and own objects that a cell should know of."""
        keys = [key for key, home in self._subscriber.shares(self._host.now()) if home == cell]
        if cell not in self._homes_of_own():
            return keys, []
        cells = partial(cells_of_tags, self._cell.grid)
        return keys, [metadata.key for metadata in self._copies.owned() if cell in cells(metadata.tags)]

    def _homes_of_own(self) -> frozenset[CellId]:
        """The cells of all own objects. Of a large crowd, some cell is lost at any time, and all nodes look whether it
        concerns them."""
        changes, homes = self._homes
        if changes != self._copies.changes:
            grid = self._cell.grid
            homes = frozenset(grid.cell_for(tag) for metadata in self._copies.owned() for tag in metadata.tags)
            self._homes = (self._copies.changes, homes)
        return homes

    def _tell(self, copies: Iterable[Metadata], *, catch_up: bool) -> None:
        """Say where this node is, to every cell that has one of its subscriptions, and to those that list it as a
        replica of some of its copies; nothing of those of which this was said in a cell so near that it is
        still found. With `catch_up` the cells also tell what was missed. Who relies on having been understood repeats
        it until they answer."""
        subscriptions: dict[CellId, list[SubscriptionKey]] = {}
        since_s = self._last_seen_s() if catch_up else None
        missed_s = (since_s or 0.0) if catch_up else self._host.now()
        for key, cell in self._subscriber.shares(missed_s):
            if not self._is_found(key):
                subscriptions.setdefault(cell, []).append(key)
        replicas: dict[CellId, list[ObjectKey]] = {}
        for metadata in copies:
            if not self._is_found(metadata.key):
                for cell in cells_of_tags(self._cell.grid, metadata.tags):
                    replicas.setdefault(cell, []).append(metadata.key)
        sure = since_s is not None or self._cell.options.near_cells > 0
        for cell in sorted({*subscriptions, *replicas}):
            keys, held = subscriptions.get(cell, []), replicas.get(cell, [])
            self._send_all(cell, keys, held, since_s, self._naming(*keys, *held) if sure else None)

    def _naming(self, *keys: SubscriptionKey | ObjectKey) -> Done:
        """These are found here from now on; told how it ended: what a cell did not answer is said again with the next
        update."""
        named, place = self._cell.named, self._cell.place
        for key in keys:
            named[key] = place

        def ended(outcome: Outcome) -> None:
            for key in keys if not outcome.ok else ():
                if named.get(key) == place:
                    del named[key]

        return ended

    def _is_found(self, key: SubscriptionKey | ObjectKey) -> bool:
        """Whoever looks for this node in the cell that it named last hears it in the cells around, too."""
        near_cells, named = self._cell.options.near_cells, self._cell.named.get(key)
        return near_cells > 0 and named is not None and self._cell.grid.steps(named, self._cell.place) <= near_cells

    def _send_all(
        self,
        cell: CellId,
        keys: list[SubscriptionKey],
        held: list[ObjectKey],
        since_s: float | None,
        done: Done | None,
    ) -> None:
        """To one cell, in as many messages as it takes; `done` if it is to answer each."""
        for first in range(0, max(len(keys), len(held)), KEYS_PER_UPDATE):
            last = first + KEYS_PER_UPDATE
            self._send(cell, tuple(keys[first:last]), tuple(held[first:last]), since_s, done)

    def _send(
        self,
        cell: CellId,
        keys: tuple[SubscriptionKey, ...],
        held: tuple[ObjectKey, ...],
        since_s: float | None,
        done: Done | None,
    ) -> None:
        def send(number: int, cells: list[CellId]) -> None:
            update = LocationUpdate(self._host.node, self._cell.place, self._host.now(), keys, held, since_s, number)
            self._cell.router.send_to_cell(cell, update)

        if done is not None:
            self._requests.begin([cell], send, done)
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
