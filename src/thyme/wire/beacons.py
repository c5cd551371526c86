"""Beacons (tags 70–74): who is where, said to whoever is in range."""

from __future__ import annotations

from thyme.model.ids import CellId
from thyme.wire.message import Message


class Beacon(Message, frozen=True, tag=70):
    """The sender is in `cell`; only a stationary sender routes. `digest` belongs to the approach above, which
    fills and reads it."""

    control = True
    cell: CellId
    stationary: bool
    digest: bytes = b""
