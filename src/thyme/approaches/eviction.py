"""Eviction: the contents that a node may drop, and in which order, when its store is full.

Contents are dropped by rank, and within a rank the oldest publication first. Insertions of a node's own user are never
dropped. Contents that other nodes rely on this node alone for (`SOLE`) are dropped only when their owner's age limit
has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum

import msgspec

from thyme.model.ids import ObjectKey


class Rank(IntEnum):
    """Why a content is here."""

    DRAFT = 1
    """It was retrieved or partly retrieved, and no retrieval waits for it any more."""
    REPLICA = 2
    """It was retrieved and is kept as a nearer copy for other nodes (passive replication, Thyme FGCS §6.2.2)."""
    FOR_OTHERS = 3
    """It is kept for other nodes; its owner has it, too."""
    DELIVERED = 4
    """It came with a notification, for this node's user to read."""
    SOLE = 5
    """It is kept for other nodes and may be the only copy: never dropped to make room."""


class Evictable(msgspec.Struct, frozen=True):
    key: ObjectKey
    rank: Rank
    size_bytes: int
    since_s: float | None
    """When it was published, or begun if it is a draft; None if unknown, and then it never counts as too old."""
    drop: Callable[[], None]


def in_order(evictable: Iterable[Evictable]) -> list[Evictable]:
    """In the order of eviction."""
    return sorted(evictable, key=lambda candidate: (candidate.rank, candidate.since_s or 0.0))
