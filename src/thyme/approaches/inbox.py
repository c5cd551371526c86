"""A subscriber's side: its own subscriptions, and each matching object once.

Own subscriptions are kept in the host's store, so a device that comes back still knows what it asked for; the
application attaches its callback again with `resume`. Notifications may reach a subscriber several times (from two
conjunctions' brokers, or after a retry): all but the first are dropped (Thyme FGCS §6.4.2), as are those for a
subscription that was revoked meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from thyme.approaches.interface import Notify
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription

KIND = "own subscription"
LAST_SID = "last subscription number"
_decoder = msgspec.msgpack.Decoder(Subscription)

Source = TypeVar("Source")


class OwnSubscription(Generic[Source]):
    """One of this node's subscriptions, and where each source of past matches stopped."""

    def __init__(self, subscription: Subscription, notify: Notify) -> None:
        self.subscription = subscription
        self.notify = notify
        self.cursors: dict[Source, tuple[Cursor, int]] = {}

    @property
    def remaining(self) -> int:
        return sum(left for _, left in self.cursors.values())


class Inbox(Generic[Source]):
    """This node's subscriptions by number."""

    def __init__(self, host: Host, maximum: int, notified_memory: int) -> None:
        self._host = host
        self._maximum = maximum
        self._own: dict[int, OwnSubscription[Source]] = {}
        self._notified: Bounded[tuple[int, ObjectKey], None] = Bounded(notified_memory)
        for _, value in host.store.items(KIND):
            subscription = _decoder.decode(value)
            self._own[subscription.key.sid] = OwnSubscription(subscription, _ignore)

    def __iter__(self) -> Iterator[OwnSubscription[Source]]:
        return iter(list(self._own.values()))

    def __len__(self) -> int:
        return len(self._own)

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        """Attach a callback to what was subscribed before a restart."""
        for own in self._own.values():
            own.notify = notify
        return tuple(own.subscription.key for own in self._own.values())

    def next_sid(self) -> int:
        """A number that this node has not used before, restarts included: others may still know the old ones."""
        value = self._host.store.get(LAST_SID, "")
        last = msgspec.msgpack.decode(value, type=int) if value else -1
        return max(last, *self._own, -1) + 1

    def add(self, subscription: Subscription, notify: Notify) -> None:
        sid = subscription.key.sid
        if sid in self._own:
            raise InputError(f"subscription {sid} of this node exists already; choose another number")
        if len(self._own) >= self._maximum:
            raise InputError(f"this node has {self._maximum} subscriptions already; unsubscribe from some first")
        self._host.store.put(LAST_SID, "", msgspec.msgpack.encode(max(sid, self.next_sid() - 1)))
        self._own[sid] = OwnSubscription(subscription, notify)
        self._host.store.put(KIND, str(sid), msgspec.msgpack.encode(subscription))

    def get(self, sid: int) -> OwnSubscription[Source]:
        own = self._own.get(sid)
        if own is None:
            raise InputError(f"this node has no subscription {sid}")
        return own

    def find(self, key: SubscriptionKey) -> OwnSubscription[Source] | None:
        return self._own.get(key.sid) if key.subscriber == self._host.node else None

    def remove(self, sid: int) -> None:
        self._own.pop(sid, None)
        self._host.store.remove(KIND, str(sid))

    def accept(self, key: SubscriptionKey, metadata: Metadata, hops: int = 0) -> bool:
        """Hand a match to the application; False if it is a duplicate or no longer wanted."""
        own = self.find(key)
        seen = (key.sid, metadata.key)
        if own is None or seen in self._notified or not own.subscription.matches(metadata):
            return False
        self._notified[seen] = None
        own.notify(key, metadata, hops)
        return True


def _ignore(key: SubscriptionKey, metadata: Metadata, hops: int) -> None:
    """What is notified between a restart and `resume` is not handed to anyone; the application asks again."""
