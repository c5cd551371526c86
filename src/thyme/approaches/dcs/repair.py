"""Repair: anti-entropy among the members of a cell.

The broadcast within a cell is not acknowledged, so members miss news, and the papers' recall suffers from it
(§9.3.3). Every beacon carries four bytes that sum up what its sender holds. A member whose neighbour's bytes have
differed from its own for a while sends it the digests of its buckets; the neighbour answers with the items of the
buckets that differ, and each sends the other what it misses. Of two members the one with the lower number begins, so
that they do not both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thyme.approaches.dcs.digests import Digests, pack, unpack
from thyme.approaches.dcs.holdings import Holdings, joined
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.host import Host
from thyme.model.ids import CellId, NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.cells.beacons import Neighbour
from thyme.wire.cells import BucketItems, Buckets, CellState, ItemsWanted
from thyme.wire.message import Message

MAX_ITEMS = 120
"""Items listed in one message; a larger difference is repaired in several rounds."""

Send = Callable[[NodeId, Message], None]


class Repair:
    """One member's part in keeping its cell of one mind."""

    def __init__(
        self,
        host: Host,
        options: CellStorageOptions,
        holdings: Callable[[], Holdings | None],
        cell: Callable[[], CellId],
        send: Send,
    ) -> None:
        self._host = host
        self._options = options
        self._holdings = holdings
        self._cell = cell
        self._send = send
        self._differs_since_s: dict[NodeId, float] = {}
        self._listings = 0

    def digest(self) -> bytes:
        holdings = self._holdings()
        return holdings.digests.beacon() if holdings and self._options.repair else b""

    def heard(self, neighbour: Neighbour, digest: bytes) -> None:
        """Compare a neighbour's beacon with what is held here."""
        mine = self._options.repair and neighbour.cell == self._cell() and neighbour.stationary
        holdings = self._holdings() if mine and digest else None
        if holdings is None or digest == holdings.digests.beacon():
            self._differs_since_s.pop(neighbour.node, None)
            return
        now_s = self._host.now()
        since_s = self._differs_since_s.setdefault(neighbour.node, now_s)
        if now_s - since_s >= self._options.repair_s and self._host.node < neighbour.node:
            self._differs_since_s[neighbour.node] = now_s
            self._send(neighbour.node, Buckets(holdings.digests.buckets()))

    def forget(self) -> None:
        self._differs_since_s.clear()

    def receive(self, sender: NodeId, message: Message) -> bool:
        holdings = self._holdings()
        match message:
            case Buckets(theirs):
                if holdings:
                    buckets = holdings.digests.differing(theirs)
                    self._send(sender, self._listing(holdings.digests, buckets, reply=True))
            case BucketItems():
                if holdings:
                    self._compare(holdings, sender, message)
            case ItemsWanted(items):
                if holdings:
                    self._give(holdings, sender, unpack(items))
            case _:
                return False
        return True

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

    def _compare(self, holdings: Holdings, sender: NodeId, message: BucketItems) -> None:
        theirs = set(unpack(message.items))
        ours = list(holdings.digests.items(message.buckets))
        wanted = [item for item in unpack(message.items) if item not in holdings.digests]
        if wanted:
            self._host.record(Counted(TrafficKind.DROPPED, "CellState", len(wanted), reason="missed, repaired"))
            self._send(sender, ItemsWanted(pack(wanted[:MAX_ITEMS])))
        if message.reply:
            self._give(holdings, sender, [item for item in ours if item not in theirs][:MAX_ITEMS])

    def _give(self, holdings: Holdings, to: NodeId, items: Iterable[int]) -> None:
        pieces: list[CellState] = []
        for item in items:
            piece = holdings.item(item)
            if piece is not None:
                pieces.append(piece)
        for state in joined(pieces, self._options.state_bytes):
            self._send(to, state)
