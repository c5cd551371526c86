"""A broker's memory: events, and the interests of all known subscribers (DRIP §V-A).

The event memory is bounded. When it is full, the broker evicts the event with the fewest matching subscriptions, among
those the oldest. Events of the last `FRESH_S` are evicted only if there are no others, since matching subscriptions may
still be in transit. For each subscriber the newest `Interest` is kept, whether it registered here or came from another
broker. Events are kept in the host's store, so that a restarted broker still has them. They are numbered in order of
arrival, from the start after each restart.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from thyme.approaches.drip.election import ability_of
from thyme.approaches.drip.options import DripOptions
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import DataObject, Metadata
from thyme.model.standing import StandingSubscriptions
from thyme.model.stored import StoredObjects
from thyme.model.subscriptions import Subscription
from thyme.wire.drip import Interest

KIND = "drip event"
SEEN_EVENTS = 10_000
"""Events recognised as known after they were forgotten."""
FRESH_S = 60.0
"""How long an event counts as new: a dozen exchanges of subscriptions between brokers."""
_decoder = msgspec.msgpack.Decoder(DataObject)


def event_number(key: ObjectKey) -> int:
    """A short identifier of an event, for lists of known ones: 53 bits. Among 10,000 events, the chance of a collision
    is one in 180 million."""
    return int.from_bytes(blake2b(str(key).encode(), digest_size=8).digest(), "big") >> 11


class BrokerMemory:
    """Events and interests of one broker."""

    def __init__(self, host: Host, options: DripOptions) -> None:
        self._host = host
        self._options = options
        self._maximum = options.memory_of(ability_of(options, host.node))
        self._stored = StoredObjects()
        self._standing = StandingSubscriptions(self._stored.count)
        self._contents: dict[ObjectKey, bytes] = {}
        self._seen: Bounded[ObjectKey, None] = Bounded(SEEN_EVENTS)
        self._arrived: dict[ObjectKey, int] = {}
        self.arrivals = 0
        self._interests: dict[NodeId, Interest] = {}
        for _, value in host.store.items(KIND):
            event = _decoder.decode(value)
            self._keep(event)

    @property
    def event_count(self) -> int:
        return len(self._stored)

    @property
    def size_bytes(self) -> int:
        return sum(len(data) for data in self._contents.values())

    def knows(self, key: ObjectKey) -> bool:
        """Whether the event is stored here, or was evicted."""
        return key in self._seen

    def event(self, key: ObjectKey) -> DataObject | None:
        metadata = self._stored.get(key)
        return None if metadata is None else DataObject(metadata, self._contents[key])

    def events(self) -> list[ObjectKey]:
        return [metadata.key for metadata in self._stored]

    def numbers(self) -> set[int]:
        """The numbers of all events known."""
        return {event_number(key) for key in self._seen}

    def add(self, event: DataObject) -> ObjectKey | None:
        """Store an event; returns the one evicted for it, if any."""
        self._keep(event)
        self._host.store.put(KIND, str(event.metadata.key), msgspec.msgpack.encode(event))
        if len(self._stored) <= self._maximum:
            return None
        least = min(self._stored, key=self._worth)
        self.remove(least.key)
        return least.key

    def remove(self, key: ObjectKey) -> None:
        self._stored.remove(key)
        del self._contents[key], self._arrived[key]
        self._host.store.remove(KIND, str(key))

    def _worth(self, metadata: Metadata) -> tuple[bool, int, float, ObjectKey]:
        fresh = metadata.published_s > self._host.now() - FRESH_S
        return fresh, 0 if fresh else self.relevance(metadata), metadata.published_s, metadata.key

    def relevance(self, metadata: Metadata) -> int:
        """How many known subscriptions match it."""
        return len(self._standing.matching(metadata))

    def wanted_by(self, metadata: Metadata) -> list[Interest]:
        """The subscribers that it matches, each once."""
        subscribers = dict.fromkeys(found.key.subscriber for found in self._standing.matching(metadata))
        return [self._interests[subscriber] for subscriber in subscribers]

    def matches(self, subscriptions: tuple[Subscription, ...], most: int) -> list[DataObject]:
        """The remembered events that match, newest first."""
        found: dict[ObjectKey, Metadata] = {}
        for subscription in subscriptions:
            for metadata in self._stored.search(subscription, most, None).matches:
                found[metadata.key] = metadata
        newest = sorted(found.values(), key=lambda metadata: (-metadata.published_s, metadata.key))
        return [DataObject(metadata, self._contents[metadata.key]) for metadata in newest[:most]]

    def arrived_after(self, number: int, subscriptions: tuple[Subscription, ...]) -> list[tuple[int, ObjectKey]]:
        """The stored matching events with an arrival number above this one."""
        matching = (event.metadata.key for event in self.matches(subscriptions, self._options.memory_events))
        return sorted((self._arrived[key], key) for key in matching if self._arrived[key] > number)

    def interest(self, subscriber: NodeId) -> Interest | None:
        return self._interests.get(subscriber)

    def interests(self) -> list[Interest]:
        return list(self._interests.values())

    def learn(self, told: Interest) -> tuple[bool, bool]:
        """Store an interest if it is newer; returns whether it was, and whether its subscriptions are new."""
        known = self._interests.get(told.subscriber)
        if known is not None and told.moved_s <= known.moved_s:
            return False, False
        asks_anew = known is None or told.asked_s > known.asked_s
        if asks_anew and told.subscriptions is None:
            return False, False
        if known is None and len(self._interests) >= self._options.interests:
            return False, False
        if asks_anew:
            for subscription in known.subscriptions or () if known else ():
                self._standing.remove(subscription.key)
            for subscription in told.subscriptions or ():
                self._standing.add(subscription)
        elif known is not None:
            told = msgspec.structs.replace(told, subscriptions=known.subscriptions)
        self._interests[told.subscriber] = told
        return True, asks_anew

    def expire(self, now_s: float) -> None:
        """Remove subscribers that did not come back in time."""
        for subscriber, known in list(self._interests.items()):
            if known.moved_s < now_s - self._options.interest_life_s:
                for subscription in known.subscriptions or ():
                    self._standing.remove(subscription.key)
                del self._interests[subscriber]

    def _keep(self, event: DataObject) -> None:
        key = event.metadata.key
        self._stored.add(event.metadata)
        self._contents[key] = event.data
        self.arrivals += 1
        self._arrived[key] = self.arrivals
        self._seen[key] = None


def forget_events(host: Host) -> None:
    """Remove all events: this node is no longer a broker."""
    for key, _ in host.store.items(KIND):
        host.store.remove(KIND, key)
