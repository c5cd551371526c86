"""Room: how much a store holds, how much it may hold, and who is told when that is nearly all.

What is new is refused with one clear error when the store is as large as it may be, or when the disk is nearly full. A
little before that, whoever can make room (`live.node.quota`) is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from thyme.live.store.options import DiskOptions
from thyme.model.errors import InputError


class StoreFull(InputError):
    """There is no room for what is new."""


class Room:
    def __init__(self, folder: Path, options: DiskOptions, held_bytes: int, free_bytes: int) -> None:
        self._folder = folder
        self._options = options
        self._headroom_bytes = int(options.headroom * options.most_bytes)
        self._loop = asyncio.get_running_loop()
        self._telling: asyncio.Handle | None = None
        self.held_bytes = held_bytes
        """Of records and contents."""
        self.free_bytes = free_bytes
        """On the disk, when it was last written to."""
        self.failing = False
        """Whether the disk did not take what it was given last."""
        self.crowded: Callable[[int], None] | None = None
        """Told, not at once, that there is little room left, and for how much there should be."""
        self._wanted_bytes = 0

    def lacking_bytes(self, size_bytes: int = 0) -> int:
        """How much has to go for `size_bytes` more: nothing while the headroom is there, else as much as makes it twice
        as large."""
        most, options = self._options.most_bytes, self._options
        lacking = self.held_bytes + size_bytes + self._headroom_bytes - most if most else 0
        on_disk = options.reserve_bytes + size_bytes - self.free_bytes
        return max(lacking + self._headroom_bytes if lacking > 0 else 0, on_disk, 0)

    def expect(self, size_bytes: int) -> None:
        """StoreFull if there is no room for so much more."""
        most, needed = self._options.most_bytes, self.held_bytes + size_bytes
        no_room = self.failing or self.free_bytes < self._options.reserve_bytes
        if no_room or (most and needed > most - self._headroom_bytes):
            self._tell(size_bytes)
        if most and needed > most:
            raise StoreFull(
                f"the store in {self._folder} holds {self.held_bytes} of {most} bytes and has no room for {size_bytes} "
                "more; delete something first, or let it be larger (--most-bytes)"
            )
        if no_room:
            raise StoreFull(f"the disk of {self._folder} is full; make room, or delete objects of this node")

    def _tell(self, size_bytes: int) -> None:
        self._wanted_bytes = max(self._wanted_bytes, size_bytes)
        if self.crowded is not None and self._telling is None:
            self._telling = self._loop.call_soon(self._told)

    def _told(self) -> None:
        self._telling = None
        wanted_bytes, self._wanted_bytes = self._wanted_bytes, 0
        if self.crowded is not None:
            self.crowded(wanted_bytes)
