"""The branches of one overlay node: its neighbours along the walks, and the subscriptions behind each of them.

A subscription is stored once and belongs to the branch that advertised it last (or to this node): a subscriber that
walks again advertises it again, and the latest advert counts. Each branch has a counting filter of the subscriptions
behind it; the filter cells of each subscription are kept too, because a node that joins the overlay later needs them.
Revocations by the subscriber are remembered, because an older advert may still be in transit. (A subscription that was
revoked because its branch is gone may be advertised again by others, with the age of its advert.)

The number of subscriptions stored separately is bounded, because the filters exist to save that memory (walks paper
§III). A branch with more is treated as matching everything, which so full a filter nearly does anyway, and this node
advertises that under its own name. No wanted object is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import msgspec

from thyme.approaches.walks.filters import ANY_OBJECT, CountingFilter, FilterOptions, cells_of_tag
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.wire.walks import Advert

EVERYTHING = -1
"""The number under which a node advertises that a branch matches everything; no subscription uses it."""


class Branches:
    def __init__(self, node: NodeId, options: FilterOptions, maximum: int) -> None:
        self._node = node
        self._options = options
        self._maximum = maximum
        self._filters: dict[NodeId, CountingFilter] = {}
        self._known: dict[SubscriptionKey, tuple[NodeId, Advert]] = {}
        self._everything: dict[NodeId, Advert] = {}
        self._revoked_s: Bounded[SubscriptionKey, float] = Bounded(maximum)

    def __iter__(self) -> Iterator[NodeId]:
        return iter(list(self._filters))

    def __len__(self) -> int:
        return len(self._filters)

    def __contains__(self, neighbour: object) -> bool:
        return neighbour in self._filters

    @property
    def subscriptions(self) -> int:
        return len(self._known)

    def add(self, neighbour: NodeId) -> bool:
        """Whether the branch is new."""
        if neighbour in self._filters:
            return False
        self._filters[neighbour] = CountingFilter(self._options)
        return True

    def drop(self, neighbour: NodeId) -> list[Advert]:
        """Remove a branch; returns the revocations of the subscriptions behind it."""
        self._filters.pop(neighbour, None)
        gone = [advert for source, advert in self._known.values() if source == neighbour]
        for advert in gone:
            del self._known[advert.key]
        summary = self._everything.pop(neighbour, None)
        if summary is not None and not self._everything:
            gone.append(summary)
        return [msgspec.structs.replace(advert, revoked=True) for advert in gone]

    def learn(self, source: NodeId, advert: Advert) -> Advert | None:
        """Store an advert of a branch (or of this node); returns what to forward to the others if it was new."""
        known = self._known.get(advert.key)
        revoked_s = self._revoked_s.get(advert.key, -inf)
        if advert.told_s < revoked_s:
            return None
        if advert.revoked:
            if advert.key.sid != EVERYTHING:
                self._revoked_s[advert.key] = advert.told_s
            if known is None or advert.told_s < known[1].told_s:
                return None
            self._forget(known)
            return advert
        if known is not None:
            if advert.told_s <= known[1].told_s:
                return None
            self._forget(known)
        if source != self._node and len(self._known) >= self._maximum:
            return self._want_everything(source, advert)
        self._known[advert.key] = (source, advert)
        if source in self._filters:
            for cells in advert.cells:
                self._filters[source].add(cells)
        return advert

    def expire(self, now_s: float) -> None:
        """Remove subscriptions whose time frame has ended; every node does so by itself."""
        for known in list(self._known.values()):
            if known[1].end_s is not None and known[1].end_s <= now_s:
                self._forget(known)

    def adverts_for(self, neighbour: NodeId) -> list[Advert]:
        """All subscriptions that are not behind that neighbour."""
        told = [advert for source, advert in self._known.values() if source != neighbour]
        summary = [advert for source, advert in self._everything.items() if source != neighbour]
        return [*told, *summary[-1:]]

    def way_to(self, subscription: SubscriptionKey) -> NodeId | None:
        """The branch of a subscription, if known."""
        known = self._known.get(subscription)
        return known[0] if known is not None else None

    def matching(self, tags: tuple[str, ...], but: NodeId) -> list[NodeId]:
        """The branches that may match an object with these tags."""
        return [
            n for n, behind in self._filters.items() if n != but and (n in self._everything or behind.may_match(tags))
        ]

    def _want_everything(self, source: NodeId, advert: Advert) -> Advert | None:
        """Treat the branch as matching everything; returns what to advertise, the first time."""
        if source in self._everything or source not in self._filters:
            return None
        key = SubscriptionKey(EVERYTHING, self._node)
        cells = (cells_of_tag(ANY_OBJECT, self._options),)
        told_s = max([advert.told_s, *(summary.told_s for summary in self._everything.values())])
        summary = self._everything[source] = Advert(key, cells, advert.since_s, told_s=told_s)
        return summary

    def _forget(self, known: tuple[NodeId, Advert]) -> None:
        source, advert = known
        del self._known[advert.key]
        if source in self._filters:
            for cells in advert.cells:
                self._filters[source].remove(cells)
