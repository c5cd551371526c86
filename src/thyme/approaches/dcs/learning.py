"""Learning: a member takes over state from other members and from cells that hand keys over (Thyme FGCS §6.1, §6.4.2).

The member that answers a request informs the others with one broadcast, which may be lost, so a member may answer
without the whole state. A member that learns of a match that the answering member may not have known sends the
subscriber a hint to compare (`reconciliation`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.replicas import Replicas
from thyme.approaches.interface import ignore
from thyme.model.matching import IndexFull
from thyme.model.records import Counted, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival, Form
from thyme.wire.cells import CellAnswer, CellState, Held, Part, SureState

FRESH_S = 10.0
"""Nodes that notified this long before a repaired subscription was made may have missed it, too."""


class Learning:
    """Updates a member's copy of the cell's state."""

    def __init__(self, cell: Cell, notifier: Notifier, replicas: Replicas) -> None:
        self._cell = cell
        self._notifier = notifier
        self._replicas = replicas
        self.confirming = replicas.confirming
        cell.hear(CellState, self._on_state)
        cell.serve(SureState, self._on_sure_state)

    def learn(self, state: CellState) -> bool:
        """Store new items from another member, and notify of matches that this node missed earlier. False if not all of
        it fits."""
        try:
            self._learn(state)
        except IndexFull:
            self._cell.host.record(Counted(TrafficKind.DROPPED, "CellState", reason="index is full"))
            return False
        return True

    def _learn(self, state: CellState) -> None:
        holdings, here = self._cell.holdings, self._cell.id
        for deleted in state.deleted:
            if holdings.delete(deleted) and self._cell.options.repair and deleted.key.owner != self._cell.host.node:
                self._replicas.drop_copy(deleted.key)  # not listed if this node had it as a member
        for revoked in state.revoked:
            holdings.parts.revoke(revoked)
        for held in state.held:
            new, matching = holdings.put(held)
            if held.home != here:
                self._cell.router.remember_proxy(held.home)
            if new and matching and self._cell.member:
                self._doubt(held, matching, state)
        for part in state.parts:
            fresh = holdings.index.subscription(part.subscription.key) is None
            if holdings.parts.put(part):
                self._notifier.moved(part.subscription.key.subscriber)
            if fresh and self._cell.member:
                self._doubt_new(part, state)
        for thing in state.objects:
            if len(thing.data) == thing.metadata.size_bytes:
                holdings.put_object(thing.metadata, thing.data)

    def take(self, arrival: Arrival, state: CellState, done: Callable[[], None] = ignore) -> None:
        """As `learn`, and fetch what is too large to be included; `done` is called when all of it has arrived, if it
        fits. The sender of a deleted item is informed of the deletion, so that it does not spread it further."""
        fits = self.learn(state)
        self._tell_of_deleted(arrival, state)
        self._replicas.fetch_for_cell(arrival, state, done if fits else ignore)

    def _tell_of_deleted(self, arrival: Arrival, state: CellState) -> None:
        holdings = self._cell.holdings
        objects = (thing.metadata for thing in state.objects)
        given = {metadata.key: None for metadata in (*(held.metadata for held in state.held), *objects)}
        gone = tuple(deleted for key in given if (deleted := holdings.deletion(key)) is not None)
        if gone and self._cell.options.repair and arrival.origin != self._cell.host.node:
            self._cell.answer(arrival, CellState(deleted=gone))

    def _on_state(self, arrival: Arrival, state: CellState) -> None:
        """New items from another member, or keys of another cell that this cell keeps from now on. A joining node
        accepts them too: they may be on pages it has already received."""
        joins = self._cell.mode is Mode.JOINING and arrival.form is Form.BROADCAST
        if not (self._cell.member or joins):
            return
        if state.request >= 0:
            self.take(arrival, state, partial(self._answer, arrival, state))
        else:
            self.take(arrival, state)

    def _on_sure_state(self, arrival: Arrival, message: SureState) -> None:
        self.take(arrival, message.state, partial(self.confirming.confirm, arrival, message.request))

    def _answer(self, arrival: Arrival, state: CellState) -> None:
        """A handover is complete: send it to the other members; the giving cell may delete it."""
        if not self._cell.member:
            return
        self._cell.tell_surely(msgspec.structs.replace(state, request=-1))
        self._cell.taken(state)
        self._cell.answer(arrival, CellAnswer(state.request, self._cell.id))

    def _doubt(self, held: Held, matching: list[Subscription], state: CellState) -> None:
        """The node that notified of an object did not know subscriptions made later. If this member learns of the
        object by repair, or from another cell, that node may not have known any. It may have sent a hint before, but
        the comparison may have reached this member, which did not have the object."""
        published_s, since_s = held.metadata.published_s, self._cell.holdings.parts.since_s
        doubtful = state.late or state.request >= 0
        self._notifier.doubt(s.key for s in matching if doubtful or since_s(s.key) > published_s)

    def _doubt_new(self, part: Part, state: CellState) -> None:
        """If this member did not know a subscription, the nodes that notified of objects since then may not have known
        it either. Another cell that hands it over did not know the objects kept here."""
        newest = self._cell.holdings.index.search(part.subscription, 1).matches
        from_s = part.since_s - (FRESH_S if state.late else 0.0)
        if newest and (newest[0].published_s >= from_s or state.request >= 0):
            self._notifier.doubt([part.subscription.key])
