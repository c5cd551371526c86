"""Beacons (tags 70–74): who is where, said to whoever is in range."""

from __future__ import annotations

from struct import Struct

from thyme.model.ids import CellId
from thyme.wire.message import Message

SUM_BYTES = 4
NOTE = Struct(">IH")
"""Something that goes round in beacons: a number of what it is about, and one that tells it from others."""


def parts(digest: bytes) -> tuple[bytes, bytes]:
    """What a beacon carries: a sum, if its length leaves room for one, and notes."""
    size = SUM_BYTES if len(digest) % NOTE.size == SUM_BYTES % NOTE.size else 0
    return digest[:size], digest[size:]


class Beacon(Message, frozen=True, tag=70):
    """The sender is in `cell`; only a stationary sender routes. `digest` belongs to the approach above, which
    fills and reads it: up to `SUM_BYTES` sum up what the sender holds, which concerns its own cell; the notes after
    them concern everybody."""

    control = True
    cell: CellId
    stationary: bool
    digest: bytes = b""
