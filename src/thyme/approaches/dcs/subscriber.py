"""The subscriber side of Thyme-DCS (Thyme FGCS §6.4): a node's own subscriptions and what it is notified of.

A subscription is divided among the cells of its conjunctions' keys; the node remembers which, across restarts. What
matches comes from any of them, each object once (`Inbox`), and each tells where its batch of past matches ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.keys import parts_of
from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import Done, Notify, Outcome
from thyme.approaches.paging import ask_for_more
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.queries import Query
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellNotification, MoreMatches, SubscribePart, UnsubscribePart

SUBSCRIPTION_CELLS = "subscription cells"
_cells = msgspec.msgpack.Decoder(list[CellId])


class Subscriber:
    """This node's subscriptions, and the cells that have a share of each."""

    def __init__(self, cell: Cell, requests: CellRequests) -> None:
        self._cell = cell
        self._requests = requests
        limits = cell.options.limits
        self._inbox: Inbox[CellId] = Inbox(cell.host, limits.own_subscriptions, limits.notified_memory)
        self._inbox.removed = lambda sid: cell.host.store.remove(SUBSCRIPTION_CELLS, str(sid))
        cell.hear(CellNotification, self._on_notification)

    def subscribe(self, query: Query, frame: TimeFrame, notify: Notify, done: Done, sid: int | None) -> SubscriptionKey:
        number = self._inbox.next_sid() if sid is None else sid
        subscription = Subscription.to_query(SubscriptionKey(number, self._cell.host.node), query, frame)
        parts = parts_of(self._cell.grid, subscription, self._cell.host.random)
        self._inbox.add(subscription, notify)
        self._cell.host.store.put(SUBSCRIPTION_CELLS, str(number), msgspec.msgpack.encode(sorted(parts)))
        self._send_parts(parts, done)
        return subscription.key

    def unsubscribe(self, sid: int, done: Done) -> None:
        if self._inbox.ended(sid):
            done(Outcome())
            return
        key = self._inbox.get(sid).subscription.key
        cells = self._cells_of(sid)
        self._inbox.remove(sid)
        self._requests.ask(cells, lambda number: UnsubscribePart(number, key), done)

    def more(self, sid: int, done: Done) -> None:
        """Ask every cell that has more past matches for its next batch."""
        own = self._inbox.get(sid)

        def ask(source: CellId, number: int, cursor: Cursor, left: int) -> None:
            key, limit = own.subscription.key, self._cell.options.past_matches
            request = MoreMatches(number, key, self._cell.place, cursor, limit, left)
            self._cell.router.send_to_cell(source, request)

        ask_for_more(own, self._cell.requests, ask, done)

    def remaining(self, sid: int) -> int:
        return self._inbox.get(sid).remaining

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        return self._inbox.resume(notify)

    def shares(self) -> Iterator[tuple[SubscriptionKey, CellId]]:
        """Every subscription with every cell that has a share of it."""
        for own in self._inbox:
            key = own.subscription.key
            for cell in self._cells_of(key.sid):
                yield key, cell

    def send_again(self, key: SubscriptionKey, cell: CellId, done: Done) -> None:
        """A cell has lost its share of a subscription."""
        own = self._inbox.find(key)
        if own is None:
            return
        subscription, cell_for = own.subscription, self._cell.grid.cell_for
        lost = tuple(c for c in subscription.conjunctions if any(cell_for(tag) == cell for tag in c.positive))
        if lost:
            self._send_parts({cell: Subscription(key, lost, subscription.frame)}, done)

    def _send_parts(self, parts: Mapping[CellId, Subscription], done: Done) -> None:
        """To each cell its share of a subscription."""

        def send(number: int, waiting: list[CellId]) -> None:
            place, past = self._cell.place, self._cell.options.past_matches
            for cell in waiting:
                self._cell.router.send_to_cell(cell, SubscribePart(number, parts[cell], place, past))

        self._requests.begin(sorted(parts), send, done)

    def _cells_of(self, sid: int) -> list[CellId]:
        value = self._cell.host.store.get(SUBSCRIPTION_CELLS, str(sid))
        return _cells.decode(value) if value else []

    def _on_notification(self, arrival: Arrival, message: CellNotification) -> None:
        for key in message.keys:
            own = self._inbox.find(key)
            if own is None:
                continue
            for metadata in message.matches:
                self._inbox.accept(key, metadata, arrival.hops)
            if message.request >= 0:
                own.cursors.pop(message.source, None)
            if message.cursor is not None and message.remaining > 0:
                own.cursors[message.source] = (message.cursor, message.remaining)
        if message.request >= 0:
            self._cell.requests.resolve(message.request, Outcome())
