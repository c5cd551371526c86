"""Thyme-DCS: one node of it (Thyme FGCS §6), as an application sees it and as a member of its cell.

The client side is here: an operation becomes requests to the cells that the tags hash to, and is done when all of them
have answered. The object itself stays in its owner's cell, where every member keeps it (active replication); whoever
retrieves it becomes a further replica (passive replication). What is done for the cell is in the other modules of this
package: `broker`, `notifier`, `membership`, `repair`, `proxying`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from thyme.approaches.contents import Contents, Fetches
from thyme.approaches.dcs.broker import Broker
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.holdings import Holdings, joined
from thyme.approaches.dcs.keys import cells_of_tags, insertion_cells, keepers_of, parts_of, sources_of
from thyme.approaches.dcs.locations import OWN, REPLICA, Locations, metadata_decoder
from thyme.approaches.dcs.membership import Membership, MembershipEvents
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.proxying import Proxying
from thyme.approaches.dcs.repair import Repair
from thyme.approaches.dcs.spreading import Spreading
from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import (
    Capabilities,
    Done,
    Failure,
    Fetched,
    Notify,
    Outcome,
    ReactiveStore,
    key_of,
)
from thyme.approaches.paging import ask_for_more
from thyme.approaches.requests import Requests
from thyme.host import Host
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.objects import DataObject, Metadata, Replica, check_object
from thyme.model.queries import Query
from thyme.model.subscriptions import Subscription
from thyme.routing.addresses import Arrival, Destination, Form
from thyme.routing.beacons import BeaconEvents, Beacons, Neighbour
from thyme.routing.geographic import GeographicRouter
from thyme.routing.grid import Grid
from thyme.wire.cells import (
    WHOLE_CELL,
    CellAnswer,
    CellNotification,
    CellState,
    DeleteMetadata,
    DropObject,
    InsertMetadata,
    JoinCell,
    JoinedState,
    MoreMatches,
    ReplicaAdded,
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
        super().__init__(host)
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
        self.broker = Broker(
            host,
            self.grid,
            self.router,
            options,
            self._new_holdings(),
            self.notifier,
            Spreading(self.grid, self.router, options),
            self._cell,
            self._fetch_for_cell,
        )
        self.repair = Repair(host, options, self._holdings_of_member, self._cell, self._send_in_cell)
        self.proxying = Proxying(
            host, self.grid, self.router, self.beacons, self._requests, options, self._holdings_of_member, self._cell
        )
        self._fetches: Fetches[Destination] = Fetches(self._requests, self._ask_for_part, options.contents)
        limits = options.limits
        self._inbox: Inbox[CellId] = Inbox(host, limits.own_subscriptions, limits.notified_memory)
        self._cell_requests = CellRequests(self._requests)
        self._locations = Locations(
            host, self.grid, self.router, self._cell_requests, self._inbox, lambda: self.membership.place
        )
        self._asked_parts: dict[int, int] = {}
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

    def insert(
        self,
        oid: str,
        data: bytes,
        tags: Iterable[str],
        summary: bytes,
        done: Done,
        *,
        replicate: bool | None = None,
    ) -> Metadata:
        checked = check_object(data, tags, summary, self.options.limits.objects)
        key = key_of(oid, self.node)
        if self.host.store.get(OWN, oid) is not None:
            raise InputError(f"object {oid!r} was inserted by this node before; objects are immutable, use a new id")
        active = self.options.active_replication if replicate is None else replicate
        place = self.membership.place
        where = Replica(WHOLE_CELL if active else self.node, place)
        metadata = Metadata(key, checked, summary, self.host.now(), len(data), (where,))
        self._contents.keep(key, data)
        self.host.store.put(OWN, oid, msgspec.msgpack.encode(metadata))
        if active:
            self._replicate(metadata, data)
        cells = insertion_cells(self.grid, metadata, self._hot)
        self._ask_cells(cells, lambda number: InsertMetadata(number, metadata), done)
        return metadata

    def delete(self, oid: str, done: Done) -> None:
        value = self.host.store.get(OWN, oid)
        if value is None:
            raise InputError(f"this node has no object {oid!r} to delete; only the owner can delete an object")
        metadata = metadata_decoder.decode(value)
        key = metadata.key
        self.host.store.remove(OWN, oid)
        self._contents.drop(key)
        self.broker.holdings.drop_object(key)
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
        if self._contents.has(metadata.key):
            done(Outcome(), self._contents.read(metadata.key))
            return
        sources = sources_of(self.grid, metadata, self.membership.place)

        def fetched(outcome: Outcome, data: bytes) -> None:
            if outcome.ok:
                self._become_replica(metadata, data)
            done(outcome, data)

        self._fetches.fetch(metadata.key, metadata.size_bytes, sources, fetched)

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

    def _replicate(self, metadata: Metadata, data: bytes) -> None:
        """Active replication in the cell this node is in (§6.2.1); a large object is announced and fetched."""
        small = len(data) <= self.options.contents.part_bytes
        members = [neighbour.node for neighbour in self.beacons.in_cell(self.membership.place)]
        keepers = keepers_of(metadata.key, members, self.options.replicas_in_cell)
        state = CellState(objects=(DataObject(metadata, data if small else b""),), keepers=keepers)
        self.router.tell_each_in_cell(state, self.membership.place, self.options.sure_members)
        if self.membership.member:
            self.broker.holdings.put_object(metadata, data)

    def _become_replica(self, metadata: Metadata, data: bytes) -> None:
        """Passive replication (§6.2.2): keep what was retrieved, and say so where its metadata is."""
        self._contents.keep(metadata.key, data)
        self.host.store.put(REPLICA, str(metadata.key), msgspec.msgpack.encode(metadata))
        added = ReplicaAdded(metadata.key, Replica(self.node, self.membership.place))
        self.router.send_to_many(map(Destination, cells_of_tags(self.grid, metadata.tags)), added)

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
                self._on_part_request(arrival, message)
            case PartReply():
                self._fetches.on_reply(message)
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
        if self.notifier.undelivered(node, number):
            return
        request = self._asked_parts.pop(number, None)
        if request is not None:
            self._requests.resolve(request, Outcome(Failure.NOT_FOUND))

    def _on_part_request(self, arrival: Arrival, request: PartRequest) -> None:
        """A proxy that does not know an object may be one by mistake, for want of a few beacons. It keeps silent, so
        that the question is put again, and then perhaps to the right cell."""
        if arrival.proxied and self.options.dynamic_cells and not self._contents.has(request.key):
            return
        self.router.send_to_node(arrival.origin, arrival.origin_cell, self._contents.answer(request))

    def _ask_for_part(self, source: Destination, request: PartRequest) -> None:
        if source.node == WHOLE_CELL:
            self.router.send_to_cell(source.cell, request)
            return
        number = self.router.send_to_node(source.node, source.cell, request)
        self._asked_parts[number] = request.request
        if len(self._asked_parts) > self.options.retry.pending:
            del self._asked_parts[next(iter(self._asked_parts))]

    def _fetch_for_cell(self, arrival: Arrival, state: CellState) -> None:
        """Large objects that the cell replicates come without their data: fetch them from whoever told of them."""
        for thing in state.objects:
            metadata = thing.metadata
            if len(thing.data) == metadata.size_bytes or self.broker.holdings.has_object(metadata.key):
                continue
            source = Destination(arrival.origin_cell, arrival.origin)

            def keep(outcome: Outcome, data: bytes, metadata: Metadata = metadata) -> None:
                if outcome.ok and self.membership.member:
                    self.broker.holdings.put_object(metadata, data)

            self._fetches.fetch(metadata.key, metadata.size_bytes, [source], keep)

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
        """The old cell's data stay with the old cell (§6.6.3); own and retrieved objects are kept."""
        for metadata in list(self.broker.holdings.objects()):
            if not self._is_mine(metadata.key):
                self._contents.drop(metadata.key)
        self.broker.holdings.clear_saved()
        self.broker.holdings = self._new_holdings()
        self.broker.holdings.restore(self.membership.place)

    def _is_mine(self, key: ObjectKey) -> bool:
        own = key.owner == self.node and self.host.store.get(OWN, key.oid) is not None
        return own or self.host.store.get(REPLICA, str(key)) is not None

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
