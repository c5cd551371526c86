"""What a packet between cells must be to be passed on; whatever else a peer sends is dropped."""

from __future__ import annotations

from thyme.wire.geographic import CellPacket


def makes_sense(packet: CellPacket, cells: int, max_headings: int) -> bool:
    """Whether all that a packet says of itself exists on a grid of so many cells."""
    headings = packet.headings
    if not 0 < len(headings) <= max_headings or packet.hops < 0 or not 0 <= packet.origin_cell < cells:
        return False
    for heading in headings:
        if not 0 <= heading.cell < cells:
            return False
        detour = heading.detour
        if detour is not None and not all(0 <= cell < cells for cell in (detour.entry, detour.first, detour.previous)):
            return False
    return True
