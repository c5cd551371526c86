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
    """Which events one broker brings to which subscribers, and until when."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until_s: dict[NodeId, dict[ObjectKey, float]] = {}
        self._subscribers: dict[ObjectKey, dict[NodeId, None]] = {}
        self._locals: dict[NodeId, NodeId] = {}

    def begin(self, key: ObjectKey, interests: Iterable[Interest], for_s: float) -> None:
        """The event is to get to these subscribers, and to follow those who move within this time."""
        for interest in interests:
            subscriber = interest.subscriber
            self._until_s.setdefault(subscriber, {}).setdefault(key, self._now() + for_s)
            self._subscribers.setdefault(key, {})[subscriber] = None
            self._locals[subscriber] = interest.brokers[0] if interest.brokers else subscriber

    def moved(self, interest: Interest) -> list[ObjectKey]:
        """The subscriber registered anew: the events that it may still lack."""
        events = self._until_s.get(interest.subscriber)
        if events is None:
            return []
        if interest.brokers:
            self._locals[interest.subscriber] = interest.brokers[0]
        for key in [key for key, until_s in events.items() if until_s < interest.moved_s]:
            self.end(interest.subscriber, key)
        return list(events)

    def arrived(self, key: ObjectKey, broker: NodeId) -> None:
        """The event got to a broker: whoever is in its region needs it no longer."""
        for subscriber in list(self._subscribers.get(key, ())):
            if self._locals[subscriber] == broker:
                self.end(subscriber, key)

    def end(self, subscriber: NodeId, key: ObjectKey) -> None:
        events, subscribers = self._until_s.get(subscriber, {}), self._subscribers.get(key, {})
        if events.pop(key, None) is not None and not events:
            del self._until_s[subscriber], self._locals[subscriber]
        if key in self._subscribers:
            subscribers.pop(subscriber, None)
            if not subscribers:
                del self._subscribers[key]

    def drop(self, key: ObjectKey) -> None:
        """The event had to give way."""
        for subscriber in list(self._subscribers.get(key, ())):
            self.end(subscriber, key)
