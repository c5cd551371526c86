"""The subscriptions that a node of Thyme-LS knows, its own and all others', and those it knows to be revoked.

They are in the host's store, so that a node that was off still knows what it knew, and what it has matched already
(Thyme FGCS §9.3.2: only subscriptions "of which it was unaware" are matched). A subscription is forgotten when its time
frame has ended, and so is a search of the past, of which nobody needs to hear later. The digests are of what everybody
should know now: subscriptions whose frames have not ended, and revocations.
"""

from __future__ import annotations

import msgspec

from thyme.approaches.digests import Digests, item_number
from thyme.approaches.ends import LINGERING_S, Ends
from thyme.approaches.ls.revocations import Revocations
from thyme.host import Host
from thyme.model.ids import SubscriptionKey
from thyme.model.matching import IndexFull, MatchingIndex
from thyme.model.records import Counted, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.wire.storage import Revocation

KIND = "known subscription"
_decoder = msgspec.msgpack.Decoder(Subscription)


class Known:
    """What stands in the index, and the revocations."""

    def __init__(self, host: Host, index: MatchingIndex, revoked_memory: int, revoked_s: float) -> None:
        self.digests = Digests()
        self._host = host
        self._index = index
        self._items: dict[int, Subscription | Revocation] = {}
        self._revocations = Revocations(host, revoked_memory, revoked_s)
        self._frames = Ends(host, self._unlist, 0.0)
        self._ends = Ends(host, self._forget, LINGERING_S)

    def load(self) -> None:
        """After a restart: what was known before."""
        for revocation in self._revocations.all():
            self._list(_number_revoked(revocation), revocation)
        for _, value in self._host.store.items(KIND):
            self._keep(_decoder.decode(value))

    def __contains__(self, key: SubscriptionKey) -> bool:
        return key in self._revocations or self._index.subscription(key) is not None

    def add(self, subscription: Subscription) -> bool:
        """Keep it; False if it is known, was revoked, or there is no room."""
        if subscription.key in self:
            return False
        try:
            self._keep(subscription)
        except IndexFull:
            self._host.record(Counted(TrafficKind.DROPPED, "Subscribed", reason="too many subscriptions"))
            return False
        self._host.store.put(KIND, str(subscription.key), msgspec.msgpack.encode(subscription))
        return True

    def revoke(self, key: SubscriptionKey, at_s: float) -> bool:
        """Whether that was news."""
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
        """What somebody who joins must know: subscriptions that have not ended, and revocations."""
        self.forget_old()
        now_s = self._host.now()
        return [one for one in self._index.subscriptions() if not one.frame.ended(now_s)], self._revocations.all()

    def item(self, number: int) -> Subscription | Revocation | None:
        return self._items.get(number)

    def forget_old(self) -> None:
        for revocation in self._revocations.forget_old():
            self._drop_item(_number_revoked(revocation))

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
