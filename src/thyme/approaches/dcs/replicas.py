"""The copies of objects in Thyme-DCS (Thyme FGCS §6.2, §6.5): which nodes keep them, and how they are served.

A content that fits one message is part of the cell's state: every member of the owner's cell keeps it (active
replication). A larger one has holders (`holders`). A node that retrieves an object keeps it, too, and announces this to
the cells of its metadata (passive replication). A retrieval asks the closest replica, then the next, and the owner's
cell last (`fetcher`); a member without the object forwards the request to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from thyme.approaches.dcs.casting import Casting
from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.cell_requests import Confirming
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.fetcher import Fetcher
from thyme.approaches.dcs.keys import cells_of_tags
from thyme.approaches.dcs.lookups import Found, Lookups
from thyme.approaches.eviction import Evictable, Rank
from thyme.approaches.interface import Done, Fetched, Outcome, ignore
from thyme.approaches.transfers.fetching import Progress
from thyme.model.ids import CellId, ObjectKey
from thyme.model.objects import Content, DataObject, Metadata, Replica
from thyme.routing.cells.addresses import Arrival, Destination, Form
from thyme.wire.cells import WHOLE_CELL, CellState, PartFor, ReplicaAdded
from thyme.wire.storage import PartRequest


class Replicas:
    """One node's copies, and its retrievals."""

    def __init__(self, cell: Cell, copies: Copies, progress: Progress | None = None) -> None:
        self._cell = cell
        self.confirming = Confirming(cell)
        self._copies = copies
        self._contents = cell.contents
        self._contents.is_deleted = cell.holdings.index.deleted
        self._options = cell.options
        self._lookups = Lookups(cell)
        self._casting = Casting(cell)
        self._fetcher = Fetcher(cell, self._lookups, self._casting, progress)
        cell.discarded.then(self._on_discarded)
        cell.hear(PartRequest, self._on_part_request)
        cell.serve(PartFor, self._on_part_for)

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
        self._fetcher.fetch(metadata, partial(self._retrieved, metadata, done), for_user=True)

    def keep_copy(self, metadata: Metadata, kept: Callable[[], None]) -> None:
        """Have an object of which this node is a holder, or is to be one."""

        def fetched(outcome: Outcome, data: Content) -> None:
            if outcome.ok:
                kept()

        if not self._contents.has(metadata.key):
            self._fetcher.fetch(metadata, partial(self._retrieved, metadata, fetched))
        elif metadata.key in self._copies:
            kept()

    def _retrieved(self, metadata: Metadata, done: Fetched, outcome: Outcome, data: Content) -> None:
        if outcome.ok:
            self._become_replica(metadata, data)
        done(outcome, data)

    def drop_copy(self, key: ObjectKey) -> None:
        """A copy is no longer wanted."""
        self._copies.remove_retrieved(key)
        if not self._cell.holdings.has_object(key):
            self._contents.drop(key)

    def cast(self, metadata: Metadata, begins: Callable[[], None]) -> None:
        self._casting.cast(metadata, begins)

    def look_up(self, metadata: Metadata, found: Found) -> None:
        self._lookups.ask_cells(metadata, found)

    def pause(self, key: ObjectKey) -> None:
        self._fetcher.pause(key)

    def fetching(self, key: ObjectKey) -> bool:
        return self._fetcher.fetching(key)

    def evictable(self) -> Iterator[Evictable]:
        """Retrieved objects and those kept for the cell, without those that this node's user inserted."""
        holdings = self._cell.holdings
        for metadata in self._copies.retrieved():
            key = metadata.key
            if key.owner != self._cell.host.node and not holdings.has_object(key):
                rank = Rank.FOR_OTHERS if self._copies.is_held(key) else Rank.REPLICA
                yield Evictable(key, rank, metadata.size_bytes, metadata.published_s, partial(self._let_go, key))
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

    def fetch_for_cell(self, arrival: Arrival, state: CellState, done: Callable[[], None]) -> None:
        """Objects for the cell to replicate that do not fit a message come without their data: fetch them, first from
        the sender. `done` is called when all have arrived."""
        cell = self._cell.id
        lacking = {thing.metadata.key: thing.metadata for thing in state.objects if self._is_to_fetch(thing)}
        source = Destination(arrival.origin_cell, arrival.origin)

        def keep(metadata: Metadata, outcome: Outcome, data: Content) -> None:
            if outcome.ok and self._cell.id == cell and self._cell.mode in (Mode.MEMBER, Mode.JOINING):
                self._cell.holdings.put_object(metadata, data)
                del lacking[metadata.key]
                if not lacking:
                    done()
            self._contents.release(metadata.key)

        if not lacking:
            done()
        for metadata in list(lacking.values()):
            if metadata.key not in self._fetcher:
                self._fetcher.fetch(metadata, partial(keep, metadata), source=source)

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
        ours = ours and not here and self._options.lookups > 0
        others = self._cell.others
        if others and (ours or self._cell.holdings.lacks(request.key)):
            owner = request.key.owner
            member = owner if owner in others else self._cell.host.random.choice(others)
            self._cell.send_to_member(member, PartFor(request, arrival.origin, arrival.origin_cell))
            return
        self._cell.answer(arrival, self._contents.answer(request))

    def _on_part_for(self, arrival: Arrival, message: PartFor) -> None:
        self._cell.router.send_to_node(message.node, message.cell, self._contents.answer(message.request))

    def _replicate(self, metadata: Metadata, data: Content, done: Done) -> None:
        """Active replication in this node's cell (§6.2.1); in the papers a large object is announced and fetched."""
        small = data if isinstance(data, bytes) and len(data) <= self._options.contents.part_bytes else None
        place, member = self._cell.place, self._cell.member
        state = CellState(objects=(DataObject(metadata, small or b""),))
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
        if metadata.key in self._copies:
            return
        self._note_copy(metadata)
        self._cell.named[metadata.key] = self._cell.place
        self.report_copy(metadata)

    def report_copy(self, metadata: Metadata) -> None:
        """Tell the cells of an object's metadata that this node has a copy."""
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
