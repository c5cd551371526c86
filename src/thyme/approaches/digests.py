"""Digests: what two nodes hold, compared in a few bytes (anti-entropy: members of a cell of Thyme-DCS, and neighbours
of Thyme-LS).

Every item has a number, a hash of what it is. A node keeps, for each of a few buckets, the exclusive or of its
items' numbers; the beacon carries the exclusive or of all buckets. Equal digests mean equal holdings, up to a chance
of one in four billion; unequal ones are narrowed down to the buckets that differ, then to items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from thyme.routing.broadcasts import SharedNumber

BUCKETS = 32
BEACON_BYTES = 4
ITEM_BYTES = 8
_MASK = (1 << (8 * BEACON_BYTES)) - 1


_NUMBER = blake2b(digest_size=ITEM_BYTES)
"""To be copied, which takes half as long as to begin one."""


def item_number(kind: str, *what: object) -> int:
    hashing = _NUMBER.copy()
    hashing.update("\x00".join((kind, *map(str, what))).encode())
    return int.from_bytes(hashing.digest(), "big")


def pack(items: Iterable[int]) -> bytes:
    return b"".join(item.to_bytes(ITEM_BYTES, "big") for item in items)


def unpack(data: bytes) -> Iterator[int]:
    for i in range(0, len(data) - ITEM_BYTES + 1, ITEM_BYTES):
        yield int.from_bytes(data[i : i + ITEM_BYTES], "big")


class Digests:
    """The numbers of what is held, by bucket."""

    def __init__(self) -> None:
        self._buckets: list[dict[int, None]] = [{} for _ in range(BUCKETS)]
        self._digests = [0] * BUCKETS
        self.sum = SharedNumber()
        """The digest of everything."""

    def __contains__(self, item: int) -> bool:
        return item in self._buckets[item % BUCKETS]

    def add(self, item: int) -> None:
        bucket = item % BUCKETS
        if item not in self._buckets[bucket]:
            self._buckets[bucket][item] = None
            self._digests[bucket] ^= item
            self.sum.value ^= item & _MASK

    def remove(self, item: int) -> None:
        bucket = item % BUCKETS
        if item in self._buckets[bucket]:
            del self._buckets[bucket][item]
            self._digests[bucket] ^= item
            self.sum.value ^= item & _MASK

    def beacon(self) -> bytes:
        return self.sum.value.to_bytes(BEACON_BYTES, "big")

    def buckets(self) -> bytes:
        return b"".join((digest & _MASK).to_bytes(BEACON_BYTES, "big") for digest in self._digests)

    def differing(self, theirs: bytes) -> list[int]:
        """The buckets in which another's digests are not ours."""
        ours = self.buckets()
        if len(theirs) != len(ours):
            return []
        step = BEACON_BYTES
        return [b for b in range(BUCKETS) if ours[b * step : (b + 1) * step] != theirs[b * step : (b + 1) * step]]

    def items(self, buckets: Iterable[int]) -> Iterator[int]:
        for bucket in buckets:
            if 0 <= bucket < BUCKETS:
                yield from self._buckets[bucket]
