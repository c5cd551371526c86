"""The broker side of Thyme-DCS: what a member does when a request reaches its cell (Thyme FGCS §6.1–6.4).

Routing brings a request for a cell to one of its members at random. That member carries it out on its own copy of the
cell's state, notifies, passes the news on to the rest of the cell in one broadcast, and answers. The others only learn
(`learning`): matching is done once. What a member itself inserts is answered when another has it (`confirming`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from thyme.approaches.dcs.asking.notifier import MATCHES_PER_MESSAGE, Notifier
from thyme.approaches.dcs.asking.spreading import Spreading
from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.members.learning import Learning
from thyme.approaches.interface import Outcome
from thyme.approaches.past import answer_in_pieces
from thyme.model.ids import CellId, ObjectKey
from thyme.model.matching import IndexFull
from thyme.model.objects import Metadata
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import (
    CellAnswer,
    CellState,
    Deleted,
    DeleteMetadata,
    Held,
    InsertMetadata,
    Part,
    PastOf,
    Revoked,
    SpreadInsert,
    SubscribePart,
    UnsubscribePart,
)
from thyme.wire.storage import MoreRequest


class Broker:
    """A member's work for its cell."""

    def __init__(self, cell: Cell, notifier: Notifier, learning: Learning) -> None:
        self._cell = cell
        self._confirming = learning.confirming
        self._unconfirmed: dict[tuple[ObjectKey, CellId], Callable[[], None]] = {}
        """This node's own insertions that no other member has yet, and how to answer each."""
        self._notifier = notifier
        self._learning = learning
        self._spreading = Spreading(cell)
        cell.serve(InsertMetadata, self._insert)
        cell.serve(SpreadInsert, self._insert_spread)
        cell.serve(DeleteMetadata, self._delete)
        cell.serve(SubscribePart, self._subscribe)
        cell.serve(UnsubscribePart, self._unsubscribe)
        cell.serve(MoreRequest, self._more)

    def _insert(self, arrival: Arrival, message: InsertMetadata) -> None:
        metadata = message.metadata
        if metadata.key.owner != arrival.origin:
            self._answer(arrival, message.request, "only its owner inserts an object")
            return
        if self._spreading.passed_on(arrival, message):
            return
        if arrival.proxied:
            self._cell.stand_in(arrival.target)
        if arrival.origin == self._cell.host.node:
            self._insert_own(arrival, message)
            return
        refusal = self._keep(metadata, arrival.target, self._cell.tell_surely)
        self._answer(arrival, message.request, refusal, metadata.tags)

    def _insert_own(self, arrival: Arrival, message: InsertMetadata) -> None:
        """One of this very node, which is asked again if it is not answered in time. Where it is confirmed at once, it
        is answered when those whom it concerns were notified."""
        metadata, told = message.metadata, list[CellState]()
        keeping, at_once = True, list[Outcome]()
        key = (metadata.key, arrival.target)
        again = key in self._unconfirmed
        self._unconfirmed[key] = partial(self._answer, arrival, message.request, "", metadata.tags)
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
            self._answer(arrival, message.request, refusal, metadata.tags)
        elif at_once or not told:
            end(at_once[0] if at_once else Outcome())

    def _insert_spread(self, arrival: Arrival, message: SpreadInsert) -> None:
        """An insertion that belongs here, passed on by the first cell of a hot tag, in whose name it is answered."""
        metadata = message.metadata
        refusal = self._keep(metadata, arrival.target, self._cell.tell_surely)
        grid, cells = self._cell.grid, self._cell.options.spread_cells
        hot = tuple((tag, cells) for tag in metadata.tags if grid.cell_for(tag) == message.home)
        answer = CellAnswer(message.request, message.home, refusal, hot)
        self._cell.router.send_to_node(metadata.key.owner, message.owner_cell, answer)

    def _keep(self, metadata: Metadata, home: CellId, tell: Callable[[CellState], None]) -> str:
        """Keep metadata for a home, `tell` the other members and notify whoever it concerns; why not, if it does not
        fit."""
        held = Held(home, metadata)
        try:
            new, matching = self._cell.holdings.put(held)
        except IndexFull as full:
            return str(full)
        if new:
            self._learning.inserted.remember(metadata.key, self._cell.host.now())
            tell(CellState(held=(held,)))
            if matching:
                self._notifier.notify([s.key for s in matching], metadata)
            hot = self._spreading.grown(metadata, home)
            if hot:
                self._cell.tell_others(hot)
        return ""

    def _delete(self, arrival: Arrival, message: DeleteMetadata) -> None:
        key = message.key
        if key.owner != arrival.origin:
            self._answer(arrival, message.request, "only its owner deletes an object")
            return
        deleted = Deleted(arrival.target, key)
        if self._cell.holdings.delete(deleted):
            self._cell.tell_surely(CellState(deleted=(deleted,)))
        self._spreading.deleted(key, arrival.target)
        self._answer(arrival, message.request)

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
        self._learning.subscribed.remember_first(message.subscription.key, now_s)
        if new:
            self._cell.tell_surely(CellState(parts=(part,)))
            self._spreading.subscribed(message, arrival.target)
        past = self._send_past(message, arrival.target)
        tags = tuple(dict.fromkeys(tag for c in message.subscription.conjunctions for tag in c.positive))
        self._answer(arrival, message.request, tags=tags, past=past)

    def _send_past(self, message: SubscribePart, home: CellId) -> int:
        """The most recent past matches of a subscription, ahead of its answer; how many there are in all."""
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
        if message.key.subscriber == arrival.origin:
            if self._cell.holdings.parts.revoke(revoked):
                self._cell.tell_surely(CellState(revoked=(revoked,)))
            self._spreading.revoked(message.key, arrival.target)
        self._answer(arrival, message.request)

    def _more(self, arrival: Arrival, message: MoreRequest) -> None:
        """The request says what was subscribed to: a member that missed the subscription answers as well. The pages of
        one search may be answered by several members, and what one of them does not know is passed over: whoever has
        answered any makes up for it."""
        subscription, search = message.subscription, self._cell.holdings.index.search
        if subscription.key.subscriber != arrival.origin:
            return
        self._learning.subscribed.remember_first(subscription.key, self._cell.host.now())
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

    def _answer(
        self, arrival: Arrival, request: int, refusal: str = "", tags: tuple[str, ...] = (), past: int = 0
    ) -> None:
        """To whoever asked; what another cell passed on, nobody asked for."""
        if request >= 0:
            hot = self._spreading.hot_tags(tags, arrival.target)
            self._cell.answer(arrival, CellAnswer(request, arrival.target, refusal, hot, past))
