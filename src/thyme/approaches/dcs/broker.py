"""The broker side of Thyme-DCS: what a member does when a request reaches its cell (Thyme FGCS §6.1–6.4).

Routing brings a request for a cell to one of its members at random. That member carries it out on its own copy of the
cell's state, notifies, passes the news on to the rest of the cell in one broadcast, and answers. The others only learn
(`learn`): matching is done once. A broadcast may be lost, so a member may decide without knowing all; it remembers
what it decided of late, and when it learns of something that would have matched, it notifies then.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.approaches.dcs.answered import Answered
from thyme.approaches.dcs.holdings import Holdings
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.spreading import Spreading
from thyme.host import Host
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.matching import Batch, IndexFull
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival, Form
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import (
    CellAnswer,
    CellState,
    DeleteMetadata,
    DropObject,
    Held,
    InsertMetadata,
    LocationUpdate,
    MoreMatches,
    Part,
    ReplicaAdded,
    SpreadInsert,
    SubscribePart,
    Unknown,
    UnsubscribePart,
)
from thyme.wire.message import Message

MOST_CAUGHT_UP = 1_000
"""Matches that are told at once to a subscriber that was away, or whose subscription came from another cell."""


class Broker:
    """A member's work for its cell."""

    def __init__(
        self,
        host: Host,
        grid: Grid,
        router: GeographicRouter,
        options: CellStorageOptions,
        holdings: Holdings,
        notifier: Notifier,
        spreading: Spreading,
        cell: Callable[[], CellId],
        fetch: Callable[[Arrival, CellState], None],
    ) -> None:
        self._host = host
        self._grid = grid
        self._router = router
        self._options = options
        self.holdings = holdings
        self._notifier = notifier
        self._spreading = spreading
        self._cell = cell
        self._fetch = fetch
        self._inserted: Answered[ObjectKey] = Answered(host.store, "answered insertion", ObjectKey, options.brokered)
        self._subscribed: Answered[SubscriptionKey] = Answered(
            host.store, "answered subscription", SubscriptionKey, options.brokered
        )

    def receive(self, arrival: Arrival) -> bool:
        """Handle a message for the cell; False if it is not the broker's."""
        first = arrival.form is not Form.BROADCAST
        match arrival.message:
            case InsertMetadata():
                self._insert(arrival, arrival.message)
            case SpreadInsert():
                self._insert_spread(arrival, arrival.message)
            case DeleteMetadata(request, key):
                self._delete(arrival, request, key)
            case SubscribePart():
                self._subscribe(arrival, arrival.message)
            case UnsubscribePart(request, key):
                if key.subscriber == arrival.origin and self.holdings.revoke(key):
                    self._pass_on(CellState(revoked=(key,)))
                    self._spreading.revoked(self.holdings, key, arrival.target)
                self._answer(arrival, request)
            case LocationUpdate():
                self._relocate(arrival, arrival.message, first)
            case ReplicaAdded(key, replica):
                if self.holdings.add_replica(key, replica) and first:
                    self._router.broadcast_in_cell(arrival.message)
                elif first and not self.holdings.index.get(key):
                    self._spreading.everywhere(self.holdings, arrival.message, arrival.target)
            case MoreMatches():
                self._more(arrival, arrival.message)
            case DropObject(key):
                if key.owner == arrival.origin or not first:
                    self.holdings.drop_object(key)
                    if first:
                        self._router.broadcast_in_cell(arrival.message)
            case CellState():
                self._on_state(arrival, arrival.message, first)
            case _:
                return False
        return True

    def learn(self, state: CellState) -> None:
        """Take what is news from another member, and notify of matches that this node missed when it had to decide."""
        holdings, cell = self.holdings, self._cell()
        for tag, cells in state.spread:
            holdings.spread_tag(tag, cells)
        for key in state.deleted:
            holdings.delete(key)
        for revoked in state.revoked:
            holdings.revoke(revoked)
        for held in state.held:
            new, matching = holdings.put(held)
            if held.home != cell:
                self._router.remember_proxy(held.home)
            # Of what was published before a subscription, whoever answered that subscription should have told.
            published_s = held.metadata.published_s
            missed = [s.key for s in matching if new and self._subscribed.get(s.key, published_s) > published_s]
            self._notifier.notify(missed, held.metadata, cell)
        for part in state.parts:
            fresh = holdings.index.subscription(part.subscription.key) is None
            if holdings.put_part(part):
                self._notifier.moved(part.subscription.key.subscriber)
            if fresh:
                self._notify_of_inserted(part, cell)
        if state.keepers and self._host.node not in state.keepers:
            return
        for thing in state.objects:
            if len(thing.data) == thing.metadata.size_bytes:
                holdings.put_object(thing.metadata, thing.data)

    def _insert(self, arrival: Arrival, message: InsertMetadata) -> None:
        metadata = message.metadata
        if metadata.key.owner != arrival.origin:
            self._answer(arrival, message.request, "only its owner inserts an object")
            return
        if self._spreading.passed_on(self.holdings, arrival, message):
            return
        refusal = self._keep(metadata, arrival.target)
        self._answer(arrival, message.request, refusal, metadata.tags)

    def _insert_spread(self, arrival: Arrival, message: SpreadInsert) -> None:
        """An insertion that belongs here, passed on by the first cell of a hot tag, in whose name it is answered."""
        metadata = message.metadata
        refusal = self._keep(metadata, arrival.target)
        hot = tuple((t, self._options.spread_cells) for t in metadata.tags if self._homes(t) == message.home)
        answer = CellAnswer(message.request, message.home, refusal, hot)
        self._router.send_to_node(metadata.key.owner, message.owner_cell, answer)

    def _keep(self, metadata: Metadata, home: CellId) -> str:
        """Keep metadata for a home and notify whoever it concerns; why not, if it could not be kept."""
        held = Held(home, metadata)
        try:
            new, matching = self.holdings.put(held)
        except IndexFull as full:
            return str(full)
        if new:
            self._inserted.remember(metadata.key, self._host.now())
            self._router.tell_each_in_cell(CellState(held=(held,)), most=self._options.sure_members)
            self._notifier.notify([s.key for s in matching], metadata, home)
            hot = self._spreading.grown(self.holdings, metadata, home)
            if hot:
                self._pass_on(hot)
        return ""

    def _delete(self, arrival: Arrival, request: int, key: ObjectKey) -> None:
        if key.owner != arrival.origin:
            self._answer(arrival, request, "only its owner deletes an object")
            return
        if self.holdings.delete(key):
            self._pass_on(CellState(deleted=(key,)))
            self._spreading.deleted(self.holdings, key, arrival.target)
        self._answer(arrival, request)

    def _subscribe(self, arrival: Arrival, message: SubscribePart) -> None:
        key = message.subscription.key
        now_s = self._host.now()
        part = Part(arrival.target, message.subscription, message.cell, now_s, now_s)
        try:
            new = self.holdings.put_part(part)
        except IndexFull as full:
            self._answer(arrival, message.request, str(full))
            return
        self._answer(arrival, message.request)
        if not new:
            return
        self._subscribed.remember(key, now_s)
        self._pass_on(CellState(parts=(part,)))
        self._spreading.subscribed(self.holdings, message, arrival.target)
        if message.past < 1:
            return
        batch = self.holdings.index.search(message.subscription, message.past)
        if batch.matches:
            remaining = batch.total - len(batch.matches)
            self._notifier.notify_batch(key, message.cell, batch, remaining, arrival.target)

    def _more(self, arrival: Arrival, message: MoreMatches) -> None:
        part = self.holdings.part(message.key, arrival.target)
        if part is None:
            self._answer(arrival, message.request, "unknown subscription")
            return
        batch = self.holdings.index.search(part.subscription, message.limit, message.cursor)
        remaining = max(0, message.remaining - len(batch.matches))
        self._notifier.notify_batch(message.key, message.cell, batch, remaining, arrival.target, message.request)

    def _relocate(self, arrival: Arrival, message: LocationUpdate, first: bool) -> None:
        moved = False
        for key in message.subscriptions:
            if key.subscriber == message.node:
                moved |= self.holdings.move_subscriber(key, message.cell, message.told_s)
        for object_key in message.objects:
            self.holdings.add_replica(object_key, Replica(message.node, message.cell))
        if moved:
            self._notifier.moved(message.node)
        if not first:
            return
        if message.request >= 0:
            self._answer(arrival, message.request)
            message = msgspec.structs.replace(message, request=-1)
        if moved or message.objects:
            self._router.broadcast_in_cell(message)
            self._spreading.everywhere(self.holdings, message, arrival.target)
        if self._options.repair and not self.holdings.spread:
            self._ask_for_unknown(arrival, message)
        if message.since_s is not None:
            for key in message.subscriptions:
                self._catch_up(key, message.cell, message.since_s, arrival.target)

    def _ask_for_unknown(self, arrival: Arrival, message: LocationUpdate) -> None:
        """A cell that was empty for a while may have lost what its returning nodes still know."""
        index = self.holdings.index
        objects = [
            key
            for key in message.objects
            if key.owner == message.node and index.get(key) is None and not index.deleted(key)
        ]
        subscriptions = [key for key in message.subscriptions if self.holdings.part(key, arrival.target) is None]
        if objects or subscriptions:
            unknown = Unknown(arrival.target, tuple(objects), tuple(subscriptions))
            self._router.send_to_node(message.node, message.cell, unknown)

    def _catch_up(self, key: SubscriptionKey, cell: CellId, since_s: float, source: CellId) -> None:
        """Tell a subscriber that was away of what was published meanwhile."""
        subscription = self.holdings.index.subscription(key)
        if subscription is None:
            return
        frame = subscription.frame
        start_s = since_s if frame.start_s is None else max(since_s, frame.start_s)
        if frame.end_s is not None and frame.end_s <= start_s:
            return
        recent = msgspec.structs.replace(subscription, frame=type(frame)(start_s, frame.end_s))
        batch = self.holdings.index.search(recent, MOST_CAUGHT_UP)
        if batch.matches:
            self._notifier.notify_batch(key, cell, Batch(batch.matches, batch.total, None), 0, source)

    def _notify_of_handed_over(self, state: CellState) -> None:
        """What two cells kept apart meets here for the first time: nobody can have told of these matches."""
        holdings, cell = self.holdings, self._cell()
        for part in state.parts:
            key = part.subscription.key
            if holdings.part(key, part.home) is None and holdings.put_part(part):
                batch = holdings.index.search(part.subscription, MOST_CAUGHT_UP)
                if batch.matches:
                    self._notifier.notify_batch(key, part.cell, Batch(batch.matches, batch.total, None), 0, cell)
        for held in state.held:
            new, matching = holdings.put(held)
            if new:
                self._notifier.notify([subscription.key for subscription in matching], held.metadata, cell)

    def _notify_of_inserted(self, part: Part, cell: CellId) -> None:
        """Of what was published after a subscription, whoever answered the insertion should have told."""
        for key in self._inserted:
            metadata = self.holdings.index.get(key)
            if metadata is None or metadata.published_s < part.since_s:
                continue
            if part.subscription.matches(metadata):
                self._notifier.notify([part.subscription.key], metadata, cell)

    def _on_state(self, arrival: Arrival, state: CellState, first: bool) -> None:
        """News from another member, or another cell's keys that this cell is to keep from now on."""
        if state.request >= 0:
            self._notify_of_handed_over(state)
        self.learn(state)
        if not state.keepers or self._host.node in state.keepers:
            self._fetch(arrival, state)
        if state.request >= 0:
            self._answer(arrival, state.request)
            self._pass_on(msgspec.structs.replace(state, request=-1))

    def _pass_on(self, state: CellState) -> None:
        self._router.broadcast_in_cell(state)

    def _homes(self, tag: str) -> CellId:
        return self._grid.cell_for(tag)

    def _answer(self, arrival: Arrival, request: int, refusal: str = "", tags: tuple[str, ...] = ()) -> None:
        hot = self._spreading.hot_tags(self.holdings, tags, arrival.target)
        answer: Message = CellAnswer(request, arrival.target, refusal, hot)
        self._router.send_to_node(arrival.origin, arrival.origin_cell, answer)
