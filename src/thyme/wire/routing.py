"""Messages of the routing layers: floods (tags 1–9), on-demand routes (tags 10–19), DSDV (tags 60–69)
and beacons (tags 70–74).

The entries of a DSDV update are packed, twelve bytes each: destination, hops and sequence number, four bytes each in
network order. That is ns-3's layout, so an update of n entries costs 12 n bytes plus the five or six that every message
pays for its version, tag and length.
"""

from __future__ import annotations

from struct import Struct

from thyme.model.ids import CellId, NodeId
from thyme.wire.message import Message


class Flooded(Message, frozen=True, tag=1):
    """A message for all nodes, identified by `origin` and `number`; `hops` counts the hops so far."""

    spreads = True
    origin: NodeId
    number: int
    hops: int
    payload: bytes

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0


class RouteRequest(Message, frozen=True, tag=10):
    """Flooded: a request for a route to `target`; every node that receives it learns the route back to `origin`."""

    control = True
    spreads = True
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


SUM_BYTES = 4
NOTE = Struct(">IH")
"""A note that beacons spread: the number of its subject, and a number that distinguishes notes on one subject."""


def digest_parts(digest: bytes) -> tuple[bytes, bytes]:
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
