"""Statements signed together: one signature over the root of a tree of hashes (Merkle), and a way to it for each.

A way is a byte whose bits say on which side its hash lies at each step, and then the hash on the other side of each. So
every statement still has a proof of its own, which needs none of the others. The hashes of statements and those within
the tree are made apart, so neither is taken for the other. They have 128 bits: who wants to pass something off as
signed has to hit one that the signer made.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

HASH_BYTES = 16
MAX_STEPS = 8
MOST = 2**MAX_STEPS
"""Statements of one tree."""
MAX_WAY_BYTES = 1 + MAX_STEPS * HASH_BYTES
_LEAF, _WITHIN = b"thyme leaf", b"thyme within"
_NOBODY = bytes(HASH_BYTES)
"""Beside the last one of an odd number."""


def leaf(said: bytes) -> bytes:
    return blake2b(said, digest_size=HASH_BYTES, person=_LEAF).digest()


def _joined(left: bytes, right: bytes) -> bytes:
    return blake2b(left + right, digest_size=HASH_BYTES, person=_WITHIN).digest()


def grown(leaves: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """The root of some leaves, and the way of each to it."""
    assert 0 < len(leaves) <= MOST, "as many as a byte can tell apart"
    steps: list[list[bytes]] = []
    level = list(leaves)
    while len(level) > 1:
        if len(level) % 2:
            level.append(_NOBODY)
        steps.append(level)
        level = [_joined(level[i], level[i + 1]) for i in range(0, len(level), 2)]
    ways = [
        bytes([place]) + b"".join([hashes[(place >> step) ^ 1] for step, hashes in enumerate(steps)])
        for place in range(len(leaves))
    ]
    return level[0], ways


def root_by(leaf: bytes, way: bytes) -> bytes | None:
    """Where a way leads from a leaf; None if it is no way."""
    steps, rest = divmod(len(way) - 1, HASH_BYTES)
    if rest or not 0 <= steps <= MAX_STEPS or way[0] >> steps:
        return None
    place, found = way[0], leaf
    for at in range(1, len(way), HASH_BYTES):
        beside = way[at : at + HASH_BYTES]
        found = _joined(beside, found) if place & 1 else _joined(found, beside)
        place >>= 1
    return found


class KnownTree:
    """The hashes of one author's tree that lead to its root, as far as ways to it were seen: whoever looks at all of
    its leaves makes about one hash for each, and not one for every step of each."""

    def __init__(self, author: int, root: bytes, steps: int) -> None:
        self._author = author
        self._steps = steps
        self._known = {1: root}
        """By number: the root is 1, and below each are twice its number and one more."""

    def leads(self, author: int, leaf: bytes, way: bytes) -> bool:
        """Whether this is the way of a leaf of it."""
        steps, known = self._steps, self._known
        if author != self._author or len(way) != 1 + steps * HASH_BYTES or way[0] >> steps:
            return False
        at, found = (1 << steps) | way[0], leaf
        climbed: list[tuple[int, bytes]] = []
        for begins in range(1, len(way), HASH_BYTES):
            beside, there = way[begins : begins + HASH_BYTES], known.get(at)
            if there is None:
                climbed += ((at, found), (at ^ 1, beside))
                found = _joined(beside, found) if at & 1 else _joined(found, beside)
            elif there != found or known[at ^ 1] != beside:
                return False
            else:
                found = known[at >> 1]
            at >>= 1
        if known[1] != found:
            return False
        known.update(climbed)
        return True
