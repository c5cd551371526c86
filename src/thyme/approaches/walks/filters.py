"""Bloom filters of subscriptions: what a broker knows of each branch (walks paper §III).

A subscription sets, for each of its conjunctions, the cells of one positive tag; a conjunction without a positive
tag sets the cells of a mark that every object carries. So a branch is offered every object that may match
behind it, and some that do not: the rest of the query stays with the subscriber, which has the last word. Cells
count, so a revoked subscription takes back exactly what it set.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import Annotated

import msgspec

from thyme.model.queries import Conjunction
from thyme.model.settings import SettingsRecord

ANY_OBJECT = ""
"""The mark that every object carries; no tag is empty."""


class FilterOptions(SettingsRecord, frozen=True):
    """The paper leaves the size open. With 1,024 cells and 4 hashes, 100 different tags behind a branch make about
    one other tag in 90 look wanted, and 50 tags one in 1,000."""

    cells: Annotated[int, msgspec.Meta(ge=8, le=65_536)] = 1_024
    """Counters of a filter."""
    hashes: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4
    """Counters that a tag sets."""


def cells_of_tag(tag: str, options: FilterOptions) -> tuple[int, ...]:
    digest = blake2b(tag.encode(), digest_size=4 * options.hashes).digest()
    words = (digest[4 * i : 4 * i + 4] for i in range(options.hashes))
    return tuple(sorted({int.from_bytes(word, "big") % options.cells for word in words}))


def cells_of_conjunctions(conjunctions: Iterable[Conjunction], options: FilterOptions) -> tuple[tuple[int, ...], ...]:
    """One entry per different first positive tag, in order of appearance."""
    tags = dict.fromkeys(c.positive[0] if c.positive else ANY_OBJECT for c in conjunctions)
    return tuple(cells_of_tag(tag, options) for tag in tags)


class CountingFilter:
    """How many subscriptions set each cell."""

    def __init__(self, options: FilterOptions) -> None:
        self._options = options
        self._counts = array("L", bytes(array("L").itemsize * options.cells))

    def add(self, cells: Iterable[int]) -> None:
        for cell in cells:
            self._counts[cell % len(self._counts)] += 1

    def remove(self, cells: Iterable[int]) -> None:
        for cell in cells:
            self._counts[cell % len(self._counts)] -= 1

    def may_contain(self, tag: str) -> bool:
        return all(self._counts[cell] for cell in cells_of_tag(tag, self._options))

    def may_match(self, tags: Iterable[str]) -> bool:
        """Whether an object with these tags may be wanted."""
        return any(self.may_contain(tag) for tag in (*tags, ANY_OBJECT))
