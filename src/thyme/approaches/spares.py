"""Spares: contents that a node could do without, and whose go first when its store is as full as it may be.

What is dearest goes last, and within a rank what was published first goes first. What a node's own user inserted is
never spared, and of what others rely on this node alone for (`SOLE`) only what its owner called too old.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum

import msgspec

from thyme.model.ids import ObjectKey


class Rank(IntEnum):
    """Why a content is here."""

    DRAFT = 1
    """It was to be retrieved, or has been, and nobody waits for it any more."""
    REPLICA = 2
    """It was retrieved, and is kept so that others find it nearer (passive replication, Thyme FGCS §6.2.2)."""
    FOR_OTHERS = 3
    """It is kept on behalf of others; its owner has it, too."""
    DELIVERED = 4
    """It came with a notification, for this node's user to read."""
    SOLE = 5
    """It is kept on behalf of others, and nobody else may have it: never let go of to make room."""


class Spare(msgspec.Struct, frozen=True):
    key: ObjectKey
    rank: Rank
    size_bytes: int
    since_s: float | None
    """When it was published, of a draft when it was begun; None if that is not known, and then it is never too old."""
    drop: Callable[[], None]


def in_order(spares: Iterable[Spare]) -> list[Spare]:
    """Whose turn it is first."""
    return sorted(spares, key=lambda spare: (spare.rank, spare.since_s or 0.0))
