"""Standing subscriptions: the half of the matching index that answers insertions (Thyme FGCS §3.3).

Each conjunction waits under one of its positive tags, its anchor: the one that the fewest stored objects carry,
and among equals the one that the fewest conjunctions want. An insertion looks only at what waits under the tags
of its object. Tags that become common push their conjunctions on to rarer ones whenever their number of objects
doubles. Conjunctions without a positive tag have nowhere to wait and are looked at by every insertion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

import msgspec

from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription

_FIRST_REVIEW = 16
"""Objects with a tag from which on it is worth asking whether its conjunctions wait in the wrong place."""
_STALE_ENDS = 64
"""Ends of subscriptions that are gone for which it is not worth rebuilding the heap."""

_Guarded = dict[int, tuple[Subscription, tuple[Conjunction, ...]]]


class _Waiting(msgspec.Struct):
    """What waits under one tag, by serial number: certain to match its tags, or with more to check."""

    certain: dict[int, Subscription]
    guarded: _Guarded


class _Standing(msgspec.Struct, gc=False):
    serial: int
    subscription: Subscription
    anchors: tuple[str, ...]


class StandingSubscriptions:
    """Subscriptions by key, by anchor and by the end of their time frame."""

    def __init__(self, objects_with: Callable[[str], int]) -> None:
        self._objects_with = objects_with
        self._by_key: dict[SubscriptionKey, _Standing] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._unanchored: _Guarded = {}
        self._wanted: dict[str, int] = {}
        self._ends: list[tuple[float, int, SubscriptionKey]] = []
        self._next_serial = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Subscription]:
        """In insertion order."""
        return (standing.subscription for standing in self._by_key.values())

    def __contains__(self, key: SubscriptionKey) -> bool:
        return key in self._by_key

    def get(self, key: SubscriptionKey) -> Subscription | None:
        standing = self._by_key.get(key)
        return None if standing is None else standing.subscription

    def add(self, subscription: Subscription) -> None:
        """Let it stand; its key is new."""
        serial = self._next_serial
        self._next_serial += 1
        wanted = self._wanted
        for conjunction in subscription.conjunctions:
            for tag in conjunction.positive:
                wanted[tag] = wanted.get(tag, 0) + 1
        anchors = self._place(serial, subscription, subscription.conjunctions)
        self._by_key[subscription.key] = _Standing(serial, subscription, anchors)
        if subscription.frame.end_s is not None:
            heappush(self._ends, (subscription.frame.end_s, serial, subscription.key))

    def remove(self, key: SubscriptionKey) -> bool:
        standing = self._by_key.pop(key, None)
        if standing is None:
            return False
        for anchor in standing.anchors:
            waiting = self._waiting[anchor]
            waiting.certain.pop(standing.serial, None)
            waiting.guarded.pop(standing.serial, None)
            if not waiting.certain and not waiting.guarded:
                del self._waiting[anchor]
        self._unanchored.pop(standing.serial, None)
        for conjunction in standing.subscription.conjunctions:
            for tag in conjunction.positive:
                self._wanted[tag] -= 1
                if not self._wanted[tag]:
                    del self._wanted[tag]
        self._forget_stale_ends()
        return True

    def expire(self, now_s: float) -> list[Subscription]:
        """Remove and give those whose frame has ended, by end and then by age."""
        expired = []
        while self._ends and self._ends[0][0] <= now_s:
            _, serial, key = heappop(self._ends)
            standing = self._by_key.get(key)
            if standing is not None and standing.serial == serial:
                expired.append(standing.subscription)
                self.remove(key)
        return expired

    def matching(self, metadata: Metadata) -> list[Subscription]:
        """Those that the object matches, in insertion order."""
        tags, at_s = metadata.tags, metadata.published_s
        found: dict[int, Subscription] = {}
        if self._unanchored:
            _check(self._unanchored, tags, at_s, found)
        for tag in tags:
            waiting = self._waiting.get(tag)
            if waiting is None:
                continue
            for serial, subscription in waiting.certain.items():
                if subscription.frame.contains(at_s):
                    found[serial] = subscription
            if waiting.guarded:
                _check(waiting.guarded, tags, at_s, found)
                self._review(tag, waiting)
        return [found[serial] for serial in sorted(found)]

    def _anchor(self, positive: tuple[str, ...]) -> str:
        if len(positive) == 1:
            return positive[0]
        return min(positive, key=lambda tag: (self._objects_with(tag), self._wanted[tag], tag))

    def _place(
        self, serial: int, subscription: Subscription, conjunctions: tuple[Conjunction, ...]
    ) -> tuple[str, ...]:
        """Let the conjunctions wait under their anchors, which are returned."""
        anchors: dict[str, None] = {}
        for conjunction in conjunctions:
            if not conjunction.positive:
                _guard(self._unanchored, serial, subscription, conjunction)
                continue
            anchor = self._anchor(conjunction.positive)
            anchors[anchor] = None
            waiting = self._waiting.get(anchor)
            if waiting is None:
                waiting = self._waiting[anchor] = _Waiting({}, {})
            if len(conjunction.positive) == 1 and not conjunction.negative:
                waiting.certain[serial] = subscription
            else:
                _guard(waiting.guarded, serial, subscription, conjunction)
        return tuple(anchors)

    def _review(self, tag: str, waiting: _Waiting) -> None:
        """At each doubling of a tag's objects, move what waits under it to the tags that are rarer by now."""
        objects = self._objects_with(tag)
        if objects < _FIRST_REVIEW or objects & (objects - 1):
            return
        guarded, waiting.guarded = waiting.guarded, {}
        for serial, (subscription, conjunctions) in guarded.items():
            standing = self._by_key[subscription.key]
            moved = self._place(serial, subscription, conjunctions)
            kept = tuple(anchor for anchor in standing.anchors if anchor != tag or serial in waiting.certain)
            standing.anchors = tuple(dict.fromkeys(kept + moved))
        if not waiting.certain and not waiting.guarded:
            del self._waiting[tag]

    def _forget_stale_ends(self) -> None:
        """Rebuild the heap once most of its ends belong to subscriptions that were revoked."""
        if len(self._ends) <= 2 * len(self._by_key) + _STALE_ENDS:
            return
        standing = self._by_key
        self._ends = [end for end in self._ends if end[2] in standing and standing[end[2]].serial == end[1]]
        heapify(self._ends)


def _guard(guarded: _Guarded, serial: int, subscription: Subscription, conjunction: Conjunction) -> None:
    _, others = guarded.get(serial, (subscription, ()))
    guarded[serial] = (subscription, (*others, conjunction))


def _check(guarded: _Guarded, tags: tuple[str, ...], at_s: float, found: dict[int, Subscription]) -> None:
    for serial, (subscription, conjunctions) in guarded.items():
        for conjunction in conjunctions:
            if conjunction.matches(tags):
                if subscription.frame.contains(at_s):
                    found[serial] = subscription
                break
