"""The subscriber side of Thyme-DCS (Thyme FGCS §6.4): a node's own subscriptions and what it is notified of.

A subscription is divided among the cells of its conjunctions' keys; the node remembers which, across restarts. What
matches comes from any of them, each object once (`Inbox`). Past matches come with the cells' answers, and the most
recent of all of them are told (`Pager`); of a hot tag, the cells that share it are asked for theirs, apart from what
they may have to tell for a tag of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import NamedTuple

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.keys import other_cells_of, parts_of
from thyme.approaches.inbox import Inbox, OwnSubscription
from thyme.approaches.interface import Done, Notify, Outcome
from thyme.approaches.pager import Pager
from thyme.model.bounded import Bounded
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, SubscriptionKey
from thyme.model.queries import Query
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellAnswer, CellNotification, PastOf, SubscribePart, UnsubscribePart
from thyme.wire.storage import MoreRequest

SUBSCRIPTION_CELLS = "subscription cells"
OVERTAKEN_S = 0.1
"""For so long past matches that an answer has overtaken are waited for before they are asked for."""
ASKED = 1_000
"""Requests for past matches whose answers are known by their numbers."""
_cells = msgspec.msgpack.Decoder(list[CellId])


class _Source(NamedTuple):
    """A cell that has past matches: of its own share of a subscription, or as one that shares a hot tag."""

    cell: CellId
    shares_tag: bool = False


def _as_it_is(done: Done) -> Done:
    return done


class Subscriber:
    """This node's subscriptions, and the cells that have a share of each."""

    def __init__(self, cell: Cell, requests: CellRequests, begun: Callable[[Done], Done] = _as_it_is) -> None:
        """`begun` is told of the callback of every operation that was admitted, and gives back the one to call."""
        self._cell = cell
        self._requests = requests
        self._begun = begun
        limits = cell.options.limits
        self._inbox: Inbox[_Source] = Inbox(cell.host, limits.own_subscriptions, limits.notified_memory)
        self._inbox.removed = self._forget_cells
        self._pager: Pager[_Source] = Pager(self._inbox, cell.requests, self._ask_for_past, cell.options.past_matches)
        self._asked: Bounded[int, _Source] = Bounded(ASKED)
        """Whom requests for past matches were sent to."""
        cell.hear(CellNotification, self._on_notification)
        cell.hear(PastOf, self._on_past)

    def subscribe(self, query: Query, frame: TimeFrame, notify: Notify, done: Done, sid: int | None) -> SubscriptionKey:
        number = self._inbox.next_sid() if sid is None else sid
        subscription = Subscription.to_query(SubscriptionKey(number, self._cell.host.node), query, frame)
        parts = parts_of(self._cell.grid, subscription, self._cell.host.random)
        self._inbox.add(subscription, notify)
        self._cell.host.store.put(SUBSCRIPTION_CELLS, str(number), msgspec.msgpack.encode(sorted(parts)))
        self._cell.named[subscription.key] = self._cell.place
        own, ended = self._inbox.get(number), self._begun(done)

        def tell(outcome: Outcome) -> None:
            self._pager.give(own, _ignore)
            ended(Outcome(outcome.failure, own.remaining))

        def answered(outcome: Outcome) -> None:
            if own.past.awaited():
                self._cell.host.after(OVERTAKEN_S, lambda: tell(outcome))
            else:
                tell(outcome)

        self._send_parts(own, parts, answered)
        return subscription.key

    def unsubscribe(self, sid: int, done: Done) -> None:
        if self._inbox.ended(sid):
            done(Outcome())
            return
        key = self._inbox.get(sid).subscription.key
        cells = self._cells_of(sid)
        self._inbox.remove(sid)
        self._requests.ask(cells, lambda number: UnsubscribePart(number, key), self._begun(done))

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        """Tell the next batch of past matches, of all cells together; or a stream of up to so many."""
        own = self._inbox.get(sid)
        self._pager.give(own, self._begun(done), most)

    def remaining(self, sid: int) -> int:
        return self._inbox.get(sid).remaining

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        return self._inbox.resume(notify)

    def shares(self, at_s: float = -inf) -> Iterator[tuple[SubscriptionKey, CellId]]:
        """Every subscription with every cell that has a share of it; only those that had not ended at an instant, if
        one is given."""
        for own in self._inbox:
            key = own.subscription.key
            if not own.subscription.frame.ended(at_s):
                for cell in self._cells_of(key.sid):
                    yield key, cell

    def send_again(self, key: SubscriptionKey, cell: CellId, done: Done) -> None:
        """A cell has lost its share of a subscription."""
        own = self._inbox.find(key)
        share = self._share(own, cell) if own is not None else None
        if own is not None and share is not None:
            self._send_parts(own, {cell: share}, done, again=True)

    def _share(self, own: OwnSubscription[_Source], cell: CellId) -> Subscription | None:
        """What a cell may have to evaluate of a subscription."""
        subscription, cell_for = own.subscription, self._cell.grid.cell_for
        mine = tuple(c for c in subscription.conjunctions if any(cell_for(tag) == cell for tag in c.positive))
        return Subscription(subscription.key, mine, subscription.frame) if mine else None

    def _send_parts(
        self, own: OwnSubscription[_Source], parts: Mapping[CellId, Subscription], done: Done, *, again: bool = False
    ) -> None:
        """To each cell its share of a subscription."""

        def send(number: int, waiting: list[CellId]) -> None:
            place, past, now_s = self._cell.place, self._cell.options.past_matches, self._cell.host.now()
            for cell in waiting:
                self._cell.router.send_to_cell(cell, SubscribePart(number, parts[cell], place, past, now_s, again))

        def heard(answer: CellAnswer) -> None:
            own.past.expect(_Source(answer.cell), answer.past)
            for tag, cells in answer.spread:
                for cell in other_cells_of(self._cell.grid, tag, cells):
                    own.past.expect(_Source(cell, shares_tag=True), 1)

        self._requests.begin(sorted(parts), send, done, heard)

    def _ask_for_past(self, source: _Source, request: MoreRequest) -> None:
        own = self._inbox.find(request.subscription.key)
        share = self._share(own, source.cell) if own is not None and not source.shares_tag else None
        asked = request if share is None else msgspec.structs.replace(request, subscription=share)
        self._asked[request.request] = source
        self._cell.router.send_to_cell(source.cell, asked)

    def _cells_of(self, sid: int) -> list[CellId]:
        value = self._cell.host.store.get(SUBSCRIPTION_CELLS, str(sid))
        return _cells.decode(value) if value else []

    def _forget_cells(self, sid: int) -> None:
        self._cell.host.store.remove(SUBSCRIPTION_CELLS, str(sid))

    def _on_notification(self, arrival: Arrival, message: CellNotification) -> None:
        for key in message.keys:
            self._inbox.accept_all(key, message.matches, arrival.hops)

    def _on_past(self, arrival: Arrival, message: PastOf) -> None:
        source = self._asked.get(message.piece.request, _Source(message.cell))
        self._pager.on_piece(source, message.piece)


def _ignore(outcome: Outcome) -> None:
    """What a cell did not answer of the past is left to be asked for."""
