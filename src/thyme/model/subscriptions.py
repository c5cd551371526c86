"""Subscriptions ⟨sid, q, tss, tse, nid⟩ (Thyme FGCS §3.3).

A subscription carries its query as conjunctions, of which an object has to match one, and a time frame, in
which the object has to have been published.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.model.frames import TimeFrame
from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction, Query, QueryError


class Subscription(msgspec.Struct, frozen=True, array_like=True, gc=False):
    key: SubscriptionKey
    conjunctions: tuple[Conjunction, ...]
    frame: TimeFrame

    def __post_init__(self) -> None:
        if not self.conjunctions:
            raise QueryError(f"subscription {self.key} can never match: it has no conjunction")

    @classmethod
    def to_query(cls, key: SubscriptionKey, query: Query, frame: TimeFrame) -> Subscription:
        """A subscription to a query; QueryError if no object can match it."""
        conjunctions = query.dnf()
        if not conjunctions:
            raise QueryError(f"the query can never match, it contradicts itself: {query}")
        return cls(key, conjunctions, frame)

    def matches(self, metadata: Metadata) -> bool:
        if not self.frame.contains(metadata.published_s):
            return False
        for conjunction in self.conjunctions:  # noqa: SIM110 - a generator would double the time of this hot path
            if conjunction.matches(metadata.tags):
                return True
        return False

    def chosen(self, objects: Sequence[Metadata]) -> Sequence[Metadata]:
        """The matching objects, in order. Subscriptions to a single tag without a time frame, which most are, need no
        call per object."""
        if len(objects) == 1:
            return objects if self.matches(objects[0]) else ()
        only, frame = self.conjunctions[0], self.frame
        simple = len(self.conjunctions) == 1 and len(only.positive) == 1 and not only.negative
        if not simple or frame.start_s is not None or frame.end_s is not None:
            return [metadata for metadata in objects if self.matches(metadata)]
        tag = only.positive[0]
        return [metadata for metadata in objects if tag in metadata.tags]
