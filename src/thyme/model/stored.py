"""Stored objects: the half of the matching index that answers subscriptions on the past (Thyme FGCS §3.3).

Metadata is listed per tag in order of publication, so that a conjunction is answered from the list of its least
common positive tag and from the stretch of it that lies in the time frame; everything else is never looked at.
Answers come newest first, and by key among those of one instant, in batches. A cursor is the place of the last
object sent, so the next batch goes on there, whatever has been inserted or deleted meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter

import msgspec

from thyme.model.frames import TimeFrame
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription

Entry = tuple[float, ObjectKey]
"""When published, and what: lists of entries are sorted, oldest first."""

_instant = itemgetter(0)


class Cursor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The last object of a batch: the next batch starts after it."""

    published_s: float
    key: ObjectKey


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """The next n of all x matches (`total`), newest first; `cursor` is None when none are left."""

    matches: tuple[Metadata, ...]
    total: int
    cursor: Cursor | None
    left: int = 0
    """Number of further matches."""


class StoredObjects:
    """Metadata by key, by tag and by time."""

    def __init__(self) -> None:
        self._by_key: dict[ObjectKey, Metadata] = {}
        self._by_tag: dict[str, list[Entry]] = {}
        self._all: list[Entry] = []

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Metadata]:
        """In insertion order."""
        return iter(self._by_key.values())

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._by_key

    def get(self, key: ObjectKey) -> Metadata | None:
        return self._by_key.get(key)

    def count(self, tag: str) -> int:
        """How many objects carry the tag."""
        entries = self._by_tag.get(tag)
        return 0 if entries is None else len(entries)

    def add(self, metadata: Metadata) -> None:
        """Store it; one of the same key is replaced and keeps its place in the insertion order."""
        known = self._by_key.get(metadata.key)
        if known is not None:
            if known.tags == metadata.tags and known.published_s == metadata.published_s:
                self._by_key[metadata.key] = metadata
                return
            self._unlist(known)
        self._by_key[metadata.key] = metadata
        entry = (metadata.published_s, metadata.key)
        _insert(self._all, entry)
        for tag in dict.fromkeys(metadata.tags):
            entries = self._by_tag.get(tag)
            if entries is None:
                self._by_tag[tag] = [entry]
            else:
                _insert(entries, entry)

    def remove(self, key: ObjectKey) -> bool:
        metadata = self._by_key.pop(key, None)
        if metadata is None:
            return False
        self._unlist(metadata)
        return True

    def search(self, subscription: Subscription, limit: int, cursor: Cursor | None) -> Batch:
        """The next matches after the cursor, or the first ones."""
        entries, low, high = self._matching(subscription)
        if cursor is None:
            upcoming, left = _newest_first(entries, low, high), high - low
        else:
            upcoming, left = _after(entries, low, high, cursor)
        chosen: list[Entry] = []
        for entry in upcoming:
            if len(chosen) == limit:
                return Batch(self._metadata(chosen), high - low, Cursor(*chosen[-1]), left - limit)
            chosen.append(entry)
        return Batch(self._metadata(chosen), high - low, None)

    def _metadata(self, entries: list[Entry]) -> tuple[Metadata, ...]:
        by_key = self._by_key
        return tuple([by_key[key] for _, key in entries])

    def _matching(self, subscription: Subscription) -> tuple[list[Entry], int, int]:
        """All matches: a sorted list and the bounds within it."""
        conjunctions, frame = subscription.conjunctions, subscription.frame
        if len(conjunctions) == 1:
            only = conjunctions[0]
            if len(only.positive) == 1 and not only.negative:
                entries = self._by_tag.get(only.positive[0], [])
                return entries, *_bounds(entries, frame)
            matches = self._scan(only, frame)
        else:
            matches = sorted({entry for part in conjunctions for entry in self._scan(part, frame)})
        return matches, 0, len(matches)

    def _scan(self, conjunction: Conjunction, frame: TimeFrame) -> list[Entry]:
        """The matches of one conjunction, oldest first."""
        candidates = self._candidates(conjunction.positive)
        low, high = _bounds(candidates, frame)
        by_key, matches = self._by_key, conjunction.matches
        return [entry for entry in candidates[low:high] if matches(by_key[entry[1]].tags)]

    def _candidates(self, positive: Iterable[str]) -> list[Entry]:
        """The shortest list that holds every match; without a positive tag, that of everything."""
        shortest = self._all
        for tag in positive:
            entries = self._by_tag.get(tag)
            if entries is None:
                return []
            if len(entries) < len(shortest):
                shortest = entries
        return shortest

    def _unlist(self, metadata: Metadata) -> None:
        entry = (metadata.published_s, metadata.key)
        del self._all[bisect_left(self._all, entry)]
        for tag in dict.fromkeys(metadata.tags):
            entries = self._by_tag[tag]
            if len(entries) == 1:
                del self._by_tag[tag]
            else:
                del entries[bisect_left(entries, entry)]


def _insert(entries: list[Entry], entry: Entry) -> None:
    if not entries or entries[-1] < entry:
        entries.append(entry)
    else:
        insort(entries, entry)


def _bounds(entries: list[Entry], frame: TimeFrame) -> tuple[int, int]:
    """The part of the list inside the frame, as a range."""
    low, high = 0, len(entries)
    if frame.start_s is not None:
        low = bisect_left(entries, frame.start_s, key=_instant)
    if frame.end_s is not None:
        high = bisect_left(entries, frame.end_s, lo=low, key=_instant)
    return low, high


def _newest_first(entries: list[Entry], low: int, high: int) -> Iterator[Entry]:
    """The range from its end backwards; entries of equal time are in ascending order of key."""
    while high > low:
        newest_s = entries[high - 1][0]
        start = high - 1
        if start > low and entries[start - 1][0] == newest_s:
            start = bisect_left(entries, newest_s, lo=low, hi=start, key=_instant)
        for place in range(start, high):
            yield entries[place]
        high = start


def _after(entries: list[Entry], low: int, high: int, cursor: Cursor) -> tuple[Iterator[Entry], int]:
    """As `_newest_first`, from the first place that the cursor has not passed; and how many there are."""
    begin = bisect_left(entries, cursor.published_s, lo=low, hi=high, key=_instant)
    end = bisect_right(entries, cursor.published_s, lo=begin, hi=high, key=_instant)
    passed = bisect_right(entries, (cursor.published_s, cursor.key), lo=begin, hi=end)
    rest = (entries[place] for place in range(passed, end))
    return chain(rest, _newest_first(entries, low, begin)), end - passed + begin - low
