"""Statements signed together: one signature over the root of a tree of hashes (Merkle), and a way to it for each.

A way is a byte whose bits say on which side its hash lies at each step, and then the hash on the other side of each. So
every statement still has a proof of its own, which needs none of the others. The hashes of statements and those within
the tree are made apart, so neither is taken for the other. They have 128 bits: who wants to pass something off as
signed has to hit one that the signer made.
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
"""To be copied, which takes half as long as to begin one."""
_NOBODY = bytes(HASH_BYTES)
"""Beside the last one of an odd number."""


def leaf(said: bytes) -> bytes:
    hashing = _LEAF.copy()
    hashing.update(said)
    return hashing.digest()


def _joined(left: bytes, right: bytes) -> bytes:
    hashing = _WITHIN.copy()
    hashing.update(left + right)
    return hashing.digest()


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


class KnownTree:
    """The hashes of one author's tree that lead to its root, as far as ways to it were seen. Whoever looks at all of
    its leaves makes about one hash for each, and not one for every step of each; of two that lie side by side the
    second needs none, since the way of the first says what its own has to be."""

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
        """The one to whose root a way leads from a leaf; None if it is no way."""
        steps, rest = divmod(len(way) - 1, HASH_BYTES)
        if rest or not 0 <= steps <= MAX_STEPS or way[0] >> steps:
            return None
        seen, _, root = _climbed({}, (1 << steps) | way[0], leaf, way)
        tree = cls(author, root, steps)
        tree._known.update(seen)
        return tree

    def leads(self, author: int, leaf: bytes, way: bytes) -> bool:
        """Whether this is the way of a leaf of it."""
        steps, known = self._steps, self._known
        if author != self._author or len(way) != 1 + steps * HASH_BYTES or way[0] >> steps:
            return False
        there = known.get((1 << steps) | way[0])
        if there is not None:
            return there == leaf + way[1:]
        seen, at, found = _climbed(known, (1 << steps) | way[0], leaf, way)
        if known[at] != found:
            return False
        known.update(seen)
        return True


def _climbed(known: Mapping[int, bytes], at: int, leaf: bytes, way: bytes) -> tuple[dict[int, bytes], int, bytes]:
    """The steps of a way up to what is known, or the root: what is seen on them, the number there, and what it has to
    be."""
    seen: dict[int, bytes] = {}
    found, begins = leaf, 1
    while at > 1 and at not in known:
        ends = begins + HASH_BYTES
        beside, rest = way[begins:ends], way[ends:]
        seen[at], seen[at ^ 1] = found + beside + rest, beside + found + rest
        found = _joined(beside, found) if at & 1 else _joined(found, beside)
        at, begins = at >> 1, ends
    return seen, at, found + way[begins:]
