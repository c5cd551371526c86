"""The subscriber side of Thyme-DCS (Thyme FGCS §6.4): a node's own subscriptions and their notifications.

A subscription is divided among the cells of its conjunctions' keys; the node stores which, across restarts. Any of them
notifies; each object is delivered once (`Inbox`). Past matches come with the cells' answers, and the most recent of all
cells are delivered (`Pager`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf
from struct import Struct

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.keys import parts_of
from thyme.approaches.inbox import Inbox, OwnSubscription
from thyme.approaches.interface import Done, Outcome, ignore
from thyme.approaches.pager import Pager
from thyme.host import StoreFull
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.records import Counted, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellAnswer, CellNotification, PastOf, SubscribePart, UnsubscribePart
from thyme.wire.storage import MoreRequest

SUBSCRIPTION_CELLS = "subscription cells"
OVERTAKEN_S = 0.1
"""How long to wait for past matches that were overtaken by the answer, before requesting them."""
REFUSED_S = 5.0
"""How long to wait after the disk refused a notification, before asking the cells what is missing."""
_cells = msgspec.msgpack.Decoder(list[CellId])
_PUBLISHED = Struct(">d")


class Subscriber:
    """This node's subscriptions, and the cells that have a share of each."""

    def __init__(self, cell: Cell, requests: CellRequests, inbox: Inbox[CellId]) -> None:
        self._cell = cell
        self._requests = requests
        self._inbox = inbox
        self._inbox.removed = self._forget_cells
        self._inbox.stamp = self._stamp
        self.subscribed: Callable[[], None] = ignore
        """Called when this node has subscribed."""
        self.doubted: Callable[[SubscriptionKey, CellId], None] = ignore
        """Called when a cell that had lost its share of a subscription gets it again, and after the disk refused what
        a cell had sent."""
        self._refused: set[SubscriptionKey] = set()
        """Subscriptions whose matches the disk refused; their cells will be asked."""
        self.pager: Pager[CellId] = Pager(self._inbox, cell.requests, self._ask_for_past, cell.options.past_matches)
        cell.hear(CellNotification, self._on_notification)
        cell.hear(PastOf, self._on_past)

    def subscribe(self, subscription: Subscription, done: Done) -> None:
        """Divide a subscription of the inbox among its cells."""
        sid = subscription.key.sid
        parts = parts_of(self._cell.grid, subscription, self._cell.host.random)
        self._cell.host.store.put(SUBSCRIPTION_CELLS, str(sid), msgspec.msgpack.encode(sorted(parts)))
        self._cell.named[subscription.key] = self._cell.place
        own = self._inbox.get(sid)

        def tell(outcome: Outcome) -> None:
            self.pager.give(own, ignore)
            done(Outcome(outcome.failure, own.remaining))

        def answered(outcome: Outcome) -> None:
            if own.past.awaited():
                self._cell.host.after(OVERTAKEN_S, lambda: tell(outcome))
            else:
                tell(outcome)

        self._send_parts(own, parts, answered)
        self.subscribed()

    def unsubscribe(self, key: SubscriptionKey, done: Done) -> None:
        cells = self._cells_of(key.sid)
        self._inbox.remove(key.sid)
        self._requests.ask(cells, lambda number: UnsubscribePart(number, key), done)

    def shares(self, at_s: float = -inf) -> Iterator[tuple[SubscriptionKey, CellId]]:
        """Every subscription with every cell that has a share of it; with a time, only those that had not ended by
        then."""
        for own in self._inbox:
            key = own.subscription.key
            if not own.subscription.frame.ended(at_s):
                for cell in self._cells_of(key.sid):
                    yield key, cell

    def share_of(self, key: SubscriptionKey, cell: CellId) -> Subscription | None:
        """The conjunctions of one of this node's subscriptions that a cell may have to evaluate."""
        own = self._inbox.find(key)
        return None if own is None else self._share(own, cell)

    def delivered(self, key: SubscriptionKey, cell: CellId) -> Iterator[tuple[ObjectKey, float]]:
        """The delivered objects of a subscription that a cell's share of it matches, with the publication time of
        each."""
        cells = self._cells_of(key.sid)
        place = cells.index(cell) if cell in cells else -1
        for one, stamp in self._inbox.delivered(key.sid):
            if len(stamp) >= _PUBLISHED.size and place in stamp[_PUBLISHED.size :]:
                yield one, _PUBLISHED.unpack_from(stamp)[0]

    def complete_from_s(self, key: SubscriptionKey) -> float | None:
        """All matches published since this time should have been delivered. It is always, unless past matches are left
        to request: then it is the time of the oldest one delivered. None if unknown."""
        own = self._inbox.find(key)
        if own is None or not own.answered:
            return None
        if own.notify is not None and not own.remaining:
            return -inf
        stamps = (stamp for _, stamp in self._inbox.delivered(key.sid) if len(stamp) >= _PUBLISHED.size)
        return min((_PUBLISHED.unpack_from(stamp)[0] for stamp in stamps), default=None)

    def _stamp(self, own: OwnSubscription[CellId], metadata: Metadata) -> bytes:
        """When a match was published, and which of the subscription's cells should know it."""
        cells = self._cells_of(own.subscription.key.sid)
        shares = [0] if len(cells) == 1 else [i for i, c in enumerate(cells) if self._is_in_share(own, c, metadata)]
        return _PUBLISHED.pack(metadata.published_s) + bytes(shares)

    def _is_in_share(self, own: OwnSubscription[CellId], cell: CellId, metadata: Metadata) -> bool:
        share = self._share(own, cell)
        return share is not None and share.matches(metadata)

    def send_again(self, key: SubscriptionKey, cell: CellId, done: Done) -> None:
        """A cell has lost its share of a subscription."""
        own = self._inbox.find(key)
        share = self._share(own, cell) if own is not None else None
        if own is not None and share is not None:
            self._send_parts(own, {cell: share}, done, again=True)
            self.doubted(key, cell)

    def _share(self, own: OwnSubscription[CellId], cell: CellId) -> Subscription | None:
        """The conjunctions of a subscription that a cell may have to evaluate."""
        subscription, cell_for = own.subscription, self._cell.grid.cell_for
        mine = tuple(c for c in subscription.conjunctions if any(cell_for(tag) == cell for tag in c.positive))
        return Subscription(subscription.key, mine, subscription.frame) if mine else None

    def _send_parts(
        self, own: OwnSubscription[CellId], parts: Mapping[CellId, Subscription], done: Done, *, again: bool = False
    ) -> None:
        """Send each cell its share of a subscription."""

        def send(number: int, waiting: list[CellId]) -> None:
            place, past, now_s = self._cell.place, self._cell.options.past_matches, self._cell.host.now()
            for cell in waiting:
                self._cell.router.send_to_cell(cell, SubscribePart(number, parts[cell], place, past, now_s, again))

        def heard(answer: CellAnswer) -> None:
            own.past.expect(answer.cell, answer.past)

        self._requests.begin(sorted(parts), send, done, heard)

    def _ask_for_past(self, cell: CellId, request: MoreRequest) -> None:
        own = self._inbox.find(request.subscription.key)
        share = self._share(own, cell) if own is not None else None
        asked = request if share is None else msgspec.structs.replace(request, subscription=share)
        self._cell.router.send_to_cell(cell, asked)

    def _cells_of(self, sid: int) -> list[CellId]:
        value = self._cell.host.store.get(SUBSCRIPTION_CELLS, str(sid))
        return _cells.decode(value) if value else []

    def _forget_cells(self, sid: int) -> None:
        self._cell.host.store.remove(SUBSCRIPTION_CELLS, str(sid))

    def _on_notification(self, arrival: Arrival, message: CellNotification) -> None:
        for key in message.keys:
            try:
                self._inbox.accept_all(key, message.matches, arrival.hops)
            except StoreFull:
                self._refuse(key)

    def _refuse(self, key: SubscriptionKey) -> None:
        """The disk did not take what a cell sent once: ask the cells later."""
        host = self._cell.host
        host.record(Counted(TrafficKind.DROPPED, "CellNotification", reason="the store is full"))
        if key not in self._refused:
            self._refused.add(key)
            host.after(REFUSED_S, lambda: self._ask_again(key))

    def _ask_again(self, key: SubscriptionKey) -> None:
        self._refused.discard(key)
        for one, cell in list(self.shares()):
            if one == key:
                self.doubted(one, cell)

    def _on_past(self, arrival: Arrival, message: PastOf) -> None:
        self.pager.on_piece(message.cell, message.piece)
