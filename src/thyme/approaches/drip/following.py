"""Subscribers that an event is still on its way to, wherever they move meanwhile (DRIP §V-B2).

The interested brokers of an event are those "whose Voronoi regions the subscribers may be in", and a subscriber's
nearest brokers change every time it submits its subscriptions. So whoever brings an event to a subscriber learns new
destinations as the subscriber moves, until its local broker has the event or the event is too old to be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thyme.model.ids import NodeId, ObjectKey
from thyme.wire.drip import Interest


class Following:
    """Which events one broker brings to which subscribers."""

    def __init__(self, now: Callable[[], float], longest_s: float) -> None:
        self._now = now
        self._longest_s = longest_s
        self._until_s: dict[ObjectKey, float] = {}
        self._events: dict[NodeId, dict[ObjectKey, None]] = {}
        self._locals: dict[NodeId, NodeId] = {}

    def begin(self, key: ObjectKey, interests: Iterable[Interest]) -> None:
        """The event is to get to these subscribers."""
        until_s = self._until_s.setdefault(key, self._now() + self._longest_s)
        if until_s <= self._now():
            return
        for interest in interests:
            self._events.setdefault(interest.subscriber, {})[key] = None
            self._locals[interest.subscriber] = interest.brokers[0] if interest.brokers else interest.subscriber

    def moved(self, interest: Interest) -> list[ObjectKey]:
        """The subscriber registered anew: the events that it may still lack."""
        events = self._events.get(interest.subscriber)
        if events is None:
            return []
        if interest.brokers:
            self._locals[interest.subscriber] = interest.brokers[0]
        now_s = self._now()
        for key in list(events):
            if self._until_s.get(key, 0.0) <= now_s:
                self.end(interest.subscriber, key)
        return list(events)

    def arrived(self, key: ObjectKey, broker: NodeId) -> None:
        """The event got to a broker: whoever is in its region needs it no longer."""
        if key in self._until_s:
            for subscriber in [node for node, events in self._events.items() if key in events]:
                if self._locals[subscriber] == broker:
                    self.end(subscriber, key)

    def end(self, subscriber: NodeId, key: ObjectKey) -> None:
        events = self._events.get(subscriber)
        if events is not None:
            events.pop(key, None)
            if not events:
                del self._events[subscriber], self._locals[subscriber]

    def drop(self, key: ObjectKey) -> None:
        """The event had to give way."""
        if self._until_s.pop(key, None) is not None:
            for subscriber in [node for node, events in self._events.items() if key in events]:
                self.end(subscriber, key)
