"""Small worlds of cells: nodes given by the column and row of their cell, and what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from small_world import SmallWorld

from thyme.approaches.dcs.protocol import CellStorage
from thyme.model.records import TrafficKind

CELL_M = 40.0


class CellWorld(SmallWorld):
    """Nodes given by the column and row of their cell; a second node of a cell stands a little beside the first."""

    def __init__(self, folder: Path, cells: list[tuple[int, int]], settings: dict[str, Any] | None = None, **more: Any):
        places = []
        for i, (column, row) in enumerate(cells):
            aside_m = 3.0 * cells[:i].count((column, row))
            places.append((column * CELL_M + 15.0 + aside_m, row * CELL_M + 15.0))
        columns, rows = max(c for c, _ in cells) + 1, max(r for _, r in cells) + 1
        venue = {"width_m": columns * CELL_M, "height_m": rows * CELL_M}
        super().__init__(folder, places, "dcs", settings, venue=venue, **more)
        self.wait(60.0)

    def store(self, node: int) -> CellStorage:
        store = self.node(node)
        assert isinstance(store, CellStorage)
        return store

    def tag_of(self, column: int, row: int) -> str:
        """A tag that hashes to a cell."""
        grid = self.store(next(iter(self.run.stores))).cell.grid
        cell = grid.at(column, row)
        return next(f"tag{i}" for i in range(10_000) if grid.cell_for(f"tag{i}") == cell)

    def holders(self, oid: str) -> list[int]:
        """The nodes that hold an object's metadata for their cell."""
        return [
            node
            for node in sorted(self.run.stores)
            if any(m.key.oid == oid for m in self.store(node).cell.holdings.index.objects())
        ]

    def keepers(self, oid: str) -> list[int]:
        """The nodes that actively replicate an object."""
        return [
            node
            for node in sorted(self.run.stores)
            if any(m.key.oid == oid for m in self.store(node).cell.holdings.objects())
        ]

    def packets(self) -> int:
        """How many packets between cells all nodes have sent, hops included."""
        return sum(self.run.world.recorder.tally(TrafficKind.SENT, "CellPacket").counts)
