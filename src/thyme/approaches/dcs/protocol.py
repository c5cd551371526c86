"""Thyme-DCS: one node of it (Thyme FGCS §6), as an application sees it.

An operation becomes requests to the cells that the tags hash to, and is done when all of them have answered. The parts
of the node are made here, around the `Cell` that they share: the user's side (`replicas`, `cell_requests`,
`subscriber`, `locations`) and what is done for the cell (`broker`, `learning`, `notifier`, `membership`, `repair`,
`proxying`, `holders`). Handlers of one event are called in the order in which the parts are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from thyme.approaches.dcs.broker import Broker, LocationUpdates
from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.holders import Holders
from thyme.approaches.dcs.holdings import home_of
from thyme.approaches.dcs.keys import cells_of_tags, check_literals
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.locations import Locations
from thyme.approaches.dcs.membership import Membership
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.proxying import Proxying
from thyme.approaches.dcs.reconciliation import ComparisonAnswers, Comparisons
from thyme.approaches.dcs.repair import Repair
from thyme.approaches.dcs.replicas import Replicas
from thyme.approaches.dcs.subscriber import Subscriber
from thyme.approaches.entry import Entry
from thyme.approaches.eviction import Evictable
from thyme.approaches.interface import Capabilities, Done, Fetched, Outcome, ReactiveStore
from thyme.host import Host
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, Metadata, Replica
from thyme.model.subscriptions import Subscription
from thyme.routing.broadcasts import BroadcastHandler
from thyme.wire.cells import WHOLE_CELL, DeleteMetadata, InsertMetadata
from thyme.wire.message import Message


class CellStorage(ReactiveStore):
    """One node of Thyme-DCS."""

    capabilities = Capabilities(needs_positive_literal=True, needs_positions=True)

    def __init__(self, host: Host, options: CellStorageOptions) -> None:
        super().__init__(host, options.limits)
        if options.paper:
            options = options.as_in_the_papers()
        self.cell = cell = Cell(host, options, self._expiries.watch)
        self._frames = cell.frames
        self._copies = Copies(host)
        self._replicas = Replicas(cell, self._copies, self._tell_progress)
        notifier = Notifier(cell)
        learning = Learning(cell, notifier, self._replicas)
        self._broker = Broker(cell, notifier, learning)
        self._location_updates = LocationUpdates(cell, notifier)
        self._repair = Repair(cell)
        self._membership = Membership(cell, learning, self._repair)
        self._requests = CellRequests(cell)
        self._proxying = Proxying(cell, self._requests)
        self._holders = Holders(cell, self._copies, self._replicas)
        self._subscriber = Subscriber(cell, self._requests, self._inbox)
        self._comparisons = Comparisons(cell, self._requests, self._subscriber)
        self._comparison_answers = ComparisonAnswers(cell, notifier)
        self._locations = Locations(cell, self._requests, self._subscriber, self._copies)

    def start(self) -> None:
        self.cell.start()
        self._membership.start()
        self._proxying.start()
        self._holders.start()

    def join(self) -> None:
        self._membership.join()

    def stop(self) -> None:
        self._membership.stop()
        self.cell.stop()

    @property
    def handing_over(self) -> int:
        return self._proxying.handing_over

    @property
    def untaken(self) -> int:
        return self._proxying.untaken

    def receive(self, sender: NodeId, message: Message) -> None:
        action = self._frames.get(type(message))
        if action is not None:
            action(sender, message)

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        return self.cell.broadcast_handlers(kind)

    def _expire(self, key: ObjectKey) -> None:
        self.cell.holdings.expire(key)
        self._copies.remove_retrieved(key)
        if key.owner == self.node:
            self._replicas.drop_own(key)
        else:
            self.cell.contents.drop(key)

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self._copies.own(key.oid) is not None

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        active = self.cell.options.active_replication if replicate is None else replicate
        held = active and self._holders.apply_to(metadata)
        where = Replica(WHOLE_CELL if active and not held else self.node, self.cell.place)
        stored = msgspec.structs.replace(metadata, replicas=(where,))
        ended = _both(done)
        self._replicas.keep_own(stored, data, ended)
        cells = cells_of_tags(self.cell.grid, stored.tags)
        self._requests.ask(cells, partial(InsertMetadata, metadata=stored), ended)
        if held:
            self._holders.begin(stored)
        return stored

    def _delete(self, key: ObjectKey, done: Done) -> None:
        metadata = self._copies.own(key.oid)
        assert metadata is not None, "only an own object is deleted"
        self._holders.tell_of_deletion(key)
        self._replicas.drop_own(key)
        self._copies.delete_own(metadata)
        cells = cells_of_tags(self.cell.grid, metadata.tags)
        home = home_of(metadata)
        if home is not None and home not in cells:
            cells = [*cells, home]
        self._requests.ask(cells, lambda number: DeleteMetadata(number, key), done)

    def _check_subscription(self, subscription: Subscription) -> None:
        check_literals(subscription)

    def _subscribe(self, subscription: Subscription, done: Done) -> None:
        self._subscriber.subscribe(subscription, done)

    def _unsubscribe(self, subscription: Subscription, done: Done) -> None:
        self._subscriber.unsubscribe(subscription.key, done)

    def _retrieve(self, metadata: Metadata, done: Fetched) -> None:
        self._replicas.retrieve(metadata, done)

    def pause(self, key: ObjectKey) -> None:
        self._replicas.pause(key)

    def evictable(self) -> Iterator[Evictable]:
        yield from super().evictable()
        yield from self._replicas.evictable()

    def _fetching(self, key: ObjectKey) -> bool:
        return self._replicas.fetching(key)

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        own = self._inbox.get(sid)
        self._expect_room()
        self._subscriber.pager.give(own, self._begun(done), most)

    def stored(self) -> Iterable[tuple[str, int, int]]:
        return self.cell.holdings.sizes(self._copies.held())


def _both(done: Done) -> Done:
    """To be told of two ends, the object's and its metadata's; `done` is told of the second, or of what failed."""
    first: list[Outcome] = []

    def ended(outcome: Outcome) -> None:
        if not first:
            first.append(outcome)
        else:
            done(outcome if first[0].ok else first[0])

    return ended


ONE_CELL = {"width_m": 40.0, "height_m": 40.0}
"""The area of live nodes unless one is given: all in range of each other, wherever they are."""
HEARD_PER_S = 20.0
"""Beacons that a live node receives in a second: in larger crowds each node beacons less often."""
_LIVE = {
    "notify_together": True,
    "confirmed": True,
    "cast": False,
    "fetches": 8,
    "grid": ONE_CELL,
    "beacons": {"heard_per_s": HEARD_PER_S},
}
ENTRY = Entry(CellStorage.capabilities, CellStorageOptions, CellStorage, _LIVE)
