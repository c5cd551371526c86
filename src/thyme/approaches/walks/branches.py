"""The branches of one overlay node: its neighbours along the walks, and the subscriptions behind each of them.

A subscription is known once and belongs to the branch over which it was first heard (or to this node itself).
Each branch has a counting filter of what is behind it; the cells of each subscription are kept too, because a
node that joins the overlay later has to be told of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thyme.approaches.walks.filters import CountingFilter, FilterOptions
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.wire.walks import Advert


class Branches:
    def __init__(self, node: NodeId, options: FilterOptions, maximum: int) -> None:
        self._node = node
        self._options = options
        self._maximum = maximum
        self._filters: dict[NodeId, CountingFilter] = {}
        self._known: dict[SubscriptionKey, tuple[NodeId, Advert]] = {}
        self.refused = 0

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
        """Forgets a branch; the revocations of what was behind it."""
        self._filters.pop(neighbour, None)
        gone = [advert for source, advert in self._known.values() if source == neighbour]
        for advert in gone:
            del self._known[advert.key]
        return [msgspec.structs.replace(advert, revoked=True) for advert in gone]

    def learn(self, source: NodeId, advert: Advert) -> bool:
        """Takes in what a branch (or this node itself) advertised; whether it was news."""
        known = self._known.get(advert.key)
        if advert.revoked:
            if known is None:
                return False
            self._forget(known)
            return True
        if known is not None:
            return False
        if len(self._known) >= self._maximum:
            self.refused += 1
            return False
        self._known[advert.key] = (source, advert)
        if source in self._filters:
            for cells in advert.cells:
                self._filters[source].add(cells)
        return True

    def adverts_for(self, neighbour: NodeId) -> list[Advert]:
        """All that is not behind that neighbour."""
        return [advert for source, advert in self._known.values() if source != neighbour]

    def way_to(self, subscription: SubscriptionKey) -> NodeId | None:
        """The branch behind which a subscription is, if it is known."""
        known = self._known.get(subscription)
        return known[0] if known is not None else None

    def matching(self, tags: tuple[str, ...], but: NodeId) -> list[NodeId]:
        """The branches where somebody may want an object with these tags."""
        return [n for n, behind in self._filters.items() if n != but and behind.may_match(tags)]

    def _forget(self, known: tuple[NodeId, Advert]) -> None:
        source, advert = known
        del self._known[advert.key]
        if source in self._filters:
            for cells in advert.cells:
                self._filters[source].remove(cells)
