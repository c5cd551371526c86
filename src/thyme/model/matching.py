"""The matching index: what a broker stores, and which subscribers it must notify (Thyme FGCS §3).

It joins the stored objects and the standing subscriptions. An insertion gives the subscriptions to notify, a
subscription the newest matching objects and how many there are. A deleted object stays known as deleted, so that
neither a subscription on the past nor a copy that arrives late brings it back. Nothing here reads a clock: time
comes with the objects.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.standing import StandingSubscriptions
from thyme.model.stored import Batch, Cursor, StoredObjects
from thyme.model.subscriptions import Subscription

__all__ = ["Batch", "Cursor", "IndexFull", "MatchingIndex", "MatchingLimits"]


class IndexFull(InputError):
    """The index holds as many objects or subscriptions as it may."""


class MatchingLimits(msgspec.Struct, frozen=True):
    """How much a broker keeps. The paper names no bounds; ours are what a phone's memory bears.

    A new object or subscription above the bound is refused with IndexFull; tombstones make room by forgetting
    the oldest, whose object could then come back with a very late copy. The index counts both.
    """

    objects: int = 1_000_000
    subscriptions: int = 1_000_000
    tombstones: int = 100_000


DEFAULT_LIMITS = MatchingLimits()


class MatchingIndex:
    """Stored objects and standing subscriptions."""

    def __init__(self, limits: MatchingLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._stored = StoredObjects()
        self._standing = StandingSubscriptions(self._stored.count)
        self._tombstones: Bounded[ObjectKey, None] = Bounded(limits.tombstones)

    def insert(self, metadata: Metadata) -> list[Subscription]:
        """Store an object; the subscriptions that it matches, each once. None for one known or deleted."""
        key = metadata.key
        if key in self._stored or key in self._tombstones:
            return []
        self._admit_object(key)
        self._stored.add(metadata)
        return self._standing.matching(metadata)

    def replace(self, metadata: Metadata) -> None:
        """Store an object's newer metadata, such as its replication list, without notifications. An unknown object is
        added; a deleted one stays deleted."""
        key = metadata.key
        if key in self._tombstones:
            return
        if key not in self._stored:
            self._admit_object(key)
        self._stored.add(metadata)

    def delete(self, key: ObjectKey) -> bool:
        """Make the object invisible from now on, even if it only arrives later; whether it was stored."""
        self._tombstones[key] = None
        return self._stored.remove(key)

    def withdraw(self, key: ObjectKey) -> bool:
        """Remove an object that another broker keeps from now on, without a tombstone. Returns whether it was
        stored."""
        return self._stored.remove(key)

    def subscribe(self, subscription: Subscription, limit: int) -> Batch:
        """Add a subscription and return its newest matches, at most `limit`. A repeated key changes nothing and is
        answered again, because it may be a retransmission."""
        self.add_subscription(subscription)
        return self.search(self._standing.get(subscription.key) or subscription, limit)

    def add_subscription(self, subscription: Subscription) -> bool:
        """Add a subscription without searching the past; returns whether it is new."""
        if subscription.key in self._standing:
            return False
        if len(self._standing) >= self.limits.subscriptions:
            raise IndexFull(
                f"subscription {subscription.key} does not fit: {self.limits.subscriptions} are kept at most"
            )
        self._standing.add(subscription)
        return True

    def more(self, key: SubscriptionKey, cursor: Cursor, limit: int) -> Batch:
        """The batch after the one that ended with the cursor; an empty one if the subscription is unknown."""
        subscription = self._standing.get(key)
        return Batch((), 0, None) if subscription is None else self.search(subscription, limit, cursor)

    def search(self, subscription: Subscription, limit: int, cursor: Cursor | None = None) -> Batch:
        """The matches of a subscription, stored here or not. The total counts all current matches. Objects that arrive
        between two batches are in a later batch only if they were published before the cursor; the others are notified
        when they are inserted."""
        if limit < 1:
            raise InputError(f"a batch of {limit} objects; expected at least 1")
        return self._stored.search(subscription, limit, cursor)

    def unsubscribe(self, key: SubscriptionKey) -> bool:
        """Remove a subscription; returns whether it existed."""
        return self._standing.remove(key)

    def get(self, key: ObjectKey) -> Metadata | None:
        return self._stored.get(key)

    def subscription(self, key: SubscriptionKey) -> Subscription | None:
        return self._standing.get(key)

    def deleted(self, key: ObjectKey) -> bool:
        return key in self._tombstones

    def objects(self) -> Iterator[Metadata]:
        """In insertion order."""
        return iter(self._stored)

    def subscriptions(self) -> Iterator[Subscription]:
        """In insertion order."""
        return iter(self._standing)

    def count(self, tag: str) -> int:
        """How many stored objects carry a tag."""
        return self._stored.count(tag)

    @property
    def object_count(self) -> int:
        return len(self._stored)

    @property
    def subscription_count(self) -> int:
        return len(self._standing)

    def _admit_object(self, key: ObjectKey) -> None:
        if len(self._stored) >= self.limits.objects:
            raise IndexFull(f"object {key} does not fit: {self.limits.objects} are kept at most")
