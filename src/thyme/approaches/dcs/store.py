"""Thyme-DCS: one node of it (Thyme FGCS §6), as an application sees it and as a member of its cell.

The client side is here: an operation becomes requests to the cells that the tags hash to, and is done when all of them
have answered. The objects themselves are a matter of `replicas`; what is done for the cell is in the other modules of
this package: `broker`, `notifier`, `membership`, `repair`, `proxying`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from thyme.approaches.contents import Contents
from thyme.approaches.dcs.broker import Broker
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.holdings import Holdings, joined
from thyme.approaches.dcs.keys import cells_of_tags, insertion_cells, parts_of
from thyme.approaches.dcs.locations import OWN, Locations, metadata_decoder
from thyme.approaches.dcs.membership import Membership, MembershipEvents
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.proxying import Proxying
from thyme.approaches.dcs.repair import Repair
from thyme.approaches.dcs.replicas import Replicas
from thyme.approaches.dcs.spreading import Spreading
from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import (
    Capabilities,
    Done,
    Fetched,
    Notify,
    Outcome,
    ReactiveStore,
)
from thyme.approaches.paging import ask_for_more
from thyme.approaches.requests import Requests
from thyme.host import Host
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.objects import Metadata, Replica
from thyme.model.queries import Query
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival, Destination, Form
from thyme.routing.cells.beacons import BeaconEvents, Beacons, Neighbour
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import (
    WHOLE_CELL,
    CellAnswer,
    CellNotification,
    DeleteMetadata,
    DropObject,
    InsertMetadata,
    JoinCell,
    JoinedState,
    MoreMatches,
    SubscribePart,
    Unknown,
    UnsubscribePart,
)
from thyme.wire.message import Message
from thyme.wire.storage import PartReply, PartRequest


class CellStorage(ReactiveStore):
    """One node of Thyme-DCS."""

    capabilities = Capabilities(needs_positive_literal=True, needs_positions=True)

    def __init__(self, host: Host, options: CellStorageOptions) -> None:
        super().__init__(host, options.limits)
        if options.grid.width_m <= 0.0 or options.grid.height_m <= 0.0:
            raise InputError("Thyme-DCS needs the area of its grid: set grid.width_m and grid.height_m")
        self.options = options
        area = options.grid
        self.grid = Grid(area.width_m, area.height_m, area.cell_m, area.namespace)
        self._contents = Contents(host)
        self._requests = Requests(host, options.retry)
        self.membership = Membership(host, self.grid, options, self._membership_events())
        self.beacons = Beacons(host, self.grid, self._beacon_events(), options.beacons, lambda: self.membership.member)
        self.router = GeographicRouter(
            host, self.grid, self.beacons, self._on_arrival, self._on_undelivered, options.routing
        )
        self.membership.beacons, self.membership.router = self.beacons, self.router
        self.notifier = Notifier(host, self.router, options, self._place_of)
        self._replicas = Replicas(
            host,
            self.grid,
            self.router,
            self.membership,
            self._requests,
            self._contents,
            options,
            lambda: self.broker.holdings,
        )
        self.broker = Broker(
            host,
            self.grid,
            self.router,
            options,
            self._new_holdings(),
            self.notifier,
            Spreading(self.grid, self.router, options),
            self._cell,
            self._replicas.fetch_for_cell,
        )
        self.repair = Repair(host, options, self._holdings_of_member, self._cell, self._send_in_cell)
        self.proxying = Proxying(
            host, self.grid, self.router, self.beacons, self._requests, options, self._holdings_of_member, self._cell
        )
        limits = options.limits
        self._inbox: Inbox[CellId] = Inbox(host, limits.own_subscriptions, limits.notified_memory)
        self._cell_requests = CellRequests(self._requests)
        self._locations = Locations(
            host, self.grid, self.router, self._cell_requests, self._inbox, lambda: self.membership.place
        )
        self._hot: dict[str, int] = {}

    def start(self) -> None:
        self.membership.start()
        self.broker.holdings.restore(self.membership.place)
        self.beacons.start()
        self.proxying.start()

    def join(self) -> None:
        self.membership.join()
        if self.options.refresh_s > 0.0:
            self.host.after(self._refresh_gap_s(), self._refresh)

    def stop(self) -> None:
        self.proxying.leaving(self.membership.cell)
        self.membership.stop()
        self.beacons.stop()

    def receive(self, sender: NodeId, message: Message) -> None:
        if not self.beacons.receive(sender, message):
            self.router.receive(sender, message)

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self.host.store.get(OWN, key.oid) is not None

    def _insert(self, metadata: Metadata, data: bytes, done: Done, replicate: bool | None) -> Metadata:
        active = self.options.active_replication if replicate is None else replicate
        where = Replica(WHOLE_CELL if active else self.node, self.membership.place)
        stored = msgspec.structs.replace(metadata, replicas=(where,))
        self._replicas.keep_own(stored, data)
        cells = insertion_cells(self.grid, stored, self._hot)
        self._ask_cells(cells, partial(_insertion, stored), done)
        return stored

    def delete(self, oid: str, done: Done) -> None:
        value = self.host.store.get(OWN, oid)
        if value is None:
            raise InputError(f"this node has no object {oid!r} to delete; only the owner can delete an object")
        metadata = metadata_decoder.decode(value)
        key = metadata.key
        self._replicas.drop_own(key)
        for replica in metadata.replicas:
            if replica.node == WHOLE_CELL:
                self.router.send_to_cell(replica.cell, DropObject(key))
        cells = cells_of_tags(self.grid, metadata.tags)
        self._ask_cells(cells, lambda number: DeleteMetadata(number, key), done)

    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        number = self._inbox.next_sid() if sid is None else sid
        subscription = Subscription.to_query(SubscriptionKey(number, self.node), query, frame)
        parts = parts_of(self.grid, subscription, self.host.random)
        self._inbox.add(subscription, notify)
        self._locations.subscribed(number, sorted(parts))
        self._subscribe_parts(parts, done)
        return subscription.key

    def unsubscribe(self, sid: int, done: Done) -> None:
        key = self._inbox.get(sid).subscription.key
        cells = self._locations.cells_of(sid)
        self._inbox.remove(sid)
        self._locations.unsubscribed(sid)
        self._ask_cells(cells, lambda number: UnsubscribePart(number, key), done)

    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        self._replicas.retrieve(metadata, done)

    def more(self, sid: int, done: Done) -> None:
        own = self._inbox.get(sid)

        def ask(source: CellId, number: int, cursor: Cursor, left: int) -> None:
            key, limit = own.subscription.key, self.options.past_matches
            request = MoreMatches(number, key, self.membership.place, cursor, limit, left)
            self.router.send_to_cell(source, request)

        ask_for_more(own, self._requests, ask, done)

    def remaining(self, sid: int) -> int:
        return self._inbox.get(sid).remaining

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        return self._inbox.resume(notify)

    def stored(self) -> Iterable[tuple[str, int, int]]:
        return self.broker.holdings.sizes()

    def _ask_cells(self, cells: Iterable[CellId], message: Callable[[int], Message], done: Done) -> None:
        """The same request to several cells."""

        def send(number: int, waiting: list[CellId]) -> None:
            self.router.send_to_many(map(Destination, waiting), message(number))

        self._cell_requests.begin(cells, send, done)

    def _subscribe_parts(self, parts: Mapping[CellId, Subscription], done: Done) -> None:
        """To each cell its share of a subscription."""

        def send(number: int, waiting: list[CellId]) -> None:
            place, past = self.membership.place, self.options.past_matches
            for cell in waiting:
                self.router.send_to_cell(cell, SubscribePart(number, parts[cell], place, past))

        self._cell_requests.begin(sorted(parts), send, done)

    def _send_in_cell(self, node: NodeId, message: Message) -> None:
        self.router.send_to_node(node, self.membership.cell, message)

    def _on_arrival(self, arrival: Arrival) -> None:
        message = arrival.message
        match message:
            case CellAnswer(request, cell, refusal, spread):
                self._remember_hot(spread)
                self._cell_requests.answered(request, cell, refusal)
            case CellNotification():
                self._on_notification(message, arrival.hops)
            case PartRequest():
                self._replicas.on_part_request(arrival, message)
            case PartReply():
                self._replicas.on_part(message)
            case Unknown(cell, objects, subscriptions):
                self._send_again(cell, objects, subscriptions)
            case JoinedState():
                self.membership.on_state(message)
            case JoinCell():
                self.membership.on_request(arrival.origin, arrival.origin_cell, message)
            case _:
                self._on_cell_message(arrival)

    def _on_cell_message(self, arrival: Arrival) -> None:
        """What concerns a member of the cell; a node that is on the way hears it and lets it be."""
        if not self.membership.member:
            return
        if arrival.form is Form.NODE and self.repair.receive(arrival.origin, arrival.message):
            return
        if not self.proxying.receive(arrival):
            self.broker.receive(arrival)

    def _remember_hot(self, spread: tuple[tuple[str, int], ...]) -> None:
        for tag, cells in spread:
            self._hot[tag] = cells
            if len(self._hot) > self.options.spread_memory:
                del self._hot[next(iter(self._hot))]

    def _on_notification(self, message: CellNotification, hops: int) -> None:
        for key in message.keys:
            own = self._inbox.find(key)
            if own is None:
                continue
            for metadata in message.matches:
                self._inbox.accept(key, metadata, hops)
            if message.request >= 0:
                own.cursors.pop(message.source, None)
            if message.cursor is not None and message.remaining > 0:
                own.cursors[message.source] = (message.cursor, message.remaining)
        if message.request >= 0:
            self._requests.resolve(message.request, Outcome())

    def _on_undelivered(self, node: NodeId, cell: CellId, number: int) -> None:
        if not self.notifier.undelivered(node, number):
            self._replicas.undelivered(number)

    def _holdings_of_member(self) -> Holdings | None:
        return self.broker.holdings if self.membership.member else None

    def _cell(self) -> CellId:
        return self.membership.cell

    def _place_of(self, key: SubscriptionKey) -> CellId | None:
        return self.broker.holdings.place_of(key)

    def _new_holdings(self) -> Holdings:
        options = self.options
        return Holdings(
            self.host.store,
            self._contents,
            options.contents.part_bytes,
            options.replication_list,
            options.revoked,
            all_keep_objects=options.replicas_in_cell == 0,
        )

    def _membership_events(self) -> MembershipEvents:
        return MembershipEvents(
            hand_over=lambda: joined(self.broker.holdings.common_state(), self.options.state_bytes),
            learn=lambda state: self.broker.learn(state),
            settled=self._on_settled,
            leaving=lambda cell: self.proxying.leaving(cell),
            discard=self._discard,
            crossed=lambda cell: self._locations.tell(objects=False, catch_up=False),
        )

    def _beacon_events(self) -> BeaconEvents:
        return BeaconEvents(
            population_changed=lambda cell, count: self.proxying.populated(cell) if count == 1 else None,
            digest=lambda: self.repair.digest(),
            heard=lambda neighbour, digest: self._on_beacon(neighbour, digest),
        )

    def _on_beacon(self, neighbour: Neighbour, digest: bytes) -> None:
        self.repair.heard(neighbour, digest)
        if self.membership.member:
            self._locations.seen()

    def _refresh(self) -> None:
        self.host.after(self._refresh_gap_s(), self._refresh)
        if self.membership.member:
            self._locations.tell(objects=False, catch_up=False)

    def _refresh_gap_s(self) -> float:
        return self.options.refresh_s * self.host.random.uniform(0.5, 1.5)

    def _on_settled(self, alone: bool) -> None:
        self.repair.forget()
        self.proxying.settled(alone)
        self._locations.tell(objects=True, catch_up=self.options.catch_up)

    def _discard(self) -> None:
        self._replicas.discard()
        self.broker.holdings.clear_saved()
        self.broker.holdings = self._new_holdings()
        self.broker.holdings.restore(self.membership.place)

    def _send_again(
        self, cell: CellId, objects: tuple[ObjectKey, ...], subscriptions: tuple[SubscriptionKey, ...]
    ) -> None:
        """A cell has lost what this node told it before it was away."""
        for key in objects:
            value = self.host.store.get(OWN, key.oid)
            if value is not None:
                metadata = metadata_decoder.decode(value)
                self._ask_cells([cell], partial(_insertion, metadata), _ignore)
        for subscription in subscriptions:
            own = self._inbox.find(subscription)
            if own is not None:
                self._subscribe_again(own.subscription, cell)

    def _subscribe_again(self, subscription: Subscription, cell: CellId) -> None:
        lost = tuple(c for c in subscription.conjunctions if any(self.grid.cell_for(t) == cell for t in c.positive))
        if lost:
            self._subscribe_parts({cell: Subscription(subscription.key, lost, subscription.frame)}, _ignore)


def _insertion(metadata: Metadata, number: int) -> Message:
    return InsertMetadata(number, metadata)


def _ignore(outcome: Outcome) -> None:
    """Nobody waits for what is sent again; if it fails, the next location update finds out."""
