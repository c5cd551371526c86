"""What a node remembers of events: which way each came, and to whom its own are still owed.

An event takes, once, all branches where somebody may want it. A publisher may not know everybody by then: the walks of
two that publish and subscribe at the same time have not met yet. So it keeps its last events in mind, and when it
hears of a subscription that was made before one of them, it sends that one after, to this subscription alone. So it
does when it had lost sight of a subscription, or the subscriber tells it anew, because a path broke: what went out
before may be lost, and what was not is dropped by the subscriber. Subscriptions made later get nothing: the walks keep
no past.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from thyme.approaches.walks.branches import EVERYTHING
from thyme.approaches.walks.filters import ANY_OBJECT, FilterOptions, cells_of_tag
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.wire.walks import Advert


class Passages:
    """Over which branch each event came, the latest `maximum` of them."""

    def __init__(self, maximum: int) -> None:
        self._came_over: Bounded[ObjectKey, NodeId] = Bounded(maximum)
        self._spread: Bounded[ObjectKey, None] = Bounded(maximum)

    def __contains__(self, key: object) -> bool:
        return key in self._came_over

    def came_over(self, key: ObjectKey) -> NodeId | None:
        return self._came_over.get(key)

    def note(self, key: ObjectKey, source: NodeId) -> None:
        """An event came by; the first way it came is the way back."""
        self._came_over.setdefault(key, source)

    def spread(self, key: ObjectKey, source: NodeId) -> bool:
        """An event came to be spread; False if it was before."""
        self.note(key, source)
        if key in self._spread:
            return False
        self._spread[key] = None
        return True


class _Sent(msgspec.Struct):
    metadata: Metadata
    cells: tuple[tuple[int, ...], ...]
    to: dict[SubscriptionKey, float]
    """When each subscription that it went to had last been told."""

    def may_match(self, advert: Advert) -> bool:
        return any(cells in self.cells for cells in advert.cells)


class Outbox:
    """A publisher's last events, and the subscriptions that they went to."""

    def __init__(self, filters: FilterOptions, maximum: int, late_s: float) -> None:
        self._filters = filters
        self._late_s = late_s
        self._sent: Bounded[ObjectKey, _Sent] = Bounded(maximum)

    def add(self, metadata: Metadata, known: Iterable[Advert]) -> None:
        """An event went out when these subscriptions were known."""
        cells = tuple(cells_of_tag(tag, self._filters) for tag in (*metadata.tags, ANY_OBJECT))
        sent = self._sent[metadata.key] = _Sent(metadata, cells, {})
        sent.to.update((advert.key, advert.told_s) for advert in known if sent.may_match(advert))

    def drop(self, key: ObjectKey) -> None:
        self._sent.pop(key, None)

    def lost_sight_of(self, subscriptions: Iterable[SubscriptionKey]) -> None:
        """The way to them is no more, perhaps since before the last events went out."""
        gone = set(subscriptions)
        for sent in self._sent.values():
            for key in gone & sent.to.keys():
                del sent.to[key]

    def recent(self, now_s: float) -> bool:
        """Whether there are events that somebody may still be owed."""
        return any(now_s - sent.metadata.published_s <= self._late_s for sent in self._sent.values())

    def owed(self, advert: Advert, now_s: float) -> list[Metadata]:
        """The events that this subscription should have had; each is given out once per time that it was told."""
        found: list[Metadata] = []
        if advert.revoked or advert.key.sid == EVERYTHING:
            return found
        for sent in self._sent.values():
            published_s = sent.metadata.published_s
            stood = advert.since_s <= published_s and now_s - published_s <= self._late_s
            if stood and sent.to.get(advert.key, -1.0) < advert.told_s and sent.may_match(advert):
                sent.to[advert.key] = advert.told_s
                found.append(sent.metadata)
        return found
