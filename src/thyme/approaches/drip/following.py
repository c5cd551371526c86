"""Subscribers that an event is being brought to, wherever they move meanwhile (DRIP §V-B2).

The interested brokers of an event are those "whose Voronoi regions the subscribers may be in", and a subscriber's
nearest brokers change every time it submits its subscriptions. So a broker that brings an event to a subscriber gets
new destinations as the subscriber moves, until the local broker has the event or the event is too old to be followed.
The local broker is known late: a subscriber that left before the event arrived, or before the next broadcast announced
its region, still lacks the event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

import msgspec

from thyme.model.ids import NodeId, ObjectKey
from thyme.wire.drip import Interest


class _Way(msgspec.Struct):
    """One event being brought to one subscriber."""

    too_old_s: float
    told_s: float
    """A subscriber that leaves its region later than this has the event; unknown until it is in the region."""


class Following:
    """Which events one broker brings to which subscribers, and until when."""

    def __init__(self, now: Callable[[], float], follow_s: float, settle_s: float) -> None:
        """Events are followed for `follow_s`; a subscriber is in a region for sure when it stayed there `settle_s`."""
        self._now = now
        self._follow_s = follow_s
        self._settle_s = settle_s
        self._ways: dict[NodeId, dict[ObjectKey, _Way]] = {}
        self._subscribers: dict[ObjectKey, dict[NodeId, None]] = {}
        self._locals: dict[NodeId, NodeId] = {}

    def begin(self, key: ObjectKey, interests: Iterable[Interest], here: bool) -> None:
        """Follow these subscribers for the event; `here`: it is being flooded in the region where they seem to be."""
        now_s = self._now()
        for interest in interests:
            subscriber = interest.subscriber
            way = _Way(now_s + self._follow_s, now_s + self._settle_s if here else inf)
            self._ways.setdefault(subscriber, {}).setdefault(key, way)
            self._subscribers.setdefault(key, {})[subscriber] = None
            self._locals[subscriber] = interest.brokers[0] if interest.brokers else subscriber

    def moved(self, interest: Interest) -> list[ObjectKey]:
        """The subscriber registered again: returns the events that it may still lack."""
        ways = self._ways.get(interest.subscriber)
        if ways is None:
            return []
        if interest.brokers:
            self._locals[interest.subscriber] = interest.brokers[0]
        for key, way in list(ways.items()):
            if interest.moved_s > min(way.too_old_s, way.told_s):
                self._end(interest.subscriber, key)
            else:
                way.told_s = inf
        return list(ways)

    def arrived(self, key: ObjectKey, broker: NodeId) -> None:
        """A broker has the event: subscribers that stay in its region no longer need it."""
        for subscriber in self._subscribers.get(key, ()):
            if self._locals[subscriber] == broker:
                way = self._ways[subscriber][key]
                way.told_s = min(way.told_s, self._now() + self._settle_s)

    def drop(self, key: ObjectKey) -> None:
        """The event was evicted."""
        for subscriber in list(self._subscribers.get(key, ())):
            self._end(subscriber, key)

    def _end(self, subscriber: NodeId, key: ObjectKey) -> None:
        ways = self._ways[subscriber]
        del ways[key], self._subscribers[key][subscriber]
        if not ways:
            del self._ways[subscriber], self._locals[subscriber]
        if not self._subscribers[key]:
            del self._subscribers[key]
