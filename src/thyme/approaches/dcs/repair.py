"""Repair: anti-entropy among the members of a cell.

The broadcast within a cell is not acknowledged, so members miss news, and the papers' recall suffers from it
(§9.3.3). Every beacon carries four bytes that sum up what its sender holds. A member whose neighbour's bytes have
differed from its own for a while sends it the digests of its buckets; the neighbour answers with the items of the
buckets that differ, and each sends the other what it misses. Of two members the one with the lower number begins, so
that they do not both. Beacons of members that are about to leave lack the bytes; the first of these asks the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.items import merged
from thyme.approaches.digests import Digests, pack, unpack
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.cells.addresses import Arrival, Form
from thyme.routing.cells.beacons import Neighbour
from thyme.wire.cells import BucketItems, Buckets, CellState, ItemsWanted

MAX_ITEMS = 120
"""Items listed in one message; a larger difference is repaired in several rounds."""


class Repair:
    """One member's part in keeping its cell of one mind."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._host = cell.host
        self._options = cell.options
        self._differs_since_s: dict[NodeId, float] = {}
        self._said: dict[NodeId, bytes] = {}
        """What the last beacon of each other member said of what it holds."""
        self._listings = 0
        cell.heard.then(self._on_heard)
        cell.settled.then(self._on_settled)
        cell.serve(Buckets, self._on_buckets)
        cell.serve(BucketItems, self._on_items)
        cell.serve(ItemsWanted, self._on_wanted)

    def _on_heard(self, neighbour: Neighbour, digest: bytes) -> None:
        """Compare a neighbour's beacon with what is held here. A member that is about to leave does not say what it
        holds; if this one is, too, it asks: both may stay for long, since neither relies on the other."""
        cell, node = self._cell, neighbour.node
        self._said.pop(node, None)
        member = neighbour.cell == cell.id and neighbour.stationary and self._options.repair
        if not (member and (digest or cell.departing)):
            self._differs_since_s.pop(node, None)
            return
        if digest:
            self._said[node] = digest
        digests = cell.holdings.digests
        if not cell.member or digest == digests.beacon():
            self._differs_since_s.pop(node, None)
            return
        now_s = self._host.now()
        since_s = self._differs_since_s.setdefault(node, now_s)
        begins = self._host.node < node if digest else cell.leads
        waited = now_s - since_s >= self._options.repair_s and begins
        if waited or (cell.departing and digest):
            self._differs_since_s[node] = now_s
            cell.send_to_member(node, Buckets(digests.buckets()))

    @property
    def agrees(self) -> bool:
        """Whether another member, who is going to stay, holds what this one holds now, as far as beacons tell: what
        came after its last beacon it may have missed."""
        return self.agrees_since(-inf)

    def agrees_since(self, at_s: float) -> bool:
        """The same, by beacons that came after an instant: who was to say by then that it is about to leave, too, has
        not."""
        digest, heard_s = self._cell.holdings.digests.beacon(), self._cell.beacons.heard_s
        return any(self._said.get(other) == digest and heard_s(other) > at_s for other in self._cell.others)

    def _on_settled(self, alone: bool) -> None:
        self._differs_since_s.clear()
        self._said.clear()

    def _on_buckets(self, arrival: Arrival, message: Buckets) -> None:
        if arrival.form is Form.NODE:
            digests = self._cell.holdings.digests
            differing = digests.differing(message.digests)
            self._cell.send_to_member(arrival.origin, self._listing(digests, differing, reply=True))

    def _on_items(self, arrival: Arrival, message: BucketItems) -> None:
        """Ask for what is not here, and give what is not there."""
        if arrival.form is not Form.NODE:
            return
        digests = self._cell.holdings.digests
        theirs = set(unpack(message.items))
        ours = list(digests.items(message.buckets))
        wanted = [item for item in unpack(message.items) if item not in digests]
        if wanted:
            self._host.record(Counted(TrafficKind.DROPPED, "CellState", len(wanted), reason="missed, repaired"))
            self._cell.send_to_member(arrival.origin, ItemsWanted(pack(wanted[:MAX_ITEMS])))
        if message.reply:
            self._give(arrival.origin, [item for item in ours if item not in theirs][:MAX_ITEMS])

    def _on_wanted(self, arrival: Arrival, message: ItemsWanted) -> None:
        if arrival.form is Form.NODE:
            self._give(arrival.origin, unpack(message.items))

    def _listing(self, digests: Digests, buckets: list[int], *, reply: bool) -> BucketItems:
        """The items of as many buckets as fit one message, from another bucket on each time: where news never ends,
        those that came first would else be the only ones."""
        chosen: list[int] = []
        items: list[int] = []
        self._listings += 1
        first = self._listings % max(1, len(buckets))
        for bucket in buckets[first:] + buckets[:first]:
            more = list(digests.items([bucket]))
            if chosen and len(items) + len(more) > MAX_ITEMS:
                break
            chosen.append(bucket)
            items += more
        return BucketItems(tuple(chosen), pack(items), reply)

    def _give(self, to: NodeId, items: Iterable[int]) -> None:
        pieces: list[CellState] = []
        for item in items:
            piece = self._cell.holdings.item(item)
            if piece is not None:
                pieces.append(piece)
        for state in merged(pieces, self._cell.host.codec.missing_bytes):
            self._cell.send_to_member(to, msgspec.structs.replace(state, late=True))
