"""Comparing, compiled, what a neighbour says to know with what all who hear it know (`ls.agreement`)."""

from __future__ import annotations

import numpy as np

from thyme.approaches.digests import BEACON_BYTES
from thyme.approaches.ls.concord import CONCORD, DEAF, SETTLED
from thyme.compiled import carray, entry, pointer
from thyme.model.ids import NodeId
from thyme.routing.hearing import Hearing
from thyme.routing.noting import columns, desk_of
from thyme.wire.local import KnownDigest

_NUMBER = np.dtype(np.int64)


@entry
def compare(hearing: int, desks: int, theirs: int) -> int:
    """For how many of the hearers a digest is more than what they expected."""
    nodes, _, _, told = columns(hearing)
    news = 0
    for i in range(len(nodes)):
        desk = carray(pointer(desk_of(desks, nodes[i])), 1, CONCORD)[0]
        ours = carray(pointer(desk.digest), 1, _NUMBER)[0]
        told[i] = 0 if desk.mood == DEAF or (desk.mood == SETTLED and ours == theirs) else 1
        news += told[i]
    return news


def compare_together(hearing: Hearing, desks: int, _: NodeId, message: KnownDigest) -> int:
    """An `Ear.take`."""
    digest = message.digest
    return compare(hearing.address, desks, int.from_bytes(digest, "big") if len(digest) == BEACON_BYTES else -1)
