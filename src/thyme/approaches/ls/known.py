"""The subscriptions that a node of Thyme-LS knows, its own and all others', and the known revocations.

They are in the host's store, so that a restarted node still has them and knows which ones it has matched (Thyme FGCS
§9.3.2: only subscriptions "of which it was unaware" are matched). A subscription is removed when its time frame has
ended; so is a search of the past, which nodes that join later do not need. The digests cover what every node should
know now: subscriptions whose time frames have not ended, and revocations.

What a node stored in the last moments before a crash lasts or does not, and its neighbours cannot tell. So, where
notifications are sure, it remembers for a while which subscriptions are new to it: after a restart they are
`interrupted`, and are asked or answered again.

All nodes keep the same revocations: recent ones by the subscriber's clock, and the latest if there are too many. So
neighbours that compare their state agree, and a forgotten item does not return from another node.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import msgspec

from thyme.approaches.deadlines import LINGERING_S, Ends
from thyme.approaches.digests import Digests, item_number
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.model.matching import IndexFull, MatchingIndex
from thyme.model.records import Counted, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.wire.storage import Revocation

KIND = "known subscription"
_decoder = msgspec.msgpack.Decoder(Subscription)
REVOKED = "revoked subscription"
REVOKED_MEMORY = 1_000
"""Unsubscriptions remembered, to hand them to nodes that were off: the latest."""
FRESH = "new subscription"
FRESH_S = 10.0
"""A subscription is new for this long: by then its answer has arrived or failed."""
MAX_FRESH = 1_000
"""New subscriptions that are remembered."""
_instant = msgspec.msgpack.Decoder(float)


class Revocations:
    """A bounded, stored map, ordered by time."""

    def __init__(self, host: Host, maximum: int, life_s: float) -> None:
        self._host = host
        self._maximum = maximum
        self._life_s = life_s
        self._at_s = {_key(name): _instant.decode(value) for name, value in host.store.items(REVOKED)}
        self._order = sorted((at_s, key) for key, at_s in self._at_s.items())

    def __contains__(self, key: SubscriptionKey) -> bool:
        return key in self._at_s

    def __len__(self) -> int:
        return len(self._at_s)

    def all(self) -> list[Revocation]:
        """The earliest first."""
        return [(key, at_s) for at_s, key in self._order]

    def add(self, key: SubscriptionKey, at_s: float) -> list[Revocation] | None:
        """Store one; returns those that it replaces or evicts, or None if it is not new."""
        known_s = self._at_s.get(key)
        if known_s is not None and known_s >= at_s:
            return None
        self._host.store.put(REVOKED, str(key), msgspec.msgpack.encode(at_s))
        gone = [] if known_s is None else [self._drop(known_s, key)]
        self._at_s[key] = at_s
        insort(self._order, (at_s, key))
        gone += self.forget_old()
        return None if (key, at_s) in gone else gone

    def forget_old(self) -> list[Revocation]:
        gone = []
        while self._order and (len(self._order) > self._maximum or self._order[0][0] < self._host.now() - self._life_s):
            gone.append(self._drop(*self._order[0]))
            self._host.store.remove(REVOKED, str(gone[-1][0]))
        return gone

    def _drop(self, at_s: float, key: SubscriptionKey) -> Revocation:
        del self._at_s[key]
        del self._order[bisect_left(self._order, (at_s, key))]
        return key, at_s


def _key(name: str) -> SubscriptionKey:
    """The key encoded in this text."""
    sid, _, subscriber = name.partition("@")
    return SubscriptionKey(int(sid), NodeId(int(subscriber)))


class Known:
    """The subscriptions in the index, and the revocations."""

    def __init__(self, host: Host, index: MatchingIndex, revoked_s: float, *, sure: bool = False) -> None:
        """With `sure`, interrupted subscriptions are found after a restart."""
        self._sure = sure
        self._fresh: Bounded[SubscriptionKey, float] = Bounded(
            MAX_FRESH, parting=lambda key, _: host.store.remove(FRESH, str(key))
        )
        """New ones, and since when they are known."""
        self.interrupted: list[Subscription] = []
        """Those that were new before a restart."""
        self.digests = Digests()
        self._host = host
        self._index = index
        self._items: dict[int, Subscription | Revocation] = {}
        self._revocations = Revocations(host, REVOKED_MEMORY, revoked_s)
        self._frames = Ends(host, self._unlist, 0.0)
        self._ends = Ends(host, self._forget, LINGERING_S)

    def load(self) -> None:
        """After a restart: load the stored items."""
        for revocation in self._revocations.all():
            self._list(_number_revoked(revocation), revocation)
        for _, value in self._host.store.items(KIND):
            self._keep(_decoder.decode(value))
        for name, _ in self._host.store.items(FRESH):
            self._fresh[_key(name)] = self._host.now()
            if (subscription := self._index.subscription(_key(name))) is not None:
                self.interrupted.append(subscription)

    def __contains__(self, key: SubscriptionKey) -> bool:
        return key in self._revocations or self._index.subscription(key) is not None

    def add(self, subscription: Subscription) -> bool:
        """Store it; False if it is known, was revoked, or there is no room."""
        if subscription.key in self:
            return False
        if self._sure:
            self._host.store.put(FRESH, str(subscription.key), b"")
            self._fresh[subscription.key] = self._host.now()
        self._host.store.put(KIND, str(subscription.key), msgspec.msgpack.encode(subscription))
        try:
            self._keep(subscription)
        except IndexFull:
            self._host.store.remove(KIND, str(subscription.key))
            self._host.record(Counted(TrafficKind.DROPPED, "Subscribed", reason="too many subscriptions"))
            return False
        return True

    def revoke(self, key: SubscriptionKey, at_s: float) -> bool:
        """Store a revocation; returns whether it was new."""
        gone = self._revocations.add(key, at_s)
        self._ends.unwatch(key)
        self._forget(key)
        if gone is None:
            return False
        self._list(_number_revoked((key, at_s)), (key, at_s))
        for revocation in gone:
            self._drop_item(_number_revoked(revocation))
        return True

    def to_hand_over(self) -> tuple[list[Subscription], list[Revocation]]:
        """What a joining node needs: subscriptions that have not ended, and revocations."""
        self.forget_old()
        now_s = self._host.now()
        return [one for one in self._index.subscriptions() if not one.frame.ended(now_s)], self._revocations.all()

    def item(self, number: int) -> Subscription | Revocation | None:
        return self._items.get(number)

    def forget_old(self) -> None:
        for revocation in self._revocations.forget_old():
            self._drop_item(_number_revoked(revocation))
        old_s = self._host.now() - FRESH_S
        for key in [key for key, since_s in self._fresh.items() if since_s < old_s]:
            del self._fresh[key]
            self._host.store.remove(FRESH, str(key))

    def _keep(self, subscription: Subscription) -> None:
        self._index.add_subscription(subscription)
        self._ends.watch(subscription)
        if not subscription.frame.ended(self._host.now()):
            self._list(_number(subscription.key), subscription)
            self._frames.watch(subscription)

    def _forget(self, key: SubscriptionKey) -> None:
        self._frames.unwatch(key)
        self._unlist(key)
        self._index.unsubscribe(key)
        self._host.store.remove(KIND, str(key))
        if self._fresh.pop(key, None) is not None:
            self._host.store.remove(FRESH, str(key))

    def _unlist(self, key: SubscriptionKey) -> None:
        self._drop_item(_number(key))

    def _list(self, number: int, item: Subscription | Revocation) -> None:
        self._items[number] = item
        self.digests.add(number)

    def _drop_item(self, number: int) -> None:
        self._items.pop(number, None)
        self.digests.remove(number)


def _number(key: SubscriptionKey) -> int:
    return item_number("subscribed", key)


def _number_revoked(revocation: Revocation) -> int:
    return item_number("revoked", *revocation)
