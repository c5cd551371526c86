"""The shares of subscriptions that a member keeps for its cell (Thyme FGCS §6.4).

A share is kept under its home, the cell that a conjunction key hashes to, with the place of its subscriber. All shares
of one subscription that are kept here stand as one in the matching index. A subscription that was revoked stays so: a
member that missed it cannot bring it back. One whose time frame has ended (§3.3) is kept for a while for what is on its
way, a search of the past from its coming on; all members agree on that instant, so that repair does not bring it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import inf

import msgspec

from thyme.approaches.dcs.items import Items
from thyme.approaches.deadlines import LINGERING_S
from thyme.approaches.digests import item_number
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId, SubscriptionKey
from thyme.model.matching import IndexFull, MatchingIndex
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription
from thyme.wire.cells import CellState, Part, Revoked


class Parts:
    """Shares of subscriptions, by subscription and home."""

    def __init__(self, items: Items, index: MatchingIndex, max_revoked: int, now: Callable[[], float]) -> None:
        self._items = items
        items.describe("part", lambda key, home: CellState(parts=(self._parts[key][home],)))
        items.describe("revoked", lambda key, home: CellState(revoked=(Revoked(home, key),)))
        self._index = index
        self._now = now
        self._ends: list[tuple[float, SubscriptionKey, CellId]] = []
        self._parts: dict[SubscriptionKey, dict[CellId, Part]] = {}
        self._revoked: Bounded[SubscriptionKey, dict[CellId, None]] = Bounded(max_revoked, parting=self._forget_revoked)
        """Ended subscriptions, with the homes that have to know."""

    def put(self, part: Part) -> bool:
        """Keep a share of a subscription, more conjunctions of one, or its subscriber's newer place; whether that is
        news."""
        key, home = part.subscription.key, part.home
        if key in self._revoked or _over_s(part) <= self._now():
            return False
        parts = self._parts.setdefault(key, {})
        known = parts.get(home)
        whole = part if known is None else _joined(known, part)
        if known is not None and _number(known) == _number(whole):
            return False
        parts[home] = whole
        if known is None or known.subscription != whole.subscription:
            self._admit(key, home, known)
        if known is not None:
            self._items.forget(_number(known))
        over_s = _over_s(whole)
        if over_s < inf and (known is None or over_s != _over_s(known)):
            heappush(self._ends, (over_s, key, home))
        self._items.note(_number(whole), "part", key, home)
        return True

    def end(self, key: SubscriptionKey) -> bool:
        """Forget a subscription, which may be made again; whether there was any."""
        if key not in self._parts:
            return False
        self._drop(key, list(self._parts[key]))
        return True

    def expire(self, now_s: float) -> None:
        """Forget the shares whose time is over."""
        while self._ends and self._ends[0][0] <= now_s:
            _, key, home = heappop(self._ends)
            part = self.get(key, home)
            if part is not None and _over_s(part) <= now_s:
                self._drop(key, [home])

    def revoke(self, revoked: Revoked) -> bool:
        """Forget a subscription for good; False if its home knew."""
        key, home = revoked.key, revoked.home
        homes = self._revoked.setdefault(key, {})
        if home in homes:
            return False
        for part in self._parts.pop(key, {}).values():
            self._items.forget(_number(part))
        self._index.unsubscribe(key)
        homes[home] = None
        self._items.note(item_number("revoked", key, home), "revoked", key, home)
        return True

    def move_subscriber(self, key: SubscriptionKey, cell: CellId, told_s: float) -> bool:
        """The subscriber is in another cell now; False if it has no subscription here or this is old news."""
        moved = False
        for part in list(self._parts.get(key, {}).values()):
            moved |= self.put(msgspec.structs.replace(part, cell=cell, told_s=told_s))
        return moved

    def get(self, key: SubscriptionKey, home: CellId) -> Part | None:
        return self._parts.get(key, {}).get(home)

    def since_s(self, key: SubscriptionKey) -> float:
        """Since when a subscription is known here."""
        return max((part.since_s for part in self._parts.get(key, {}).values()), default=-inf)

    def homes_of(self, key: SubscriptionKey) -> list[CellId]:
        """The cells for which shares of a subscription are kept."""
        return sorted(self._parts.get(key, ()))

    def place_of(self, key: SubscriptionKey) -> CellId | None:
        """Where the subscriber was last said to be."""
        parts = self._parts.get(key)
        if not parts:
            return None
        if len(parts) == 1:
            (only,) = parts.values()
            return only.cell
        return max(parts.values(), key=lambda part: part.told_s).cell

    def homes(self) -> set[CellId]:
        """All homes for which a share or the end of one is kept."""
        kept = {home for parts in self._parts.values() for home in parts}
        return kept | {home for homes in self._revoked.values() for home in homes}

    def keeps_for(self, home: CellId) -> bool:
        return any(home in parts for parts in self._parts.values())

    def revocations(self, wanted: set[CellId] | None) -> Iterator[CellState]:
        for key, homes in list(self._revoked.items()):
            for home in list(homes):
                if wanted is None or home in wanted:
                    yield CellState(revoked=(Revoked(home, key),))

    def state(self, wanted: set[CellId] | None) -> Iterator[CellState]:
        """All shares, or those of some homes, one by one."""
        for key, parts in list(self._parts.items()):
            for home in list(parts):
                if wanted is None or home in wanted:
                    yield CellState(parts=(self._parts[key][home],))

    def numbers(self, home: CellId) -> Iterator[int]:
        """The items that are kept for a home, by their numbers."""
        for parts in self._parts.values():
            if home in parts:
                yield _number(parts[home])
        for key, homes in self._revoked.items():
            if home in homes:
                yield item_number("revoked", key, home)

    def release(self, gone: set[CellId]) -> None:
        """Forget what is kept for some homes."""
        for key, homes in self._revoked.items():
            for home in [home for home in homes if home in gone]:
                del homes[home]
                self._items.forget(item_number("revoked", key, home))
        for key, parts in list(self._parts.items()):
            self._drop(key, [home for home in parts if home in gone])

    def _drop(self, key: SubscriptionKey, homes: list[CellId]) -> None:
        parts = self._parts[key]
        for home in homes:
            self._items.forget(_number(parts.pop(home)))
        if not parts:
            del self._parts[key]
            self._index.unsubscribe(key)
        elif homes:
            self._stand_as_one(key)

    def _forget_revoked(self, key: SubscriptionKey, homes: dict[CellId, None]) -> None:
        for home in homes:
            self._items.forget(item_number("revoked", key, home))

    def _admit(self, key: SubscriptionKey, home: CellId, known: Part | None) -> None:
        """A share of it is new, or more of one; IndexFull, and nothing changes, if it does not fit."""
        try:
            self._stand_as_one(key)
        except IndexFull:
            if known is not None:
                self._parts[key][home] = known
                self._stand_as_one(key)
                raise
            del self._parts[key][home]
            if not self._parts[key]:
                del self._parts[key]
            raise

    def _stand_as_one(self, key: SubscriptionKey) -> None:
        parts = self._parts[key]
        conjunctions: dict[Conjunction, None] = {}
        for home in sorted(parts):
            conjunctions.update(dict.fromkeys(parts[home].subscription.conjunctions))
        frame = next(iter(parts.values())).subscription.frame
        self._index.unsubscribe(key)
        self._index.add_subscription(Subscription(key, tuple(conjunctions), frame))


def _over_s(part: Part) -> float:
    """When a share is no longer wanted."""
    end_s = part.subscription.frame.end_s
    return inf if end_s is None else max(end_s, part.since_s) + LINGERING_S


def _joined(known: Part, other: Part) -> Part:
    """Both in one, the same in whatever order they came: a subscriber that sends a share again names every conjunction
    that the cell may have to evaluate."""
    mine, theirs = known.subscription, other.subscription
    conjunctions = tuple(sorted({*mine.conjunctions, *theirs.conjunctions}, key=str))
    newer = other if other.told_s > known.told_s else known
    if len(conjunctions) == len(mine.conjunctions):
        conjunctions = mine.conjunctions
    subscription = Subscription(mine.key, conjunctions, mine.frame)
    return Part(known.home, subscription, newer.cell, newer.told_s, max(known.since_s, other.since_s))


def _number(part: Part) -> int:
    """Who was told of the same place at another time holds the same."""
    evaluated = sorted(map(str, part.subscription.conjunctions))
    return item_number("part", part.subscription.key, part.home, part.cell, *evaluated)
