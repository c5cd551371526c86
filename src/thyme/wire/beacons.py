"""Beacons (tags 70–74): a node broadcasts its cell to its neighbours."""

from __future__ import annotations

from struct import Struct

from thyme.model.ids import CellId
from thyme.wire.message import Message

SUM_BYTES = 4
NOTE = Struct(">IH")
"""A note that beacons spread: the number of its subject, and a number that distinguishes notes on one subject."""


def parts(digest: bytes) -> tuple[bytes, bytes]:
    """The sum of a digest, if its length has room for one, and its notes."""
    size = SUM_BYTES if len(digest) % NOTE.size == SUM_BYTES % NOTE.size else 0
    return digest[:size], digest[size:]


class Beacon(Message, frozen=True, tag=70):
    """The sender is in `cell`; only a stationary sender routes. `digest` belongs to the approach: up to `SUM_BYTES` are
    a checksum of what the sender holds, for its own cell; the notes after it are for all nodes. `far` lists the cells
    that the sender receives from and that no touching populated cells connect to its own: twice the number of each,
    plus one if a node there advertises the sender's cell."""

    control = True
    cell: CellId
    stationary: bool
    digest: bytes = b""
    far: tuple[int, ...] = ()
