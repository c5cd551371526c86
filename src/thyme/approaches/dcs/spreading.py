"""Hot tags: one tag's work shared by several cells (our answer to the load that the papers leave to a single cell).

When a cell holds more objects of one of its tags than `spread_load`, the tag is spread over `spread_cells` cells: the
hashes of the tag with the numbers 0, 1, 2, …. An object belongs to the one that its key hashes to; subscriptions are in
all of them. The first cell stays the one that everybody knows: it passes on what belongs elsewhere, and tells whoever
asks, so that insertions go straight to their cell from then on. What was stored before stays where it is.
"""

from __future__ import annotations

from hashlib import blake2b

from thyme.approaches.dcs.holdings import Holdings
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.routing.cells.addresses import Arrival, Destination
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import CellState, InsertMetadata, SpreadInsert, SubscribePart
from thyme.wire.message import Message


def share_of(key: ObjectKey, cells: int) -> int:
    """Which of a hot tag's cells an object belongs to."""
    return int.from_bytes(blake2b(str(key).encode(), digest_size=4).digest(), "big") % cells


class Spreading:
    """A member's part in spreading the hot tags of its cell."""

    def __init__(self, grid: Grid, router: GeographicRouter, options: CellStorageOptions) -> None:
        self._grid = grid
        self._router = router
        self._options = options

    def hot_tags(self, holdings: Holdings, tags: tuple[str, ...], home: CellId) -> tuple[tuple[str, int], ...]:
        return tuple((t, holdings.spread[t]) for t in tags if t in holdings.spread and self._grid.cell_for(t) == home)

    def passed_on(self, holdings: Holdings, arrival: Arrival, message: InsertMetadata) -> bool:
        """Whether an insertion for this cell belongs to another cell of its hot tags, and was sent there."""
        metadata, home = message.metadata, arrival.target
        mine = [tag for tag in metadata.tags if self._grid.cell_for(tag) == home]
        if not mine or any(tag not in holdings.spread for tag in mine):
            return False
        cells = [self._cell(tag, share_of(metadata.key, holdings.spread[tag])) for tag in mine]
        if home in cells:
            return False
        relayed = SpreadInsert(message.request, metadata, arrival.origin_cell, home)
        self._router.send_to_many([Destination(cell) for cell in dict.fromkeys(cells)], relayed)
        return True

    def grown(self, holdings: Holdings, metadata: Metadata, home: CellId) -> CellState | None:
        """After an insertion: the news that tags have become hot, if they have."""
        if self._options.spread_load <= 0:
            return None
        news: list[tuple[str, int]] = []
        for tag in metadata.tags:
            full = holdings.index.count(tag) > self._options.spread_load
            if full and self._grid.cell_for(tag) == home and holdings.spread_tag(tag, self._options.spread_cells):
                news.append((tag, self._options.spread_cells))
                for part in holdings.parts_about(tag, home):
                    copy = SubscribePart(-1, part.subscription, part.cell, 0)
                    self._to_others(tag, self._options.spread_cells, copy)
        return CellState(spread=tuple(news)) if news else None

    def subscribed(self, holdings: Holdings, message: SubscribePart, home: CellId) -> None:
        """Copy a new subscription to the other cells of its hot tags."""
        copy = SubscribePart(-1, message.subscription, message.cell, message.past)
        tags = dict.fromkeys(tag for c in message.subscription.conjunctions for tag in c.positive)
        for tag, cells in self.hot_tags(holdings, tuple(tags), home):
            self._to_others(tag, cells, copy)

    def everywhere(self, holdings: Holdings, message: Message, home: CellId) -> None:
        """Pass on what every cell that shares a hot tag with this one must know."""
        for tag, cells in self.hot_tags(holdings, tuple(holdings.spread), home):
            self._to_others(tag, cells, message)

    def deleted(self, holdings: Holdings, key: ObjectKey, home: CellId) -> None:
        self.everywhere(holdings, CellState(deleted=(key,), request=0), home)

    def revoked(self, holdings: Holdings, key: SubscriptionKey, home: CellId) -> None:
        self.everywhere(holdings, CellState(revoked=(key,), request=0), home)

    def _to_others(self, tag: str, cells: int, message: Message) -> None:
        home = self._grid.cell_for(tag)
        others = dict.fromkeys(self._cell(tag, share) for share in range(1, cells))
        self._router.send_to_many([Destination(cell) for cell in others if cell != home], message)

    def _cell(self, tag: str, share: int) -> CellId:
        return self._grid.cell_for(tag, share)
