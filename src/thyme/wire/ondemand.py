"""On-demand routes (tags 10–19): requests, replies, errors, and the packets that travel over them."""

from __future__ import annotations

from thyme.model.ids import NodeId
from thyme.wire.message import Message


class RouteRequest(Message, frozen=True, tag=10):
    """Flooded: a request for a route to `target`; every node that receives it learns the route back to `origin`."""

    control = True
    origin: NodeId
    number: int
    origin_sequence: int
    target: NodeId
    target_sequence: int
    hops: int
    hop_limit: int


class RouteReply(Message, frozen=True, tag=11):
    """The route to `target`, sent back hop by hop to `origin`."""

    control = True
    origin: NodeId
    target: NodeId
    target_sequence: int
    hops: int


class RouteError(Message, frozen=True, tag=12):
    """`targets` (with the sequence numbers they had) can no longer be reached over the sender."""

    control = True
    targets: tuple[tuple[NodeId, int], ...]


class Routed(Message, frozen=True, tag=13):
    """A packet on its way from `origin` to `target`."""

    origin: NodeId
    target: NodeId
    hops: int
    payload: bytes

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0
