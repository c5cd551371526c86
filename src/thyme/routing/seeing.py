"""Finding, compiled, who of all that hear a flooded message has not seen it before (`routing.seen`)."""

from __future__ import annotations

from thyme.compiled import carray, entry, pointer
from thyme.model.ids import NodeId
from thyme.routing.hearing import Hearing
from thyme.routing.noting import columns, desk_of
from thyme.routing.seen import PLACES, ROW
from thyme.wire.flooding import Flooded


@entry
def find_new(hearing: int, desks: int, origin: int, number: int) -> int:
    """For how many of the hearers the message may be news."""
    nodes, _, _, told = columns(hearing)
    at = (origin * 31 + number) & (PLACES - 1)
    news = 0
    for i in range(len(nodes)):
        row = carray(pointer(desk_of(desks, nodes[i])), PLACES, ROW)[at]
        told[i] = row.origin != origin or row.number != number
        news += told[i]
    return news


def find_new_together(hearing: Hearing, desks: int, sender: NodeId, message: Flooded) -> int:
    """An `Ear.take`."""
    return find_new(hearing.address, desks, message.origin, message.number)
