"""Flooded messages (tags 1–9)."""

from __future__ import annotations

from thyme.model.ids import NodeId
from thyme.wire.message import Message


class Flooded(Message, frozen=True, tag=1):
    """A message for all nodes, identified by `origin` and `number`; `hops` counts the hops so far."""

    origin: NodeId
    number: int
    hops: int
    payload: bytes

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0
