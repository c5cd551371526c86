"""Learning: what a member takes from other members, and from cells that hand their keys over (Thyme FGCS §6.1, §6.4.2).

Whoever answered a request told the rest of its cell in one broadcast, which may be lost, so a member may decide without
knowing all. It remembers what it decided of late (`inserted`, `subscribed`), and when it learns of something that would
have matched, it notifies then. Of all else others have told already.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec

from thyme.approaches.dcs.asking.notifier import Notifier
from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.members.answered import Answered
from thyme.approaches.dcs.objects.replicas import Replicas
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.matching import IndexFull
from thyme.model.records import Counted, TrafficKind
from thyme.routing.cells.addresses import Arrival, Form
from thyme.wire.cells import CellAnswer, CellState, Part, SureState


def _ignore() -> None:
    """Nobody waits for it."""


class Learning:
    """How a member comes to know what its cell knows."""

    def __init__(self, cell: Cell, notifier: Notifier, replicas: Replicas) -> None:
        self._cell = cell
        self._notifier = notifier
        self._replicas = replicas
        self.confirming = replicas.confirming
        store, most = cell.host.store, cell.options.brokered
        self.inserted = Answered(store, "answered insertion", ObjectKey, most)
        self.subscribed = Answered(store, "answered subscription", SubscriptionKey, most)
        cell.hear(CellState, self._on_state)
        cell.serve(SureState, self._on_sure_state)

    def learn(self, state: CellState) -> bool:
        """Take what is news from another member, and notify of matches that this node missed when it had to decide.
        False if not all of it fits."""
        try:
            self._learn(state)
        except IndexFull:
            self._cell.host.record(Counted(TrafficKind.DROPPED, "CellState", reason="index is full"))
            return False
        return True

    def _learn(self, state: CellState) -> None:
        holdings, here = self._cell.holdings, self._cell.id
        for tag, cells in state.spread:
            holdings.spread_tag(tag, cells)
        for deleted in state.deleted:
            holdings.delete(deleted)
        for revoked in state.revoked:
            holdings.parts.revoke(revoked)
        for held in state.held:
            new, matching = holdings.put(held)
            if held.home != here:
                self._cell.router.remember_proxy(held.home)
            # Of what was published before a subscription, whoever answered that subscription should have told.
            published_s = held.metadata.published_s
            missed = [s.key for s in matching if new and self.subscribed.get(s.key, published_s) > published_s]
            self._notifier.notify(missed, held.metadata)
        for part in state.parts:
            fresh = holdings.index.subscription(part.subscription.key) is None
            if holdings.parts.put(part):
                self._notifier.moved(part.subscription.key.subscriber)
            if fresh:
                self._notify_of_inserted(part)
        if self._is_to_keep(state):
            for thing in state.objects:
                if len(thing.data) == thing.metadata.size_bytes:
                    holdings.put_object(thing.metadata, thing.data)

    def take(self, arrival: Arrival, state: CellState, done: Callable[[], None] = _ignore) -> None:
        """As `learn`, and fetch what is too large to come along; `done` is told when all of it is here, if it fits.
        Whoever gives what was deleted is told so, or it would give it to the next."""
        fits = self.learn(state)
        self._tell_of_deleted(arrival, state)
        if self._is_to_keep(state):
            self._replicas.fetch_for_cell(arrival, state, done if fits else _ignore)
        elif fits:
            done()

    def _tell_of_deleted(self, arrival: Arrival, state: CellState) -> None:
        holdings = self._cell.holdings
        objects = (thing.metadata for thing in state.objects)
        given = {metadata.key: None for metadata in (*(held.metadata for held in state.held), *objects)}
        gone = tuple(deleted for key in given if (deleted := holdings.deletion(key)) is not None)
        if gone and self._cell.options.repair and arrival.origin != self._cell.host.node:
            self._cell.answer(arrival, CellState(deleted=gone))

    def _on_state(self, arrival: Arrival, state: CellState) -> None:
        """News from another member, or another cell's keys that this cell is to keep from now on. A node that joins
        takes news, which may be of items that have passed it by."""
        joins = self._cell.mode is Mode.JOINING and arrival.form is Form.BROADCAST
        if not (self._cell.member or joins):
            return
        handed_over = state.request >= 0
        if handed_over:
            with suppress(IndexFull):
                self._notify_of_handed_over(state)
            self.take(arrival, state, partial(self._answer, arrival, state))
        else:
            self.take(arrival, state)

    def _on_sure_state(self, arrival: Arrival, message: SureState) -> None:
        self.take(arrival, message.state, partial(self.confirming.confirm, arrival, message.request))

    def _answer(self, arrival: Arrival, state: CellState) -> None:
        """What was handed over is here: the other members get it, and whoever gave it may forget it."""
        if not self._cell.member:
            return
        if not state.keepers:
            self._cell.tell_surely(msgspec.structs.replace(state, request=-1))
        self._cell.taken(state)
        self._cell.answer(arrival, CellAnswer(state.request, self._cell.id))

    def _is_to_keep(self, state: CellState) -> bool:
        """Whether the objects that a state tells of are for this member too."""
        return not state.keepers or self._cell.host.node in state.keepers

    def _notify_of_handed_over(self, state: CellState) -> None:
        """What two cells kept apart meets here for the first time: nobody can have told of these matches."""
        holdings = self._cell.holdings
        for part in state.parts:
            if holdings.parts.get(part.subscription.key, part.home) is None and holdings.parts.put(part):
                self._notifier.catch_up(part.subscription, part.cell)
                self.subscribed.remember_first(part.subscription.key, self._cell.host.now())
        for held in state.held:
            new, matching = holdings.put(held)
            if new:
                self._notifier.notify([subscription.key for subscription in matching], held.metadata)

    def _notify_of_inserted(self, part: Part) -> None:
        """Of what was published after a subscription, whoever answered the insertion should have told."""
        for key in self.inserted:
            metadata = self._cell.holdings.index.get(key)
            if metadata is None or metadata.published_s < part.since_s:
                continue
            if part.subscription.matches(metadata):
                self._notifier.notify([part.subscription.key], metadata)
