"""Lookups: where an object is now, when nobody on its replication list has it (beyond the papers).

The cells of its metadata are asked first, for a fresh list. They may not help either: a list is bounded, a member may
have missed something, whoever holds the object may be on its way. So the last question goes round the crowd: whoever
hears it for the first time answers if it has the object, and else says it once more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.keys import cells_of_tags, with_replica
from thyme.approaches.interface import Outcome
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata, Replica
from thyme.routing.cells.addresses import Arrival, Destination
from thyme.wire.cells import HeldBy, Wanted, WhoHolds

Found = Callable[[Metadata | None, bool], None]
"""Told of the metadata with replicas to ask, or None, and whether the object is known to be deleted."""
SEARCH_S = 2.0
"""How long an answer of the crowd is waited for."""
HEARD = 1_000
"""Questions remembered, so that each is said once only."""
JITTER_S = 0.05
"""Longest wait before a question is said again: neighbours are not to speak with one voice."""


class _Lookup:
    """A question under way: about what, from how many an answer may come, and how it ends."""

    def __init__(self, metadata: Metadata, awaited: int, end: Callable[[], None]) -> None:
        self.metadata = metadata
        self.awaited = awaited
        self.end = end
        self.found: Metadata | None = None
        self.deleted = False


class Lookups:
    """One node's questions, and its answers to those of others."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._host = cell.host
        self._options = cell.options
        self._under_way: dict[int, _Lookup] = {}
        self._heard: Bounded[tuple[NodeId, int, int], None] = Bounded(HEARD)
        cell.serve(WhoHolds, self._on_who_holds)
        cell.hear(HeldBy, self._on_held_by)
        cell.overhear(Wanted, self._on_wanted)

    def ask_cells(self, metadata: Metadata, found: Found) -> None:
        """Ask the cells of an object's metadata. The first that knows it is believed; that none does, when all have
        said so."""
        cells = cells_of_tags(self._cell.grid, metadata.tags)
        numbers: list[int] = []

        def ask(number: int) -> None:
            if not numbers:
                numbers.append(number)
                self._under_way[number] = _Lookup(metadata, len(cells), end)
            self._cell.router.send_to_many(map(Destination, cells), WhoHolds(number, metadata.key))

        def end() -> None:
            self._cell.requests.resolve(numbers[0], Outcome())

        def answered(outcome: Outcome) -> None:
            lookup = self._under_way.pop(numbers[0])
            found(lookup.found, lookup.deleted)

        self._cell.requests.begin(ask, answered)

    def ask_everybody(self, metadata: Metadata, found: Found) -> None:
        """Have the question go round, `searches` times; whoever has the object answers."""
        number = self._host.random.getrandbits(48)

        def end() -> None:
            lookup = self._under_way.pop(number, None)
            if lookup is not None:
                found(lookup.found, lookup.deleted)

        def ask(times: int) -> None:
            if number not in self._under_way:
                return
            if times == self._options.searches:
                end()
                return
            wanted = Wanted(number, times, metadata.key, self._host.node, self._cell.place)
            self._heard[wanted.node, number, times] = None
            self._host.broadcast(wanted)
            self._host.after(SEARCH_S, partial(ask, times + 1))

        only_new = msgspec.structs.replace(metadata, replicas=())
        self._under_way[number] = _Lookup(only_new, self._options.searches, end)
        ask(0)

    def _on_who_holds(self, arrival: Arrival, message: WhoHolds) -> None:
        index = self._cell.holdings.index
        metadata, deleted = index.get(message.key), index.deleted(message.key)
        holder = self._here(message.key) if metadata is not None else None
        self._cell.answer(arrival, HeldBy(message.request, metadata, holder, deleted))

    def _on_wanted(self, sender: NodeId, message: Wanted) -> None:
        name = (message.node, message.request, message.times)
        if name in self._heard or message.cell not in self._cell.grid:
            return
        self._heard[name] = None
        holder = self._here(message.key)
        if holder is not None:
            self._cell.router.send_to_node(message.node, message.cell, HeldBy(message.request, None, holder))
        elif message.hops + 1 < self._options.routing.hops_within(self._cell.grid):
            onward = msgspec.structs.replace(message, hops=message.hops + 1)
            wait_s = self._host.random.uniform(0.0, JITTER_S)
            self._host.after(wait_s, partial(self._host.broadcast, onward))

    def _on_held_by(self, arrival: Arrival, message: HeldBy) -> None:
        lookup = self._under_way.get(message.request)
        if lookup is None:
            return
        known = message.metadata or lookup.metadata
        if message.deleted:
            lookup.deleted = True
        elif message.holder is not None:
            replicas = with_replica(known.replicas, message.holder, len(known.replicas) + 1)
            lookup.found = msgspec.structs.replace(known, replicas=replicas)
        elif message.metadata is not None:
            lookup.found = message.metadata
        else:
            lookup.awaited -= 1
            if lookup.awaited > 0:
                return
        lookup.end()

    def _here(self, key: ObjectKey) -> Replica | None:
        """This node as a replica, if it has the object."""
        has = self._cell.contents.has(key) and not self._cell.holdings.index.deleted(key)
        return Replica(self._host.node, self._cell.place) if has else None
