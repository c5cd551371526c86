"""Where a node's store lies: in memory, in a folder that was named, or in the user's data folder."""

from __future__ import annotations

import os
from pathlib import Path

from thyme.host import MemoryStore, Store
from thyme.live.store.disk import DiskOptions, DiskStore

MEMORY = "memory"
"""In place of a folder: forget everything at the end."""


def open_store(
    where: Store | str | os.PathLike[str] | None, node: int, approach: str, options: DiskOptions
) -> Store | DiskStore:
    """The store that a person named; without a name, the one of this node and approach in the user's data folder."""
    if where is None:
        return DiskStore(data_folder() / f"{node}-{approach}", _about(node, approach), options)
    if isinstance(where, str | os.PathLike):
        if where == MEMORY:
            return MemoryStore()
        return DiskStore(Path(where).expanduser(), _about(node, approach), options)
    return where


def data_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("thyme", appauthor=False) / "nodes"


def _about(node: int, approach: str) -> dict[str, str]:
    return {"node": str(node), "approach": approach}
