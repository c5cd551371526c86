"""The broker side of Thyme-DCS: what a member does when a request reaches its cell (Thyme FGCS §6.1–6.4).

Routing brings a request for a cell to one of its members at random. That member carries it out on its copy of the
cell's state, notifies, tells the other members, and answers. The others only learn (`learning`), so matching is done
once. What a member itself inserts is answered when another member has it (`Confirming`). Anybody who has a copy may
insert its metadata, since the owner has signed it where that matters (`wire.statements`).

`LocationUpdates`: a node that has moved says so to the cells of its subscriptions, which send it what they kept for it,
and to the cells of the objects that it holds, which put it on their replication lists; so does a node that has
retrieved an object (§6.2.2, §6.2.3, §6.4.3). What the cell
should know and does not, because it was empty for a while, it asks the node to send again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.notifier import MATCHES_PER_MESSAGE, Notifier
from thyme.approaches.interface import Outcome
from thyme.approaches.past import answer_in_pieces
from thyme.model.ids import CellId, ObjectKey
from thyme.model.matching import IndexFull
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival, Destination, Form
from thyme.wire.cells import (
    WHOLE_CELL,
    CellAnswer,
    CellState,
    Deleted,
    DeleteMetadata,
    DropCopy,
    Held,
    InsertMetadata,
    LocationUpdate,
    Part,
    PastOf,
    ReplicaAdded,
    Revoked,
    SubscribePart,
    Unknown,
    UnsubscribePart,
)
from thyme.wire.storage import MoreRequest


class Broker:
    """A member's handling of requests to its cell."""

    def __init__(self, cell: Cell, notifier: Notifier, learning: Learning) -> None:
        self._cell = cell
        self._confirming = learning.confirming
        self._unconfirmed: dict[tuple[ObjectKey, CellId], Callable[[], None]] = {}
        """This node's own insertions that no other member has yet, with the answer of each."""
        self._notifier = notifier
        self._learning = learning
        cell.serve(InsertMetadata, self._insert)
        cell.serve(DeleteMetadata, self._delete)
        cell.serve(SubscribePart, self._subscribe)
        cell.serve(UnsubscribePart, self._unsubscribe)
        cell.serve(MoreRequest, self._more)

    def _insert(self, arrival: Arrival, message: InsertMetadata) -> None:
        metadata = message.metadata
        if arrival.proxied:
            self._cell.stand_in(arrival.target)
        if arrival.origin == self._cell.host.node:
            self._insert_own(arrival, message)
            return
        again = metadata.key.owner != arrival.origin
        refusal = self._keep(metadata, arrival.target, self._cell.tell_surely, again=again)
        self._answer(arrival, message.request, refusal)

    def _insert_own(self, arrival: Arrival, message: InsertMetadata) -> None:
        """A request of this node itself, repeated if not answered in time. If it is confirmed at once, it is answered
        after its subscribers were notified."""
        metadata, told = message.metadata, list[CellState]()
        keeping, at_once = True, list[Outcome]()
        key = (metadata.key, arrival.target)
        again = key in self._unconfirmed
        self._unconfirmed[key] = partial(self._answer, arrival, message.request)
        if again:
            return

        def end(outcome: Outcome) -> None:
            if keeping:
                at_once.append(outcome)
                return
            answer = self._unconfirmed.pop(key, None)
            if answer is not None and outcome.ok:
                answer()

        def tell(state: CellState) -> None:
            told.append(state)
            self._confirming.tell(state, end)

        refusal = self._keep(metadata, arrival.target, tell)
        keeping = False
        if refusal:
            del self._unconfirmed[key]
            self._answer(arrival, message.request, refusal)
        elif at_once or not told:
            end(at_once[0] if at_once else Outcome())

    def _keep(self, metadata: Metadata, home: CellId, tell: Callable[[CellState], None], *, again: bool = False) -> str:
        """Keep metadata for a home cell, `tell` the other members and notify matching subscribers, who compare if
        they may have been notified before (`again`); returns the reason if it does not fit."""
        held = Held(home, metadata)
        try:
            new, matching = self._cell.holdings.put(held)
        except IndexFull as full:
            return str(full)
        if new:
            tell(CellState(held=(held,)))
            if matching and again:
                self._notifier.doubt(s.key for s in matching)
            elif matching:
                self._notifier.notify([s.key for s in matching], metadata)
        return ""

    def _delete(self, arrival: Arrival, message: DeleteMetadata) -> None:
        key = message.key
        if key.owner != arrival.origin:
            self._answer(arrival, message.request, "only its owner deletes an object")
            return
        deleted, known = Deleted(arrival.target, key), self._cell.holdings.index.get(key)
        if self._cell.holdings.delete(deleted):
            self._cell.tell_surely(CellState(deleted=(deleted,)))
            if known is not None and self._cell.options.repair:
                self._drop_copies(known)
        self._answer(arrival, message.request)

    def _drop_copies(self, deleted: Metadata) -> None:
        """Tell the listed replicas. Members learn of the deletion with their cell."""
        holders = [
            Destination(r.cell, r.node) for r in deleted.replicas if r.node not in (WHOLE_CELL, deleted.key.owner)
        ]
        if holders:
            self._cell.router.send_to_many(holders, DropCopy(deleted.key))

    def _subscribe(self, arrival: Arrival, message: SubscribePart) -> None:
        if arrival.proxied:
            self._cell.stand_in(arrival.target)
        now_s = self._cell.host.now()
        end_s = message.subscription.frame.end_s
        since_s = now_s if end_s is None or not message.again else min(now_s, end_s)
        part = Part(arrival.target, message.subscription, message.cell, message.told_s, since_s)
        try:
            new = self._cell.holdings.parts.put(part)
        except IndexFull as full:
            self._answer(arrival, message.request, str(full))
            return
        if new:
            self._cell.tell_surely(CellState(parts=(part,)))
        past = self._send_past(message, arrival.target)
        self._answer(arrival, message.request, past=past)

    def _send_past(self, message: SubscribePart, home: CellId) -> int:
        """Send the most recent past matches of a subscription ahead of its answer; returns the number of all."""
        if message.past < 1:
            return 0
        search, missing_bytes = self._cell.holdings.index.search, self._cell.host.codec.missing_bytes
        pieces = list(
            answer_in_pieces(search, message.subscription, None, message.past, MATCHES_PER_MESSAGE, missing_bytes)
        )
        if pieces[0].matches:
            for piece in pieces:
                to = message.subscription.key.subscriber
                self._cell.router.send_to_node(to, message.cell, PastOf(home, piece))
        return sum(len(piece.matches) for piece in pieces) + pieces[-1].left

    def _unsubscribe(self, arrival: Arrival, message: UnsubscribePart) -> None:
        revoked = Revoked(arrival.target, message.key)
        if message.key.subscriber == arrival.origin and self._cell.holdings.parts.revoke(revoked):
            self._cell.tell_surely(CellState(revoked=(revoked,)))
        self._answer(arrival, message.request)

    def _more(self, arrival: Arrival, message: MoreRequest) -> None:
        """The request contains the subscription, so a member that missed the subscription can answer too."""
        subscription, search = message.subscription, self._cell.holdings.index.search
        if subscription.key.subscriber != arrival.origin:
            return
        host = self._cell.host
        answer = answer_in_pieces(
            search,
            subscription,
            message.cursor,
            message.limit,
            MATCHES_PER_MESSAGE,
            host.codec.missing_bytes,
            message.request,
            host.part_bytes(),
        )
        for piece in answer:
            self._cell.answer(arrival, PastOf(arrival.target, piece))

    def _answer(self, arrival: Arrival, request: int, refusal: str = "", past: int = 0) -> None:
        self._cell.answer(arrival, CellAnswer(request, arrival.target, refusal, past))


class LocationUpdates:
    """The locations of subscribers and replicas known to this member's cell."""

    def __init__(self, cell: Cell, notifier: Notifier) -> None:
        self._cell = cell
        self._notifier = notifier
        cell.serve(LocationUpdate, self._relocate)
        cell.serve(ReplicaAdded, self._add_replica)

    def _relocate(self, arrival: Arrival, message: LocationUpdate) -> None:
        holdings = self._cell.holdings
        moved = False
        for key in message.subscriptions:
            if key.subscriber == message.node:
                moved |= holdings.parts.move_subscriber(key, message.cell, message.told_s)
        for object_key in message.objects:
            holdings.add_replica(object_key, Replica(message.node, message.cell))
        if moved:
            self._notifier.moved(message.node)
        if arrival.form is Form.BROADCAST:
            return
        if message.request >= 0:
            self._cell.answer(arrival, CellAnswer(message.request, arrival.target))
            message = msgspec.structs.replace(message, request=-1)
        if moved or message.objects:
            self._cell.tell_others(message)
        self._drop_deleted(message.objects, Replica(message.node, message.cell))
        options = self._cell.options
        if options.repair or not options.reconcile:
            self._ask_for_unknown(arrival, message)

    def _add_replica(self, arrival: Arrival, message: ReplicaAdded) -> None:
        """The object may have been deleted while its content was fetched."""
        added = self._cell.holdings.add_replica(message.key, message.replica)
        if arrival.form is Form.BROADCAST:
            return
        if added:
            self._cell.tell_others(message)
        self._drop_deleted([message.key], message.replica)

    def _drop_deleted(self, keys: Iterable[ObjectKey], replica: Replica) -> None:
        """Tell a replica which of its copies are of deleted objects."""
        for key in keys if self._cell.options.repair else ():
            if self._cell.holdings.index.deleted(key):
                self._cell.router.send_to_node(replica.node, replica.cell, DropCopy(key))

    def _ask_for_unknown(self, arrival: Arrival, message: LocationUpdate) -> None:
        """A cell that was empty for a while may have lost what returning nodes still have. A proxy may hold the same
        for another cell, and would hand it over with that cell's keys."""
        holdings, home = self._cell.holdings, arrival.target
        objects = [
            key
            for key in message.objects
            if self._cell.options.repair and not holdings.holds(key, home) and not holdings.index.deleted(key)
        ]
        subscriptions = [key for key in message.subscriptions if holdings.parts.get(key, home) is None]
        if objects or subscriptions:
            unknown = Unknown(home, tuple(objects), tuple(subscriptions))
            self._cell.router.send_to_node(message.node, message.cell, unknown)
