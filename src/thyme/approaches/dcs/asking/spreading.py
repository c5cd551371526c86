"""Hot tags: one tag's work shared by several cells (our answer to the load that the papers leave to a single cell).

When a cell holds more objects of one of its tags than `spread_load`, the tag is spread over `spread_cells` cells: the
hashes of the tag with the numbers 0, 1, 2, …. An object belongs to the one that its key hashes to; subscriptions are in
all of them. The first cell stays the one that everybody knows: it passes on what belongs elsewhere, and tells whoever
asks, so that insertions go straight to their cell from then on. What was stored before stays where it is.
"""

from __future__ import annotations

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.keys import other_cells_of, share_of
from thyme.approaches.interface import Outcome
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.routing.cells.addresses import Arrival, Destination
from thyme.wire.cells import CellState, Deleted, InsertMetadata, Revoked, SpreadInsert, SubscribePart
from thyme.wire.message import Message


class Spreading:
    """A member's part in spreading the hot tags of its cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._grid = cell.grid
        self._options = cell.options

    def hot_tags(self, tags: tuple[str, ...], home: CellId) -> tuple[tuple[str, int], ...]:
        """Those of some tags of this cell that are spread, and over how many cells."""
        spread = self._cell.holdings.spread
        if not spread:
            return ()
        return tuple((t, spread[t]) for t in tags if t in spread and self._grid.cell_for(t) == home)

    def passed_on(self, arrival: Arrival, message: InsertMetadata) -> bool:
        """Whether an insertion for this cell belongs to another cell of its hot tags, and was sent there."""
        metadata, home, spread = message.metadata, arrival.target, self._cell.holdings.spread
        if not spread:
            return False
        mine = [tag for tag in metadata.tags if self._grid.cell_for(tag) == home]
        if not mine or any(tag not in spread for tag in mine):
            return False
        cells = [self._grid.cell_for(tag, share_of(metadata.key, spread[tag])) for tag in mine]
        if home in cells:
            return False
        relayed = SpreadInsert(message.request, metadata, arrival.origin_cell, home)
        self._cell.router.send_to_many([Destination(cell) for cell in dict.fromkeys(cells)], relayed)
        return True

    def grown(self, metadata: Metadata, home: CellId) -> CellState | None:
        """After an insertion: the news that tags have become hot, if they have."""
        if self._options.spread_load <= 0:
            return None
        holdings = self._cell.holdings
        news: list[tuple[str, int]] = []
        for tag in metadata.tags:
            full = holdings.index.count(tag) > self._options.spread_load
            if full and self._grid.cell_for(tag) == home and holdings.spread_tag(tag, self._options.spread_cells):
                news.append((tag, self._options.spread_cells))
                for part in holdings.parts.about(tag, home):
                    copy = SubscribePart(-1, part.subscription, part.cell, 0, part.told_s)
                    self._to_others(tag, self._options.spread_cells, copy)
        return CellState(spread=tuple(news)) if news else None

    def subscribed(self, message: SubscribePart, home: CellId) -> None:
        """Copy a new subscription to the other cells of its hot tags. Its subscriber, who is told that they are hot,
        asks those cells for the past by itself."""
        copy = SubscribePart(-1, message.subscription, message.cell, 0, message.told_s)
        tags = dict.fromkeys(tag for c in message.subscription.conjunctions for tag in c.positive)
        for tag, cells in self.hot_tags(tuple(tags), home):
            self._to_others(tag, cells, copy)

    def everywhere(self, message: Message, home: CellId) -> None:
        """Pass on what every cell that shares a hot tag with this one must know."""
        for tag, cells in self.hot_tags(tuple(self._cell.holdings.spread), home):
            self._to_others(tag, cells, message)

    def _shares(self, home: CellId) -> list[CellId]:
        """The cells that share a hot tag with this one, each once."""
        hot = self.hot_tags(tuple(self._cell.holdings.spread), home)
        return list(dict.fromkeys(cell for tag, cells in hot for cell in self._others(tag, cells)))

    def deleted(self, key: ObjectKey, home: CellId) -> None:
        for cell in self._shares(home):
            self._tell(cell, CellState(deleted=(Deleted(cell, key),)))

    def revoked(self, key: SubscriptionKey, home: CellId) -> None:
        for cell in self._shares(home):
            self._tell(cell, CellState(revoked=(Revoked(cell, key),)))

    def _tell(self, cell: CellId, state: CellState) -> None:
        """Another cell has to know for sure: it is told until it answers."""

        def send(number: int) -> None:
            self._cell.router.send_to_cell(cell, msgspec.structs.replace(state, request=number))

        self._cell.requests.begin(send, _ignore)

    def _to_others(self, tag: str, cells: int, message: Message) -> None:
        self._cell.router.send_to_many([Destination(cell) for cell in self._others(tag, cells)], message)

    def _others(self, tag: str, cells: int) -> list[CellId]:
        return other_cells_of(self._grid, tag, cells)


def _ignore(outcome: Outcome) -> None:
    """Nobody waits for this: it is tried as often as other requests."""
