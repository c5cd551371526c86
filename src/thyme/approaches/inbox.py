"""A subscriber's side: its own subscriptions, and each matching object once.

Own subscriptions are kept in the host's store, so a device that comes back still knows what it asked for; the
application attaches its callback again with `resume`, and is then told of what came meanwhile. Notifications may reach
a subscriber several times (from two conjunctions' brokers, after a retry, or once more after a restart): all but the
first are dropped (Thyme FGCS §6.4.2), as are those for a subscription that was revoked meanwhile. So what was told is
in the store as well, one small record each, written before the application hears of it and removed with its
subscription.

The number of a subscription is used once: others may still know the one that had it, or that it was revoked.

A subscription ends with its time frame (§3.3); a search of the past alone, whose frame has ended when it is made, when
it was answered and paged. It keeps its place for a while, for what is still on its way, and longer if it has matches
left to ask for; if there is no other place, the one that ended first makes room at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Generic, TypeVar

import msgspec

from thyme.approaches.interface import Notify
from thyme.approaches.past import Past
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription

KIND = "own subscription"
LAST_SID = "last subscription number"
NOTIFIED = "notified"
USED = "used subscription number"
USED_NUMBERS = 10_000
"""Numbers remembered one by one as used; beyond it the lowest goes, and all below it count as used."""
KEPT_BACK = 1_000
"""Matches of one subscription that wait for `resume`."""
ENDED_S = 35.0
"""How long a subscription keeps its place after its end, or after it was last asked for, if that was later: longer
than a request is repeated (2 + 4 + 8 + 16 s)."""
UNPAGED_S = 600.0
"""The same for one with past matches left to ask for: a person looks at a page for minutes at most."""
_REVOKED, _ENDED = b"", b"ended"
_decoder = msgspec.msgpack.Decoder(Subscription)

Source = TypeVar("Source")


class OwnSubscription(Generic[Source]):
    """One of this node's subscriptions, and where each source of past matches stopped."""

    def __init__(self, subscription: Subscription, notify: Notify | None, asked_s: float) -> None:
        self.subscription = subscription
        self.notify = notify
        self.asked_s = asked_s
        """When the application last asked for it."""
        self.answered = notify is None
        """Whether the first batch of past matches was told; what was before a restart was."""
        self.past: Past[Source] = Past()
        self.kept_back: dict[ObjectKey, tuple[Metadata, int]] = {}

    @property
    def remaining(self) -> int:
        return self.past.remaining

    def over_s(self) -> float:
        """When its place is free."""
        end_s = self.subscription.frame.end_s
        if end_s is None:
            return inf
        return max(end_s, self.asked_s) + (UNPAGED_S if self.remaining else ENDED_S)


class Inbox(Generic[Source]):
    """This node's subscriptions by number."""

    def __init__(self, host: Host, maximum: int, notified_memory: int) -> None:
        self._host = host
        self._maximum = maximum
        self._own: dict[int, OwnSubscription[Source]] = {}
        self._notified: Bounded[tuple[int, ObjectKey], None] = Bounded(notified_memory, parting=self._forget)
        for name, _ in host.store.items(NOTIFIED):
            self._notified[_pair(name)] = None
        self._used = {int(name): value for name, value in host.store.items(USED)}
        self.removed: Callable[[int], None] | None = None
        """Told of the numbers of subscriptions that are gone: revoked, or over."""
        for _, value in host.store.items(KIND):
            subscription = _decoder.decode(value)
            self._own[subscription.key.sid] = OwnSubscription(subscription, None, host.now())
            self._used.setdefault(subscription.key.sid, _REVOKED)

    def __iter__(self) -> Iterator[OwnSubscription[Source]]:
        return iter(list(self._own.values()))

    def __len__(self) -> int:
        self._end_old()
        return len(self._own)

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        """Attach a callback to what was subscribed before a restart, and tell it what came since."""
        for own in self:
            own.notify = notify
            waiting, own.kept_back = own.kept_back, {}
            for metadata, hops in waiting.values():
                self.give(own, (metadata,), hops)
        return tuple(own.subscription.key for own in self)

    def told_to_all(self) -> list[ObjectKey]:
        """The objects that every subscription of this node was told of, those told last at the end."""
        times = Counter(key for _, key in self._notified)
        return [key for key, count in times.items() if count >= len(self._own)]

    def next_sid(self) -> int:
        """A number that this node has not used before, restarts included: others may still know the old ones."""
        value = self._host.store.get(LAST_SID, "")
        last = msgspec.msgpack.decode(value, type=int) if value else -1
        return max(last, *self._own, -1) + 1

    def add(self, subscription: Subscription, notify: Notify) -> None:
        """InputError, and nothing changes, if the number was used before or there are too many."""
        sid = subscription.key.sid
        if sid in self._own:
            raise InputError(f"subscription {sid} of this node exists already; choose another number")
        if sid in self._used or (len(self._used) >= USED_NUMBERS and sid < min(self._used)):
            raise InputError(f"this node has used the number {sid} for a subscription before; choose another number")
        self._make_room()
        if len(self._own) >= self._maximum:
            raise InputError(f"this node has {self._maximum} subscriptions already; unsubscribe from some first")
        self._host.store.put(LAST_SID, "", msgspec.msgpack.encode(max(sid, self.next_sid() - 1)))
        self._use(sid)
        self._own[sid] = OwnSubscription(subscription, notify, self._host.now())
        self._host.store.put(KIND, str(sid), msgspec.msgpack.encode(subscription))

    def get(self, sid: int) -> OwnSubscription[Source]:
        if self.ended(sid):
            raise InputError(f"subscription {sid} of this node has ended; subscribe anew to search the past")
        own = self._own.get(sid)
        if own is None:
            raise InputError(f"this node has no subscription {sid}")
        own.asked_s = self._host.now()
        return own

    def ended(self, sid: int) -> bool:
        """Whether there was such a subscription, and its time is over. There is nothing to revoke then."""
        self._end_old()
        return self._used.get(sid) == _ENDED

    def was_used(self, sid: int) -> bool:
        """Whether this node had such a subscription, and has it no more."""
        return sid in self._used and sid not in self._own

    def find(self, key: SubscriptionKey) -> OwnSubscription[Source] | None:
        return self._own.get(key.sid) if key.subscriber == self._host.node else None

    def remove(self, sid: int) -> None:
        self._own.pop(sid, None)
        self._host.store.remove(KIND, str(sid))
        for pair in [pair for pair in self._notified if pair[0] == sid]:
            del self._notified[pair]
            self._forget(pair)
        if self.removed is not None:
            self.removed(sid)

    def accept(self, key: SubscriptionKey, metadata: Metadata, hops: int = 0) -> bool:
        """Hand a match to the application; False if it is a duplicate or no longer wanted."""
        return self.accept_all(key, (metadata,), hops) > 0

    def accept_all(self, key: SubscriptionKey, matches: Sequence[Metadata], hops: int = 0) -> int:
        """Hand matches that came together to the application; how many of them were not told yet, and are wanted."""
        own = self.find(key)
        return 0 if own is None else self.give(own, matches, hops)

    def give(self, own: OwnSubscription[Source], matches: Sequence[Metadata], hops: int = 0) -> int:
        """The same of a subscription that is there."""
        if own.notify is None:
            return sum([self._keep_back(own, metadata, hops) for metadata in matches])
        sid, new = own.subscription.key.sid, list[Metadata]()
        add, put = self._notified.add, self._host.store.put
        try:
            for metadata in own.subscription.chosen(matches):
                key = metadata.key
                if add((sid, key), None):
                    try:
                        put(NOTIFIED, f"{sid}/{key.owner}/{key.oid}", b"")
                    except InputError:  # the disk is full: whoever tells it again may have more luck
                        del self._notified[sid, key]
                        raise
                    new.append(metadata)
        finally:  # what was noted before the disk was full is told
            if new:
                own.notify(own.subscription.key, new, hops)
        return len(new)

    def _keep_back(self, own: OwnSubscription[Source], metadata: Metadata, hops: int) -> bool:
        sid, key = own.subscription.key.sid, metadata.key
        if not own.subscription.matches(metadata) or (sid, key) in self._notified:
            return False
        if key in own.kept_back or len(own.kept_back) >= KEPT_BACK:
            return False
        own.kept_back[key] = metadata, hops
        return True

    def _end_old(self) -> None:
        now_s = self._host.now()
        for sid, own in list(self._own.items()):
            if own.over_s() <= now_s:
                self._end(sid)

    def _make_room(self) -> None:
        self._end_old()
        if len(self._own) < self._maximum:
            return
        now_s = self._host.now()
        over = [(own.over_s(), sid) for sid, own in self._own.items() if own.subscription.frame.ended(now_s)]
        if over:
            self._end(min(over)[1])

    def _end(self, sid: int) -> None:
        self._use(sid, _ENDED)
        self.remove(sid)

    def _forget(self, told: tuple[int, ObjectKey], _: None = None) -> None:
        self._host.store.remove(NOTIFIED, _name(told))

    def _use(self, sid: int, how: bytes = _REVOKED) -> None:
        self._used[sid] = how
        self._host.store.put(USED, str(sid), how)
        if len(self._used) > USED_NUMBERS:
            lowest = min(self._used)
            del self._used[lowest]
            self._host.store.remove(USED, str(lowest))


def _name(told: tuple[int, ObjectKey]) -> str:
    sid, key = told
    return f"{sid}/{key.owner}/{key.oid}"


def _pair(name: str) -> tuple[int, ObjectKey]:
    sid, owner, oid = name.split("/", 2)
    return int(sid), ObjectKey(oid, NodeId(int(owner)))
