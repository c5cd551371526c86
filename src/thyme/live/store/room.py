"""Room: the options of a store, its size and maximum size, and the callbacks for when it is nearly full.

New contents are refused with one clear error when the store has reached its maximum size, or when the disk is nearly
full. Shortly before that, the node's quota (`live.node.quota`) is called and can make room.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shutil import disk_usage
from typing import Literal

import msgspec

from thyme.host import StoreFull
from thyme.model.settings.bounds import Count, NotNegative, Positive, Share

Durability = Literal["full", "batched"]


class DiskOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    durability: Durability = "full"
    batch_s: Positive = 0.5
    """How often `batched` writes."""
    most_bytes: Count = 0
    """Maximum size of records and contents; 0: limited by the disk only."""
    most_age_s: NotNegative = 0.0
    """Contents of other nodes are removed at this age; 0: never."""
    headroom: Share = 0.05
    """Of `most_bytes`: with less than this free, others' contents make room until it is free twice."""
    author_share: Share = 0.6
    """Share of `most_bytes`, if it is set, that one other node's objects and subscriptions may take, …"""
    own_share: Share = 0.1
    """… and the share that all others together leave to this node."""
    reserve_bytes: Count = 64_000_000
    """Contents leave this much of the disk free, so that accepted changes can always be written."""
    spare_bytes: Count = 4_000_000
    """Kept allocated in a file, which is given up when another program has filled the disk: deletions, subscriptions
    and other small records still reach it."""
    retry_s: Positive = 1.0
    """How long a write that failed waits before it is tried again."""


MEASURE_S = 0.5
"""Between two looks at a disk that was full."""


class Room:
    def __init__(self, folder: Path, options: DiskOptions, own: str, free_bytes: int) -> None:
        """`own` is the number of the node whose store this is."""
        self._folder = folder
        self._options = options
        self._own_end = f"@{own}"
        self._headroom_bytes = int(options.headroom * options.most_bytes)
        self._loop = asyncio.get_running_loop()
        self._reporting: asyncio.Handle | None = None
        self.held_bytes = 0
        """Of records and contents."""
        self.held_of: Counter[str] = Counter()
        """Of other nodes' objects and subscriptions, by their numbers."""
        self.free_bytes = free_bytes
        """On the disk, when it was last written to."""
        self.failing = False
        """Whether the disk did not take what it was given last."""
        self.crowded: Callable[[int], None] | None = None
        """Called later when little room is left, with the room that there should be."""
        self.over_share: Callable[[str, int, float | None], None] | None = None
        """Called later when a node has nearly used its share: with the node, the size of its new content, and when that
        was published, if it is known."""
        self._wanted_bytes = 0
        self._measure_s = 0.0

    def add(self, key: str, size_bytes: int) -> None:
        """Add to the size held under a key; it may be negative."""
        self.held_bytes += size_bytes
        if author := self._other(key):
            self.held_of[author] += size_bytes

    def _other(self, key: str) -> str:
        """The number of another node that made what a key is about; nothing if it does not say, or is this node's."""
        if "@" not in key or key.endswith(self._own_end):  # as most are
            return ""
        author = key.rpartition("@")[2].partition("#")[0]
        return author if author.isdigit() and f"@{author}" != self._own_end else ""

    @property
    def share_bytes(self) -> int:
        """What one other node may take."""
        return int(self._options.author_share * self._options.most_bytes)

    def lacking_bytes(self, size_bytes: int = 0) -> int:
        """Bytes to remove for `size_bytes` more: none while there is headroom, else enough to double the headroom."""
        most, options = self._options.most_bytes, self._options
        lacking = self.held_bytes + size_bytes + self._headroom_bytes - most if most else 0
        on_disk = options.reserve_bytes + size_bytes - self.free_bytes
        return max(lacking + self._headroom_bytes if lacking > 0 else 0, on_disk, 0)

    def take(self, key: str, size_bytes: int) -> None:
        """Hold a new record; StoreFull if there is no room for it."""
        other = self._other(key)
        self._expect(other, size_bytes, True, None)
        self.held_bytes += size_bytes
        if other:
            self.held_of[other] += size_bytes

    def expect(self, key: str, size_bytes: int, since_s: float | None = None) -> None:
        """StoreFull if there is no room for this much more of a content."""
        self._expect(self._other(key), size_bytes, False, since_s)

    def _expect(self, other: str, size_bytes: int, record: bool, since_s: float | None) -> None:
        """A record, which is small, may use the reserve."""
        most, needed = self._options.most_bytes, self.held_bytes + size_bytes
        if self.free_bytes < self._options.reserve_bytes and self._loop.time() >= self._measure_s:
            self._measure_s = self._loop.time() + MEASURE_S
            self.free_bytes = disk_usage(self._folder).free
        no_room = self.failing or (not record and self.free_bytes < self._options.reserve_bytes)
        if no_room or (most and needed > most - self._headroom_bytes):
            self._report_soon(size_bytes)
        if other and most:
            self._expect_share(other, size_bytes, since_s)
            most = int(most * (1.0 - self._options.own_share))
        if most and needed > most:
            raise StoreFull(
                f"the store in {self._folder} holds {self.held_bytes} of {most} bytes and has no room for {size_bytes} "
                "more; delete something first, or raise the limit (--most-bytes)"
            )
        if no_room:
            raise StoreFull(
                f"the disk of {self._folder} is full; free some space, or delete objects of this node (thyme rm NAME)"
            )

    def _expect_share(self, author: str, size_bytes: int, since_s: float | None) -> None:
        share_bytes = self.share_bytes
        if self.held_of[author] + size_bytes <= share_bytes - self._headroom_bytes:
            return
        if self.over_share is not None:
            self._loop.call_soon(self.over_share, author, size_bytes, since_s)
        if self.held_of[author] + size_bytes > share_bytes:
            raise StoreFull(f"node {author} has used its share of the store in {self._folder}, {share_bytes} bytes")

    def _report_soon(self, size_bytes: int) -> None:
        self._wanted_bytes = max(self._wanted_bytes, size_bytes)
        if self.crowded is not None and self._reporting is None:
            self._reporting = self._loop.call_soon(self._report)

    def _report(self) -> None:
        self._reporting = None
        wanted_bytes, self._wanted_bytes = self._wanted_bytes, 0
        if self.crowded is not None:
            self.crowded(wanted_bytes)
