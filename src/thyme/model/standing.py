"""Standing subscriptions: the half of the matching index that answers insertions (Thyme FGCS §3.3).

Subscriptions to the same conjunction share one interest, which is checked once for all of them. Each interest
waits under one of its positive tags, its anchor: the one that the fewest stored objects carry, and among equals
the one that the fewest interests want. An insertion looks only at what waits under the tags of its object. Tags
that become common push their interests on to rarer ones whenever their number of objects doubles. Interests
without a positive tag have nowhere to wait and are looked at by every insertion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

import msgspec

from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription

_FIRST_REVIEW = 16
"""Number of objects of a tag from which on its interests may be worth moving."""


class _Interest(msgspec.Struct):
    """A conjunction and its subscriptions by serial number: those without and those with a time frame. From `started_s`
    until `ending_s` all frames are open, so none has to be checked: the usual case, as subscriptions to the future
    began before the next object is published."""

    conjunction: Conjunction
    anchor: str | None
    always: dict[int, Subscription]
    framed: dict[int, Subscription]
    started_s: float = -inf
    ending_s: float = inf

    def add(self, serial: int, subscription: Subscription) -> None:
        frame = subscription.frame
        if frame.start_s is None and frame.end_s is None:
            self.always[serial] = subscription
            return
        self.framed[serial] = subscription
        if frame.start_s is not None and frame.start_s > self.started_s:
            self.started_s = frame.start_s
        if frame.end_s is not None and frame.end_s < self.ending_s:
            self.ending_s = frame.end_s

    def collect(self, at_s: float, found: dict[int, Subscription]) -> None:
        """Add those whose time frame contains this time; written out, since insertions spend most of their time
        here."""
        if self.always:
            found.update(self.always)
        if self.started_s <= at_s < self.ending_s:
            found.update(self.framed)
            return
        for serial, subscription in self.framed.items():
            frame = subscription.frame
            start_s, end_s = frame.start_s, frame.end_s
            if (start_s is None or start_s <= at_s) and (end_s is None or at_s < end_s):
                found[serial] = subscription


class _Standing(msgspec.Struct, gc=False):
    serial: int
    subscription: Subscription


class StandingSubscriptions:
    """Subscriptions by key and by anchor."""

    def __init__(self, objects_with: Callable[[str], int]) -> None:
        self._objects_with = objects_with
        self._by_key: dict[SubscriptionKey, _Standing] = {}
        self._interests: dict[Conjunction, _Interest] = {}
        self._waiting: dict[str | None, dict[Conjunction, _Interest]] = {}
        self._wanted: dict[str, int] = {}
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
        """Add a subscription with a new key."""
        serial = self._next_serial
        self._next_serial += 1
        self._by_key[subscription.key] = _Standing(serial, subscription)
        for conjunction in subscription.conjunctions:
            interest = self._interests.get(conjunction) or self._add_interest(conjunction)
            interest.add(serial, subscription)

    def remove(self, key: SubscriptionKey) -> bool:
        standing = self._by_key.pop(key, None)
        if standing is None:
            return False
        for conjunction in dict.fromkeys(standing.subscription.conjunctions):
            interest = self._interests[conjunction]
            interest.always.pop(standing.serial, None)
            interest.framed.pop(standing.serial, None)
            if not interest.always and not interest.framed:
                self._remove_interest(interest)
        return True

    def matching(self, metadata: Metadata) -> list[Subscription]:
        """Subscriptions that the object matches, each once, grouped by interest. The order depends only on the order of
        earlier operations; sorting many matches would cost more than finding them."""
        tags, at_s = metadata.tags, metadata.published_s
        found: dict[int, Subscription] = {}
        for tag in (None, *tags):
            waiting = self._waiting.get(tag)
            if waiting is None:
                continue
            for conjunction, interest in waiting.items():
                if conjunction.matches(tags):
                    interest.collect(at_s, found)
            if tag is not None:
                self._review(tag, waiting)
        return list(found.values())

    def _add_interest(self, conjunction: Conjunction) -> _Interest:
        """A new interest, stored under its anchor."""
        for tag in conjunction.positive:
            self._wanted[tag] = self._wanted.get(tag, 0) + 1
        interest = _Interest(conjunction, self._rarest(conjunction.positive), {}, {})
        self._interests[conjunction] = interest
        self._waiting.setdefault(interest.anchor, {})[conjunction] = interest
        return interest

    def _remove_interest(self, interest: _Interest) -> None:
        del self._interests[interest.conjunction]
        self._detach(interest)
        for tag in interest.conjunction.positive:
            self._wanted[tag] -= 1
            if not self._wanted[tag]:
                del self._wanted[tag]

    def _detach(self, interest: _Interest) -> None:
        waiting = self._waiting[interest.anchor]
        del waiting[interest.conjunction]
        if not waiting:
            del self._waiting[interest.anchor]

    def _rarest(self, positive: tuple[str, ...]) -> str | None:
        if len(positive) > 1:
            return min(positive, key=lambda tag: (self._objects_with(tag), self._wanted[tag], tag))
        return positive[0] if positive else None

    def _review(self, tag: str, waiting: dict[Conjunction, _Interest]) -> None:
        """At each doubling of a tag's objects, move its interests to tags that are rarer by now."""
        objects = self._objects_with(tag)
        if objects < _FIRST_REVIEW or objects & (objects - 1):
            return
        for conjunction, interest in list(waiting.items()):
            anchor = self._rarest(conjunction.positive)
            if anchor != tag:
                self._detach(interest)
                interest.anchor = anchor
                self._waiting.setdefault(anchor, {})[conjunction] = interest
