"""DSDV (tags 60–69): table updates, and the packets that travel over the routes.

An update's entries are packed, twelve bytes each: destination, hops and sequence number, four bytes each in
network order. That is ns-3's layout, so an update of n entries costs 12 n bytes plus the five or six that
every message pays for its version, tag and length.
"""

from __future__ import annotations

from thyme.model.ids import NodeId
from thyme.wire.message import Message

ENTRY_BYTES = 12


class TableUpdate(Message, frozen=True, tag=60):
    """Some or all routes of the sender, which counts itself into the hops."""

    control = True
    entries: bytes


class Carried(Message, frozen=True, tag=61):
    """A packet on its way from `origin`, which numbered it, to `target`; `hops` counts the links behind it."""

    origin: NodeId
    number: int
    target: NodeId
    hops: int
    payload: bytes

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0
