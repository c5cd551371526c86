"""A node's memory of events: the path that leads to each, and the subscriptions its own objects were sent to.

An event is forwarded once, along all branches that may match it. Its publisher does not know all subscriptions by then:
some come later, and walks that start at the same time have not met yet. So it keeps its own objects, over restarts too.
When it learns of a subscription whose time frame includes one of them, it sends that object to this subscription alone.
It does so again when it had lost the subscription, or when the subscriber advertises it again because a path broke: the
earlier event may be lost, and the subscriber drops duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import msgspec

from thyme.approaches.walks.branches import EVERYTHING
from thyme.approaches.walks.filters import ANY_OBJECT, FilterOptions, cells_of_tag
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.wire.walks import Advert

KIND = "walks object"
_decoder = msgspec.msgpack.Decoder(Metadata)


class Passages:
    """The branch that each event, or a part of its contents, came by last, for the latest `maximum` events."""

    def __init__(self, maximum: int) -> None:
        self._last_branch: Bounded[ObjectKey, NodeId] = Bounded(maximum)
        self._spread: Bounded[ObjectKey, None] = Bounded(maximum)

    def __contains__(self, key: object) -> bool:
        return key in self._last_branch

    def last_branch(self, key: ObjectKey) -> NodeId | None:
        return self._last_branch.get(key)

    def note(self, key: ObjectKey, source: NodeId) -> None:
        """An event or a part of its contents passed: the latest branch leads to its owner, earlier ones may be cut."""
        self._last_branch[key] = source

    def spread(self, key: ObjectKey, source: NodeId) -> bool:
        """An event to forward; False if it was already."""
        if key in self._spread:
            return False
        self._spread[key] = None
        self.note(key, source)
        return True


class _Published(msgspec.Struct):
    metadata: Metadata
    cells: tuple[tuple[int, ...], ...]


class Outbox:
    """A publisher's own objects, in the host's store, and the subscriptions that each was sent to."""

    def __init__(self, host: Host, filters: FilterOptions, maximum: int) -> None:
        self._host = host
        self._filters = filters
        self._objects: Bounded[ObjectKey, _Published] = Bounded(maximum, parting=self._part)
        self._of_cells: dict[tuple[int, ...], dict[ObjectKey, None]] = {}
        self._sent_s: dict[SubscriptionKey, dict[ObjectKey, float]] = {}
        """For each object and subscription: the time of the last advert when the object was sent."""
        for _, value in host.store.items(KIND):
            self._keep(_decoder.decode(value))

    def __len__(self) -> int:
        return len(self._objects)

    def add(self, metadata: Metadata, known: Iterable[Advert]) -> None:
        """An object is sent while these subscriptions are known."""
        cells = self._keep(metadata)
        self._host.store.put(KIND, str(metadata.key), msgspec.msgpack.encode(metadata))
        for advert in known:
            if any(one in cells for one in advert.cells):
                self._sent_s.setdefault(advert.key, {})[metadata.key] = advert.told_s

    def drop(self, key: ObjectKey) -> None:
        published = self._objects.pop(key, None)
        if published is not None:
            self._part(key, published)

    def lost_sight_of(self, subscriptions: Iterable[SubscriptionKey]) -> None:
        """The path to these subscriptions broke, perhaps before the last objects were sent."""
        for key in subscriptions:
            self._sent_s.pop(key, None)

    def unsent(self, advert: Advert) -> list[Metadata]:
        """The objects that this subscription may match and was not sent, in order of insertion; each is returned once
        per advert."""
        if advert.revoked or advert.key.sid == EVERYTHING:
            return []
        sent_s = self._sent_s.setdefault(advert.key, {})
        keys = {key for cells in advert.cells for key in self._of_cells.get(cells, ())}
        found = [self._objects[key].metadata for key in keys if sent_s.get(key, -inf) < advert.told_s]
        found = [metadata for metadata in found if metadata.published_s >= advert.since_s]
        found.sort(key=lambda metadata: (metadata.published_s, metadata.key))
        sent_s.update((metadata.key, advert.told_s) for metadata in found)
        return found

    def _keep(self, metadata: Metadata) -> tuple[tuple[int, ...], ...]:
        cells = tuple(cells_of_tag(tag, self._filters) for tag in (*metadata.tags, ANY_OBJECT))
        self._objects[metadata.key] = _Published(metadata, cells)
        for one in cells:
            self._of_cells.setdefault(one, {})[metadata.key] = None
        return cells

    def _part(self, key: ObjectKey, published: _Published) -> None:
        self._host.store.remove(KIND, str(key))
        for cells in published.cells:
            self._of_cells[cells].pop(key, None)
        for sent_s in self._sent_s.values():
            sent_s.pop(key, None)
