"""Geographic routing between cells (tags 75–89): packets with one or several destinations, broadcasts within
a cell, and negative acknowledgements (Thyme FGCS §6.6)."""

from __future__ import annotations

import msgspec

from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.wire.message import Message

ANY_NODE = NodeId(-1)


class Detour(msgspec.Struct, frozen=True, array_like=True):
    """A detour around a void: the cell where greedy forwarding ended, the first edge of the face that the packet
    follows (from `face` to `first`), and the packet's previous cell. `crossed` is the other end of the edge at `face`
    that crosses the line from the entry to the target, where the packet entered this face; on the first face it is the
    entry. If the first edge leads nowhere, the tour is over and the packet only has to return to its entry."""

    entry: CellId
    face: CellId
    first: CellId
    previous: CellId
    crossed: CellId

    @property
    def over(self) -> bool:
        return self.first == self.face


class Heading(msgspec.Struct, frozen=True, array_like=True):
    """One destination of a packet: a cell, or a node in a cell, and its current detour. With `beside`, routing treats
    the cell as empty, so the packet ends at the proxy even if the cell has nodes."""

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
    """For every node in `cell`; other receivers drop it."""

    cell: CellId
    origin_cell: CellId
    payload: bytes


class CastPart(Message, frozen=True, tag=78):
    """A part of a content, for all nodes in range; its digest comes with the object's metadata."""

    bulk = True
    key: ObjectKey
    size_bytes: int
    offset: int
    part: bytes


class NodeAbsent(Message, frozen=True, tag=77):
    """The NACK: `node` is not in `cell`, so it did not get the packet `number`."""

    number: int
    node: NodeId
    cell: CellId


def makes_sense(packet: CellPacket, cells: int, max_headings: int) -> bool:
    """Whether all cells named in a packet exist on a grid of so many cells; nodes drop packets where they do not."""
    headings = packet.headings
    if not 0 < len(headings) <= max_headings or packet.hops < 0 or not 0 <= packet.origin_cell < cells:
        return False
    for heading in headings:
        if not 0 <= heading.cell < cells:
            return False
        detour = heading.detour
        if detour is not None and not all(0 <= cell < cells for cell in msgspec.structs.astuple(detour)):
            return False
    return True
