"""Geographic routing between cells (tags 75–89): packets with one or several destinations, broadcasts within
a cell, and negative acknowledgements (Thyme FGCS §6.6)."""

from __future__ import annotations

import msgspec

from thyme.model.ids import CellId, NodeId
from thyme.wire.message import Message

ANY_NODE = NodeId(-1)


class Detour(msgspec.Struct, frozen=True, array_like=True):
    """The way around a void: the cell where greedy ended, the far end of the first edge taken from there, and
    the cell that the packet was in before this one. Where the first edge leads nowhere, the tour is over, and
    the packet only has to go to its entry."""

    entry: CellId
    first: CellId
    previous: CellId

    @property
    def over(self) -> bool:
        return self.first == self.entry


class Heading(msgspec.Struct, frozen=True, array_like=True):
    """One destination of a packet: a cell, or a node in a cell, with the detour it is on. A heading that is
    `beside` treats its cell as empty, and so ends at the proxy even if the cell has nodes."""

    cell: CellId
    node: NodeId = ANY_NODE
    detour: Detour | None = None
    beside: bool = False


class CellPacket(Message, frozen=True, tag=75):
    """A packet between cells. `number` is unique at its origin; `answer` asks for NACKs of absent nodes."""

    origin: NodeId
    origin_cell: CellId
    number: int
    headings: tuple[Heading, ...]
    hops: int
    answer: bool
    payload: bytes

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0


class CellBroadcast(Message, frozen=True, tag=76):
    """For every node in `cell`; whoever else hears it throws it away."""

    cell: CellId
    origin_cell: CellId
    payload: bytes


class NodeAbsent(Message, frozen=True, tag=77):
    """The NACK: `node` is not in `cell`, so it did not get the packet `number`."""

    number: int
    node: NodeId
    cell: CellId
