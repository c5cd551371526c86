"""A subscriber's own subscriptions; each matching object is delivered once.

Subscriptions are kept in the host's store, so a device that restarts still has them. The application attaches its
callback again with `resume`, which then receives the matches that arrived meanwhile. A notification may arrive several
times (from the brokers of two conjunctions, after a retry, after a restart): all but the first are dropped (Thyme FGCS
§6.4.2), as are those for a revoked subscription. For this, delivered matches are stored too, one small record each,
written before the callback runs and removed with the subscription.

The number of a subscription is used once, because other nodes may still remember its previous use or its revocation.

A subscription ends with its time frame (§3.3). A search of the past alone, whose time frame has already ended, ends
when it was answered and paged. An ended subscription keeps its slot for a while, for notifications in transit, and
longer if it has matches left to request. If all slots are taken, the one that ended first is freed at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Generic, TypeVar, cast

import msgspec

from thyme.approaches.past import Past, Position
from thyme.host import Host, StoreFull
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription

KIND = "own subscription"
LAST_SID = "last subscription number"
POSITION = "position in the past"
NOTIFIED = "notified"
USED = "used subscription number"
USED_NUMBERS = 10_000
"""Most used numbers remembered individually; beyond it, every number up to the lowest counts as used."""
KEPT_BACK = 1_000
"""Most matches of one subscription that wait for `resume`."""
ENDED_S = 35.0
"""How long a subscription keeps its slot after its end, or after its last request if that was later: longer than a
request is retried (2 + 4 + 8 + 16 s)."""
UNPAGED_S = 600.0
"""The same with past matches left to request: a person looks at a page for minutes at most."""
_REVOKED, _ENDED = b"", b"ended"
_decoder = msgspec.msgpack.Decoder(Subscription)
_positions = msgspec.msgpack.Decoder(Position)

Source = TypeVar("Source", bound=int)
Notify = Callable[[SubscriptionKey, Sequence[Metadata], int], None]
"""(subscription, objects that came together, hops that they travelled or 0 where that is unknown)"""


class OwnSubscription(Generic[Source]):
    """One of this node's subscriptions, and the position reached in each source of past matches."""

    def __init__(self, subscription: Subscription, notify: Notify | None, asked_s: float, past: Past[Source]) -> None:
        self.subscription = subscription
        self.notify = notify
        self.asked_s = asked_s
        """When the application last requested matches."""
        self.answered = notify is None
        """Whether the first batch of past matches was delivered; true after a restart."""
        self.past = past
        self.kept_back: dict[ObjectKey, tuple[Metadata, int]] = {}

    @property
    def remaining(self) -> int:
        return self.past.remaining

    def over_s(self) -> float:
        """When its slot becomes free."""
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
        self._notified: Bounded[tuple[int, ObjectKey], bytes] = Bounded(notified_memory, parting=self._forget)
        """Delivered matches, with the stamp of each."""
        for name, value in host.store.items(NOTIFIED):
            self._notified[_pair(name)] = value
        self._used = {int(name): value for name, value in host.store.items(USED)}
        self.removed: Callable[[int], None] | None = None
        """Called with the numbers of subscriptions that were revoked or ended."""
        self.stamp: Callable[[OwnSubscription[Source], Metadata], bytes] | None = None
        """Returns what to store with a delivered match."""
        for _, value in host.store.items(KIND):
            subscription = _decoder.decode(value)
            sid = subscription.key.sid
            self._own[sid] = OwnSubscription(subscription, None, host.now(), self._new_past(sid))
            self._used.setdefault(sid, _REVOKED)
        for name, value in host.store.items(POSITION):
            number, source = name.split("/")
            if (own := self._own.get(int(number))) is not None:
                own.past.resume(cast(Source, int(source)), _positions.decode(value))

    def __iter__(self) -> Iterator[OwnSubscription[Source]]:
        return iter(list(self._own.values()))

    def __len__(self) -> int:
        self._end_old()
        return len(self._own)

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        """Attach a callback to a subscription made before a restart, and deliver the matches that arrived since."""
        for own in self:
            own.notify = notify
            waiting, own.kept_back = own.kept_back, {}
            for metadata, hops in waiting.values():
                self.give(own, (metadata,), hops)
        return tuple(own.subscription.key for own in self)

    def delivered_to_any(self) -> list[ObjectKey]:
        """The objects delivered for any subscription of this node, the latest last."""
        times = Counter(key for _, key in self._notified)
        return [key for key, count in times.items() if count >= len(self._own)]

    def delivered(self, sid: int) -> Iterator[tuple[ObjectKey, bytes]]:
        """The objects delivered for a subscription, with the stamp of each."""
        return ((key, stamp) for (number, key), stamp in self._notified.items() if number == sid)

    def next_sid(self) -> int:
        """A number that this node never used, even before a restart: other nodes may still know the old ones."""
        value = self._host.store.get(LAST_SID, "")
        last = msgspec.msgpack.decode(value, type=int) if value else -1
        return max(last, *self._own, -1) + 1

    def add(self, subscription: Subscription, notify: Notify) -> None:
        """InputError, with nothing changed, if the number was used before or there are too many subscriptions."""
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
        self._own[sid] = OwnSubscription(subscription, notify, self._host.now(), self._new_past(sid))
        self._host.store.put(KIND, str(sid), msgspec.msgpack.encode(subscription))

    def get(self, sid: int) -> OwnSubscription[Source]:
        if self.ended(sid):
            raise InputError(f"subscription {sid} of this node has ended; subscribe again to search the past")
        own = self._own.get(sid)
        if own is None:
            raise InputError(f"this node has no subscription {sid}")
        own.asked_s = self._host.now()
        return own

    def ended(self, sid: int) -> bool:
        """Whether this subscription existed and ended; there is nothing to revoke then."""
        self._end_old()
        return self._used.get(sid) == _ENDED

    def was_used(self, sid: int) -> bool:
        """Whether this node had this subscription and no longer does."""
        return sid in self._used and sid not in self._own

    def find(self, key: SubscriptionKey) -> OwnSubscription[Source] | None:
        return self._own.get(key.sid) if key.subscriber == self._host.node else None

    def remove(self, sid: int) -> None:
        own = self._own.pop(sid, None)
        self._host.store.remove(KIND, str(sid))
        for source in own.past.undelivered() if own is not None else ():
            self._host.store.remove(POSITION, f"{sid}/{source}")
        for pair in [pair for pair in self._notified if pair[0] == sid]:
            del self._notified[pair]
            self._forget(pair)
        if self.removed is not None:
            self.removed(sid)

    def accept(self, key: SubscriptionKey, metadata: Metadata, hops: int = 0) -> bool:
        """Deliver a match to the application; False if it is a duplicate or no longer wanted."""
        return self.accept_all(key, (metadata,), hops) > 0

    def accept_all(self, key: SubscriptionKey, matches: Sequence[Metadata], hops: int = 0) -> int:
        """Deliver matches that arrived together; returns how many were new and wanted."""
        own = self.find(key)
        return 0 if own is None else self.give(own, matches, hops)

    def give(self, own: OwnSubscription[Source], matches: Sequence[Metadata], hops: int = 0) -> int:
        """The same, for an existing subscription."""
        if own.notify is None:
            return sum([self._keep_back(own, metadata, hops) for metadata in matches])
        sid, new = own.subscription.key.sid, list[Metadata]()
        add, put, stamp = self._notified.add, self._host.store.put, self.stamp
        now_s = self._host.now()
        try:
            for metadata in own.subscription.chosen(matches):
                key = metadata.key
                if metadata.expired(now_s):
                    continue
                value = b"" if stamp is None else stamp(own, metadata)
                if add((sid, key), value):
                    try:
                        put(NOTIFIED, f"{sid}/{key.owner}/{key.oid}", value)
                    except StoreFull:  # a retry of the notification may find room
                        del self._notified[sid, key]
                        raise
                    new.append(metadata)
        finally:  # deliver what was stored before the disk was full
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

    def _new_past(self, sid: int) -> Past[Source]:
        def keep(source: Source, position: Position | None) -> None:
            name = f"{sid}/{source}"
            if position is None or sid not in self._own:
                self._host.store.remove(POSITION, name)
                return
            with suppress(StoreFull):  # then the rest cannot be requested after a restart
                self._host.store.put(POSITION, name, msgspec.msgpack.encode(position))

        return Past(keep)

    def _forget(self, told: tuple[int, ObjectKey], _: bytes = b"") -> None:
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
