"""Beacons (tags 70–74): who is where, said to whoever is in range."""

from __future__ import annotations

from thyme.model.ids import CellId
from thyme.wire.message import Message

SUM_BYTES = 4


class Beacon(Message, frozen=True, tag=70):
    """The sender is in `cell`; only a stationary sender routes. `digest` belongs to the approach above, which
    fills and reads it: up to `SUM_BYTES` sum up what the sender holds, which concerns its own cell; what is longer
    concerns everybody."""

    control = True
    cell: CellId
    stationary: bool
    digest: bytes = b""
