"""The copies of objects in Thyme-DCS (Thyme FGCS §6.2, §6.5): which nodes keep them, and how they are fetched.

Every member of the owner's cell keeps an object (active replication), or a few of them (`replicas_in_cell`). A node
that retrieves an object keeps it too and announces this to the cells of its metadata (passive replication). A retrieval
asks the closest replica, then the next, and the owner's cell last; a member without the object forwards the request to
one that should have it. If no replica answers, the object is looked up (`lookups`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from thyme.approaches.contents import Fetches
from thyme.approaches.dcs.casting import Casting
from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.cell_requests import Confirming
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.keys import cells_of_tags, keepers_among, sources_of
from thyme.approaches.dcs.lookups import Found, Lookups
from thyme.approaches.eviction import Evictable, Rank
from thyme.approaches.interface import Done, Failure, Fetched, Outcome, ignore
from thyme.approaches.transfers.fetching import Progress
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.model.objects import Content, DataObject, Metadata, Replica
from thyme.routing.cells.addresses import Arrival, Destination, Form
from thyme.wire.cells import WHOLE_CELL, CellState, DropCopy, PartFor, ReplicaAdded
from thyme.wire.storage import PartReply, PartRequest

LOOKUP_S = 1.0
"""How long a failed retrieval waits before it requests the current replicas: copies may move."""
FETCH_TRIES = 6
"""How often a keeper fetches an object that is announced in its cell, where repair does not compare objects because
only some members keep them: a fetch fails, for example, before this node has heard of its neighbours."""
FETCH_AGAIN_S = 5.0
"""Between two of these tries."""
GIVE_UP = -1
"""Lookups left after all replicas were asked."""
LOOKED_UP = (Failure.NOT_FOUND, Failure.TIMEOUT, Failure.DAMAGED)
"""Failures after which the cells of the metadata are asked for the current replicas."""


class Replicas:
    """One node's copies, and its retrievals."""

    def __init__(self, cell: Cell, copies: Copies, progress: Progress | None = None) -> None:
        self._cell = cell
        self.confirming = Confirming(cell)
        self._copies = copies
        self._contents = cell.contents
        self._contents.is_deleted = cell.holdings.index.deleted
        self._options = cell.options
        self._fetches: Fetches[Destination] = Fetches(
            cell.requests, self._ask_for_part, cell.options.contents, progress
        )
        self._asked_parts: Bounded[int, int] = Bounded(cell.options.retry.pending)
        self._lookups = Lookups(cell)
        self._casting = Casting(cell)
        self._retrieving = 0
        self._fetching: set[ObjectKey] = set()
        """Objects being fetched for the cell to replicate."""
        cell.discarded.then(self._on_discarded)
        cell.undelivered.then(self._on_undelivered)
        cell.hear(PartRequest, self._on_part_request)
        cell.hear(PartReply, self._on_part)
        cell.serve(PartFor, self._on_part_for)
        cell.hear(DropCopy, self._on_drop)

    def keep_own(self, metadata: Metadata, data: Content, done: Done = ignore) -> None:
        """Keep an object of this node's user and, unless only its owner keeps it, replicate it in the cell. `done` is
        called when another member has it, if that is waited for: fetching a large one takes long."""
        self._contents.keep_own(metadata, data)
        self._copies.put_own(metadata)
        self._cell.named[metadata.key] = self._cell.place
        for replica in metadata.replicas:
            if replica.node == WHOLE_CELL:
                self._replicate(metadata, data, done)
                return
        done(Outcome())

    def drop_own(self, key: ObjectKey) -> None:
        self._copies.remove_own(key.oid)
        self._contents.drop(key)
        self._cell.holdings.drop_object(key)

    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        data = self._contents.read(metadata)
        if data is not None:
            if metadata.key not in self._copies:
                self._note_copy(metadata)
            done(Outcome(), data)
            return

        def ended(outcome: Outcome, content: Content) -> None:
            self._retrieving -= 1
            done(outcome, content)

        self._retrieving += 1
        fetch = partial(self._fetch, metadata, ended, self._options.lookups or GIVE_UP)
        self._casting.when_over(metadata, fetch, expected_s=self._casting.expected_s(metadata))

    def _fetch(self, metadata: Metadata, done: Fetched, lookups: int) -> None:
        def fetched(outcome: Outcome, data: Content) -> None:
            if outcome.ok:
                self._become_replica(metadata, data)
            elif lookups > GIVE_UP and outcome.failure in LOOKED_UP:
                again = partial(self._look_up, metadata, outcome, done, lookups)
                self._cell.host.after(LOOKUP_S, again)
                return
            done(outcome, data)

        sources = sources_of(self._cell.grid, metadata, self._cell.place)
        self._fetches.fetch(metadata, sources, fetched, partial(self._casting.heard, metadata.key))

    def drop_copy(self, key: ObjectKey) -> None:
        """A copy is no longer wanted."""
        self._copies.remove_retrieved(key)
        if not self._cell.holdings.has_object(key):
            self._contents.drop(key)

    def keep_copy(self, metadata: Metadata) -> None:
        """Keep a copy for its owner, who casts the content. What is missing is fetched if this node's user waits for
        no other."""

        def fetch() -> None:
            if not (self._retrieving or self._contents.has(metadata.key)):
                self.retrieve(metadata, ignore)

        self._casting.when_over(metadata, fetch)

    def cast(self, metadata: Metadata, begins: Callable[[], None]) -> None:
        self._casting.cast(metadata, begins)

    def look_up(self, metadata: Metadata, found: Found) -> None:
        self._lookups.ask_cells(metadata, found)

    def pause(self, key: ObjectKey) -> None:
        self._fetches.pause(key)

    def fetching(self, key: ObjectKey) -> bool:
        return self._fetches.fetching(key)

    def evictable(self) -> Iterator[Evictable]:
        """Retrieved objects and those kept for the cell, without those that this node's user inserted."""
        holdings = self._cell.holdings
        for metadata in self._copies.retrieved():
            key = metadata.key
            if key.owner != self._cell.host.node and not holdings.has_object(key):
                yield Evictable(
                    key, Rank.REPLICA, metadata.size_bytes, metadata.published_s, partial(self._let_go, key)
                )
        for metadata in holdings.objects():
            key = metadata.key
            if key.owner != self._cell.host.node and self._contents.has(key):
                yield Evictable(
                    key, Rank.FOR_OTHERS, metadata.size_bytes, metadata.published_s, partial(self._let_go, key)
                )

    def _let_go(self, key: ObjectKey) -> None:
        self._copies.remove_retrieved(key)
        if self._cell.holdings.has_object(key):
            self._cell.holdings.let_go(key)
        else:
            self._contents.drop(key)

    def _look_up(self, metadata: Metadata, failed: Outcome, done: Fetched, lookups: int) -> None:
        """No listed replica has the object (any more): ask the cells of its metadata for the current ones, so many
        times, and finally flood the request."""

        def found(fresh: Metadata | None, deleted: bool) -> None:
            if fresh is not None:
                self._fetch(fresh, done, lookups - 1)
            elif lookups > 0 and not deleted:
                again = partial(self._look_up, metadata, failed, done, lookups - 1)
                self._cell.host.after(LOOKUP_S, again)
            else:
                done(Outcome(Failure.DELETED) if deleted else failed, b"")

        if lookups > 0:
            self._lookups.ask_cells(metadata, found)
        else:
            self._lookups.ask_everybody(metadata, found)

    def fetch_for_cell(self, arrival: Arrival, state: CellState, done: Callable[[], None]) -> None:
        """Large objects for the cell to replicate come without their data: fetch them from the sender. `done` is called
        when all have arrived."""
        cell = self._cell.id
        lacking = {thing.metadata.key: thing.metadata for thing in state.objects if self._is_to_fetch(thing)}
        source = Destination(arrival.origin_cell, arrival.origin)

        def keep(metadata: Metadata, tries: int, outcome: Outcome, data: Content) -> None:
            wanted = self._cell.id == cell and self._cell.mode in (Mode.MEMBER, Mode.JOINING)
            if wanted and outcome.failure in LOOKED_UP and tries > 1:
                self._cell.host.after(FETCH_AGAIN_S, partial(fetch, metadata, tries - 1))
                return
            self._fetching.discard(metadata.key)
            if outcome.ok and wanted:
                self._cell.holdings.put_object(metadata, data)
                del lacking[metadata.key]
                if not lacking:
                    done()
            self._contents.release(metadata.key)

        def fetch(metadata: Metadata, tries: int) -> None:
            self._fetches.fetch(
                metadata, [source], partial(keep, metadata, tries), partial(self._casting.heard, metadata.key)
            )

        if not lacking:
            done()
        for metadata in list(lacking.values()):
            if metadata.key not in self._fetching:
                self._fetching.add(metadata.key)
                tries = FETCH_TRIES if self._options.replicas_in_cell > 0 else 1
                self._casting.when_over(metadata, partial(fetch, metadata, tries))

    def _is_to_fetch(self, thing: DataObject) -> bool:
        holdings, key = self._cell.holdings, thing.metadata.key
        here = thing.whole or holdings.has_object(key)
        return not here and not holdings.index.deleted(key)

    def _on_discarded(self, objects: list[Metadata]) -> None:
        """The old cell's objects stay there (§6.6.3); own and retrieved ones are kept."""
        for metadata in objects:
            if metadata.key not in self._copies:
                self._contents.drop(metadata.key)

    def _on_part_request(self, arrival: Arrival, request: PartRequest) -> None:
        """A proxy that does not know an object may be the wrong one, because beacons were lost. It does not answer, so
        that the request is repeated and may reach the right cell."""
        here = self._contents.has(request.key)
        if arrival.proxied and self._options.dynamic_cells and not here:
            return
        ours = arrival.form is Form.CELL and self._cell.member and not self._cell.holdings.index.deleted(request.key)
        ours = ours and not here and bool(self._options.replicas_in_cell or self._options.lookups)
        if ours or self._cell.holdings.lacks(request.key):
            for keeper in keepers_among(request.key, self._cell.others, 1):
                passed_on = PartFor(request, arrival.origin, arrival.origin_cell)
                self._cell.send_to_member(keeper, passed_on)
                return
        self._cell.answer(arrival, self._contents.answer(request))

    def _on_part_for(self, arrival: Arrival, message: PartFor) -> None:
        self._cell.router.send_to_node(message.node, message.cell, self._contents.answer(message.request))

    def _on_part(self, arrival: Arrival, reply: PartReply) -> None:
        self._fetches.on_reply(reply)

    def _on_undelivered(self, node: NodeId, cell: CellId, number: int) -> None:
        """A request was returned: that replica is not there."""
        request = self._asked_parts.pop(number, None)
        if request is not None:
            self._cell.requests.resolve(request, Outcome(Failure.NOT_FOUND))

    def _replicate(self, metadata: Metadata, data: Content, done: Done) -> None:
        """Active replication in this node's cell (§6.2.1); a large object is announced and fetched."""
        small = data if isinstance(data, bytes) and len(data) <= self._options.contents.part_bytes else None
        place, member = self._cell.place, self._cell.member
        keepers = self._keepers(metadata.key, place) if self._options.replicas_in_cell > 0 else ()
        state = CellState(objects=(DataObject(metadata, small or b""),), keepers=keepers)
        if member:
            self._cell.holdings.put_own(metadata)
        heard = member or bool(self._cell.members_of(place))
        if heard and small is not None:
            self.confirming.tell(state, done, place)
            return
        if heard:
            self._cell.tell_surely(state, place)
            self._casting.cast(metadata)
        elif self._options.dynamic_cells:
            self._leave_to_proxy(state, place)
        done(Outcome())

    def _keepers(self, key: ObjectKey, place: CellId) -> tuple[NodeId, ...]:
        """The other members that keep an object, where only some do; none if all do."""
        node, wanted = self._cell.host.node, self._options.replicas_in_cell
        members = self._cell.members_of(place) + [node] * self._cell.member
        chosen = keepers_among(key, members, wanted) if wanted < len(members) else []
        return tuple(sorted(keeper for keeper in chosen if keeper != node))

    def _leave_to_proxy(self, state: CellState, place: CellId) -> None:
        """No member of the cell is in range: its proxy keeps the object."""

        def send(number: int) -> None:
            self._cell.router.send_to_cell(place, msgspec.structs.replace(state, request=number))

        self._cell.requests.begin(send, ignore)

    def _become_replica(self, metadata: Metadata, data: Content) -> None:
        """Passive replication (§6.2.2): keep the retrieved object, and announce this to the cells of its metadata."""
        if not self._cell.watch(metadata):
            return
        self._contents.keep(metadata, data)
        self._note_copy(metadata)
        self._cell.named[metadata.key] = self._cell.place
        added = ReplicaAdded(metadata.key, Replica(self._cell.host.node, self._cell.place))
        self._cell.router.send_to_many(map(Destination, cells_of_tags(self._cell.grid, metadata.tags)), added)

    def _note_copy(self, metadata: Metadata) -> None:
        """Keep the metadata of a copy. If the owner told this node itself, unsigned, a cell has it with the
        signature."""
        self._copies.put_retrieved(metadata)
        if self._cell.host.codec.missing_bytes(metadata):

            def found(fresh: Metadata | None, deleted: bool) -> None:
                if fresh is not None and metadata.key in self._copies:
                    self._copies.put_retrieved(fresh)

            self._lookups.ask_cells(metadata, found)

    def _on_drop(self, arrival: Arrival, message: DropCopy) -> None:
        if message.key.owner != self._cell.host.node and message.key in self._copies:
            self.drop_copy(message.key)

    def _ask_for_part(self, source: Destination, request: PartRequest) -> None:
        if source.node == WHOLE_CELL:
            self._cell.router.send_to_cell(source.cell, request)
            return
        number = self._cell.router.send_to_node(source.node, source.cell, request)
        self._asked_parts[number] = request.request
