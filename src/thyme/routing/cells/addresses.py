"""The interface between an approach and geographic routing: destinations, arrivals and the options."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import AtLeastOne, Count, NotNegative
from thyme.routing.cells.grid import Grid
from thyme.wire.geographic import ANY_NODE
from thyme.wire.message import Message

LEAST_HOPS = 200
HOPS_PER_SIDE = 6
"""The outer face has about 2 for each column and row, half as many again where cells along the border are empty."""


class Destination(msgspec.Struct, frozen=True):
    """A cell, or one node in a cell."""

    cell: CellId
    node: NodeId = ANY_NODE


class Form(StrEnum):
    """How a message was addressed."""

    CELL = "cell"
    """To a cell: this node was chosen, and the rest of the cell has not seen the message."""
    NODE = "node"
    """To this node."""
    BROADCAST = "broadcast"
    """To all members of the cell, by a node within one hop."""


class Arrival(msgspec.Struct, frozen=True):
    """A message that has arrived. `target` is the cell it was addressed to; if `proxied`, that cell is
    empty (or cut off, or was to be avoided) and this node's cell stands in for it. `number` is what the
    send returned at the origin; a broadcast has none (-1)."""

    origin: NodeId
    origin_cell: CellId
    message: Message
    target: CellId
    form: Form
    proxied: bool = False
    hops: int = 1
    number: int = -1


Deliver = Callable[[Arrival], None]
Undelivered = Callable[[NodeId, CellId, int], None]
"""The node, the cell where it was not found, and the number that the send returned."""


class GeographicOptions(SettingsRecord, frozen=True):
    hop_limit: Count = 0
    """After so many hops a packet is dropped. 0: as many as a tour around a void as large as the area may take, with
    room to spare (`hops_within`)."""
    node_tries: AtLeastOne = 2
    """Nodes of one cell that are tried before another cell is."""
    cell_tries: AtLeastOne = 2
    """Cells that are tried before the packet is given up at this hop."""
    leap_beyond: Count = 2
    """A packet that is more than so many cells from its target skips a cell, where nodes beyond it are heard; so does
    one for a node that is heard two cells away. 0: every hop is to a cell beside this one, which is surely in range, as
    in the paper."""
    far_links: bool = True
    """Whether cells that do not touch are neighbours where their nodes hear each other (`links`). False: only cells
    that touch are, as in the paper."""
    max_headings: AtLeastOne = 32
    """Destinations in one packet; more are sent in several."""
    memory: AtLeastOne = 2000
    """Arrivals remembered, to drop what a lost acknowledgement had sent twice."""
    proxy_memory_s: NotNegative = 10.0
    """For so long a node remembers that its cell is the proxy of another and saves packets the tour around
    the void, as long as the cells around stay the same. 0: every packet makes the tour, as in the paper."""
    sure_proxies: bool = True
    """Whether a cell that hears from all cells that would be closer to the target, and so must be its proxy, is that
    without a tour around the void. False: the tour is always made, as in the paper."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.leap_beyond == 1:
            raise InputError("leap_beyond is 1; expected 2 cells or more, or 0 for never")

    def hops_within(self, grid: Grid) -> int:
        """How many hops a packet may make; 14 × 7 cells have an outer face of about 40."""
        return self.hop_limit or max(LEAST_HOPS, HOPS_PER_SIDE * (grid.columns + grid.rows))

    def as_in_the_paper(self) -> GeographicOptions:
        """As Thyme FGCS §6.6 describes it: from cell to cell, with a tour for every packet to an empty one."""
        return msgspec.structs.replace(self, leap_beyond=0, far_links=False, proxy_memory_s=0.0, sure_proxies=False)
