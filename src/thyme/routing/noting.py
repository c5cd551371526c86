"""Noting, compiled, that a node was heard, in the tables of all who heard it (`routing.heard`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, entry, inner, pointer
from thyme.model.ids import NodeId
from thyme.routing.heard import DESK, ROW
from thyme.routing.hearing import HEARING, Hearing

_NUMBER, _INSTANT = np.dtype(np.int64), np.dtype(np.float64)


@inner
def columns(hearing: int) -> Any:
    """The rows of a hearing: nodes, instants, draws, and what they are told."""
    desk = carray(pointer(hearing), 1, HEARING)[0]
    nodes = carray(pointer(desk.nodes), desk.count, _NUMBER)
    now_s = carray(pointer(desk.now_s), desk.count, _INSTANT)
    draws = carray(pointer(desk.draws), desk.count, _INSTANT)
    return nodes, now_s, draws, carray(pointer(desk.told), desk.count, _NUMBER)


@inner
def desk_of(desks: int, node: int) -> int:
    """The address that a column of desks holds for a node."""
    return int(carray(pointer(desks + 8 * node), 1, _NUMBER)[0])


@inner
def row_of(rows: Any, used: int, node: int) -> int:
    """Where a node's row is; -1 if it has none."""
    low, high = 0, used
    while low < high:
        middle = (low + high) >> 1
        if rows[middle].node < node:
            low = middle + 1
        else:
            high = middle
    return low if low < used and rows[low].node == node else -1


@inner
def note_one(address: int, sender: int, now_s: float) -> bool:
    """Whether the table at an address has a row for the sender, in which it is noted now."""
    desk = carray(pointer(address), 1, DESK)[0]
    rows = carray(pointer(desk.rows), desk.used, ROW)
    at = row_of(rows, desk.used, sender)
    if at >= 0:
        rows[at].at_s = now_s
    return at >= 0


@entry
def note(hearing: int, desks: int, sender: int) -> int:
    nodes, now_s, _, told = columns(hearing)
    strangers = 0
    for i in range(len(nodes)):
        told[i] = 0 if note_one(desk_of(desks, nodes[i]), sender, now_s[i]) else 1
        strangers += told[i]
    return strangers


def note_together(hearing: Hearing, desks: int, sender: NodeId, _: object) -> int:
    """An `Ear.take`: whoever has no row for the sender yet must make one."""
    return note(hearing.address, desks, sender)
