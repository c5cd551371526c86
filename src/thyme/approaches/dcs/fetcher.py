"""The fetcher: the only way by which a node of Thyme-DCS gets the contents of others (Thyme FGCS §6.5): for its user,
for its cell, or as one of an object's holders.

Each object is fetched once at a time, however many ask for it. Fetches wait their turn: contents that are fetched one
after the other arrive sooner than those that compete for the channel. A user's fetches go first; the others have their
turn when none of them is under way, and make way for one that begins. Parts that arrived are kept whichever way a fetch
ends (`contents`). If nobody in the replication list has the object, the cells of its metadata are
asked for the current list, and for a user finally the whole crowd (`lookups`).
"""

from __future__ import annotations

from functools import partial

import msgspec

from thyme.approaches.contents import Fetches
from thyme.approaches.dcs.casting import QUIET_S, Casting
from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.keys import sources_of
from thyme.approaches.dcs.lookups import Lookups
from thyme.approaches.interface import Failure, Fetched, Outcome
from thyme.approaches.transfers.fetching import Progress
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.model.objects import Content, Metadata
from thyme.routing.cells.addresses import Arrival, Destination
from thyme.wire.cells import WHOLE_CELL
from thyme.wire.storage import PartReply, PartRequest

LOOKUP_S = 1.0
"""How long a failed fetch waits before it asks for the current replicas: copies may move."""
GIVE_UP = -1
"""Lookups left after all replicas were asked."""
LOOKED_UP = (Failure.NOT_FOUND, Failure.TIMEOUT, Failure.DAMAGED)
"""Failures after which the cells of the metadata are asked for the current replicas."""
TURN_S = 30.0
"""A fetch that takes longer, since nobody answers or the content is large, keeps no other waiting."""
MAX_QUEUED = 1_000
"""Fetches that wait their turn; a further one is refused, and whoever notices that a copy is missing asks again."""


class _Fetch(msgspec.Struct, eq=False):
    metadata: Metadata
    source: Destination | None
    """Asked before the replicas of the metadata."""
    waiting: list[Fetched]
    lookups: int
    for_user: bool
    begun_s: float | None = None


class Fetcher:
    """The fetches of one node."""

    def __init__(self, cell: Cell, lookups: Lookups, casting: Casting, progress: Progress | None) -> None:
        self._cell = cell
        self._lookups = lookups
        self._casting = casting
        self._fetches: Fetches[Destination] = Fetches(
            cell.requests, self._ask_for_part, cell.options.contents, progress
        )
        self._asked_parts: Bounded[int, int] = Bounded(cell.options.retry.pending)
        self._by_key: dict[ObjectKey, _Fetch] = {}
        """All that have begun or wait, in the order in which they were asked for."""
        cell.undelivered.then(self._on_undelivered)
        cell.hear(PartReply, self._on_part)

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._by_key

    def fetch(
        self, metadata: Metadata, done: Fetched, *, for_user: bool = False, source: Destination | None = None
    ) -> None:
        fetch = self._by_key.get(metadata.key)
        if fetch is not None:
            fetch.waiting.insert(0 if for_user else len(fetch.waiting), done)
            fetch.for_user = fetch.for_user or for_user
        elif len(self._by_key) >= MAX_QUEUED and not for_user:
            done(Outcome(Failure.REFUSED), b"")
            return
        else:
            lookups = self._cell.options.lookups or GIVE_UP
            fetch = self._by_key[metadata.key] = _Fetch(metadata, source, [done], lookups, for_user)
        if for_user:
            for other in list(self._by_key.values()):
                if other.begun_s is not None and not other.for_user:
                    self._fetches.pause(other.metadata.key)
        self._begin_next()

    def pause(self, key: ObjectKey) -> None:
        self._fetches.pause(key)

    def fetching(self, key: ObjectKey) -> bool:
        return self._fetches.fetching(key)

    def _begin_next(self) -> None:
        """Begin those whose turn it is."""
        since_s = self._cell.host.now() - TURN_S
        begun = [fetch.begun_s for fetch in self._by_key.values() if fetch.begun_s is not None]
        ready = [fetch for fetch in self._by_key.values() if fetch.for_user and fetch.begun_s is None]
        if not ready and not begun:
            ready = list(self._by_key.values())[:1]
        free = self._cell.options.fetches - sum(at_s > since_s for at_s in begun)
        for fetch in ready[: max(0, free)]:
            fetch.begun_s = self._cell.host.now()
            self._cell.host.after(TURN_S, self._begin_next)
            expected_s = self._casting.expected_s(fetch.metadata) if fetch.for_user else QUIET_S
            self._casting.when_over(fetch.metadata, partial(self._ask, fetch), expected_s=expected_s)

    def _ask(self, fetch: _Fetch) -> None:
        sources = sources_of(self._cell.grid, fetch.metadata, self._cell.place)
        if fetch.source is not None:
            sources.insert(0, fetch.source)
            fetch.source = None
        known = partial(self._casting.heard, fetch.metadata.key)
        self._fetches.fetch(fetch.metadata, sources, partial(self._asked, fetch), known)

    def _asked(self, fetch: _Fetch, outcome: Outcome, data: Content) -> None:
        if outcome.failure is Failure.CANCELLED and not fetch.for_user:
            fetch.begun_s = None
            self._begin_next()
        elif outcome.failure in LOOKED_UP and fetch.lookups > GIVE_UP:
            self._cell.host.after(LOOKUP_S, partial(self._look_up, fetch, outcome))
        else:
            self._end(fetch, outcome, data)

    def _look_up(self, fetch: _Fetch, failed: Outcome) -> None:
        """Nobody who was asked has the object (any more): ask the cells of its metadata who has it now, several times,
        and finally flood the request."""

        def found(fresh: Metadata | None, deleted: bool) -> None:
            fetch.lookups -= 1
            if fresh is not None:
                fetch.metadata = fresh
                self._ask(fetch)
            elif fetch.lookups > GIVE_UP and not deleted:
                self._cell.host.after(LOOKUP_S, partial(self._look_up, fetch, failed))
            else:
                self._end(fetch, Outcome(Failure.DELETED) if deleted else failed, b"")

        if fetch.lookups > 0:
            self._lookups.ask_cells(fetch.metadata, found)
        elif fetch.for_user:
            self._lookups.ask_everybody(fetch.metadata, found)
        else:
            self._end(fetch, failed, b"")

    def _end(self, fetch: _Fetch, outcome: Outcome, data: Content) -> None:
        del self._by_key[fetch.metadata.key]
        for done in fetch.waiting:
            done(outcome, data)
        self._begin_next()

    def _ask_for_part(self, source: Destination, request: PartRequest) -> None:
        if source.node == WHOLE_CELL:
            self._cell.router.send_to_cell(source.cell, request)
            return
        number = self._cell.router.send_to_node(source.node, source.cell, request)
        self._asked_parts[number] = request.request

    def _on_part(self, arrival: Arrival, reply: PartReply) -> None:
        self._fetches.on_reply(reply)

    def _on_undelivered(self, node: NodeId, cell: CellId, number: int) -> None:
        """A request was returned: that replica is not there."""
        request = self._asked_parts.pop(number, None)
        if request is not None:
            self._cell.requests.resolve(request, Outcome(Failure.NOT_FOUND))
