"""Statements signed together: one signature over the root of a hash tree (Merkle), and a path to it for each.

A path is a byte whose bits say on which side the hash is at each step, then the sibling hash of each step. So each
statement has a proof of its own, independent of the others. Leaves and inner nodes are hashed with different
personalisation, so neither can pass for the other. Hashes have 128 bits: a forger needs a second preimage of one that
the signer made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

HASH_BYTES = 16
MAX_STEPS = 8
MOST = 2**MAX_STEPS
"""Statements of one tree."""
_LEAF = blake2b(digest_size=HASH_BYTES, person=b"thyme leaf")
_WITHIN = blake2b(digest_size=HASH_BYTES, person=b"thyme within")
"""Copied for each use, which takes half as long as creating one."""
_NOBODY = bytes(HASH_BYTES)
"""The sibling of the last of an odd number of hashes."""


def leaf(said: bytes) -> bytes:
    hashing = _LEAF.copy()
    hashing.update(said)
    return hashing.digest()


def _joined(left: bytes, right: bytes) -> bytes:
    hashing = _WITHIN.copy()
    hashing.update(left + right)
    return hashing.digest()


def grown(leaves: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """The root of some leaves, and the path of each to it."""
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


class KnownTree:
    """The hashes of one author's tree that were verified by earlier paths to its root. Verifying all leaves takes about
    one hash per leaf instead of one per step; the second of two siblings needs none, since the path of the first
    contains its hash."""

    __slots__ = ("_author", "_known", "_steps", "root")

    def __init__(self, author: int, root: bytes, steps: int) -> None:
        self.root = root
        self._author = author
        self._steps = steps
        self._known = {1: root}
        """Each hash, and after it the steps from there to the root. By number: the root is 1, and below each are twice
        its number and one more."""

    @classmethod
    def by(cls, author: int, leaf: bytes, way: bytes) -> KnownTree | None:
        """The tree to whose root a path leads from a leaf; None if it is not a valid path."""
        steps, rest = divmod(len(way) - 1, HASH_BYTES)
        if rest or not 0 <= steps <= MAX_STEPS or way[0] >> steps:
            return None
        seen, _, root = _follow_path({}, (1 << steps) | way[0], leaf, way)
        tree = cls(author, root, steps)
        tree._known.update(seen)
        return tree

    def leads(self, author: int, leaf: bytes, way: bytes) -> bool:
        """Whether this is a path from a leaf to its root."""
        steps, known = self._steps, self._known
        if author != self._author or len(way) != 1 + steps * HASH_BYTES or way[0] >> steps:
            return False
        there = known.get((1 << steps) | way[0])
        if there is not None:
            return there == leaf + way[1:]
        seen, at, found = _follow_path(known, (1 << steps) | way[0], leaf, way)
        if known[at] != found:
            return False
        known.update(seen)
        return True


def _follow_path(known: Mapping[int, bytes], at: int, leaf: bytes, way: bytes) -> tuple[dict[int, bytes], int, bytes]:
    """Follow a path up to a known node, or the root: the nodes seen on it, the number of the last, and its expected
    value."""
    seen: dict[int, bytes] = {}
    found, begins = leaf, 1
    while at > 1 and at not in known:
        ends = begins + HASH_BYTES
        beside, rest = way[begins:ends], way[ends:]
        seen[at], seen[at ^ 1] = found + beside + rest, beside + found + rest
        found = _joined(beside, found) if at & 1 else _joined(found, beside)
        at, begins = at >> 1, ends
    return seen, at, found + way[begins:]
