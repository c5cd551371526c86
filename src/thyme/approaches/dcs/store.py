"""Thyme-DCS: one node of it (Thyme FGCS §6), as an application sees it.

An operation becomes requests to the cells that the tags hash to, and is done when all of them have answered. The parts
of the node are made here, around the `Cell` that they share: the user's side (`replicas`, `cell_requests`,
`subscriber`, `locations`) and what is done for the cell (`broker`, `whereabouts`, `learning`, `notifier`, `membership`,
`repair`, `proxying`, `keepers`). At each turn they act in the order in which they are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from thyme.approaches.dcs.asking.broker import Broker
from thyme.approaches.dcs.asking.notifier import Notifier
from thyme.approaches.dcs.asking.subscriber import Subscriber
from thyme.approaches.dcs.asking.whereabouts import Whereabouts
from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.kept.holdings import home_of
from thyme.approaches.dcs.keys import cells_of_tags, insertion_cells
from thyme.approaches.dcs.members.learning import Learning
from thyme.approaches.dcs.members.membership import Membership
from thyme.approaches.dcs.members.proxying import Proxying
from thyme.approaches.dcs.members.repair import Repair
from thyme.approaches.dcs.objects.copies import Copies
from thyme.approaches.dcs.objects.keepers import Keepers
from thyme.approaches.dcs.objects.locations import Locations
from thyme.approaches.dcs.objects.replicas import Replicas
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.interface import Capabilities, Done, Fetched, Notify, Outcome, ReactiveStore
from thyme.approaches.spares import Spare
from thyme.host import Host
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, Metadata, Replica
from thyme.model.queries import Query
from thyme.routing.hearing import Ear
from thyme.wire.cells import WHOLE_CELL, DeleteMetadata, InsertMetadata
from thyme.wire.message import Message


class CellStorage(ReactiveStore):
    """One node of Thyme-DCS."""

    capabilities = Capabilities(needs_positive_literal=True, needs_positions=True)

    def __init__(self, host: Host, options: CellStorageOptions) -> None:
        super().__init__(host, options.limits)
        self.cell = cell = Cell(host, options)
        self._frames = cell.frames
        self._copies = Copies(host)
        self._replicas = Replicas(cell, self._copies, self._tell_progress)
        notifier = Notifier(cell)
        learning = Learning(cell, notifier, self._replicas)
        self._broker = Broker(cell, notifier, learning)
        self._whereabouts = Whereabouts(cell, notifier)
        self._repair = Repair(cell)
        self._membership = Membership(cell, learning, self._repair)
        self._requests = CellRequests(cell)
        self._proxying = Proxying(cell, self._requests)
        self._keepers = Keepers(cell, self._requests)
        self._subscriber = Subscriber(cell, self._requests, self._begun)
        self._locations = Locations(cell, self._requests, self._subscriber, self._copies)

    def start(self) -> None:
        self.cell.start()
        self._membership.start()
        self._proxying.start()

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

    def ears(self, kind: type[Message]) -> tuple[Ear, ...]:
        return self.cell.ears(kind)

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self._copies.own(key.oid) is not None

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        active = self.cell.options.active_replication if replicate is None else replicate
        where = Replica(WHOLE_CELL if active else self.node, self.cell.place)
        stored = msgspec.structs.replace(metadata, replicas=(where,))
        ended = _both(done)
        self._replicas.keep_own(stored, data, ended)
        cells = insertion_cells(self.cell.grid, stored, self._requests.hot)
        self._requests.ask(cells, partial(InsertMetadata, metadata=stored), ended)
        return stored

    def delete(self, oid: str, done: Done) -> None:
        metadata = self._copies.own(oid)
        if metadata is None:
            raise InputError(f"this node has no object {oid!r} to delete; only the owner can delete an object")
        self._expect_room()
        key = metadata.key
        self._replicas.drop_own(key)
        cells = cells_of_tags(self.cell.grid, metadata.tags)
        home = home_of(metadata)
        if home is not None and home not in cells:
            cells = [*cells, home]
        self._requests.ask(cells, lambda number: DeleteMetadata(number, key), self._begun(done))

    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        self._expect_room()
        return self._subscriber.subscribe(query, frame, notify, done, sid)

    def unsubscribe(self, sid: int, done: Done) -> None:
        self._expect_room()
        self._subscriber.unsubscribe(sid, done)

    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        self._replicas.retrieve(metadata, done)

    def pause(self, key: ObjectKey) -> None:
        self._replicas.pause(key)

    def spares(self) -> Iterator[Spare]:
        yield from super().spares()
        yield from self._replicas.spares()

    def _fetching(self, key: ObjectKey) -> bool:
        return self._replicas.fetching(key)

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        self._expect_room()
        self._subscriber.more(sid, done, most)

    def remaining(self, sid: int) -> int:
        return self._subscriber.remaining(sid)

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        return self._subscriber.resume(notify)

    def stored(self) -> Iterable[tuple[str, int, int]]:
        return self.cell.holdings.sizes()


def _both(done: Done) -> Done:
    """To be told of two ends, the object's and its metadata's; `done` is told of the second, or of what failed."""
    first: list[Outcome] = []

    def ended(outcome: Outcome) -> None:
        if not first:
            first.append(outcome)
        else:
            done(outcome if first[0].ok else first[0])

    return ended
