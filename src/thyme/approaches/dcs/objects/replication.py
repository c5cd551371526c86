"""Replication lists: where an object's copies are, as its metadata says (Thyme FGCS §6.2.3)."""

from __future__ import annotations

from thyme.model.objects import Replica
from thyme.wire.cells import WHOLE_CELL


def with_replica(replicas: tuple[Replica, ...], replica: Replica, most: int) -> tuple[Replica, ...]:
    """The most recent entries, and the active replica's first."""
    active = [entry for entry in replicas if entry.node == WHOLE_CELL]
    if replica.node == WHOLE_CELL:
        active = [replica]
    passive = [entry for entry in replicas if entry.node not in (WHOLE_CELL, replica.node)]
    if replica.node != WHOLE_CELL:
        passive.append(replica)
    room = most - len(active)
    return tuple(active + (passive[-room:] if room > 0 else []))


def merged(known: tuple[Replica, ...], newer: tuple[Replica, ...], most: int) -> tuple[Replica, ...]:
    """What is known, and of another list what is not."""
    for replica in newer:
        if replica not in known:
            known = with_replica(known, replica, most)
    return known
