"""The benchmark of the matching index: insertions per second beside a naive scan of all subscriptions.

Objects carry one to six tags, drawn as events show them: a few head tags take most uses, a long Zipf tail the
rest. Subscriptions are single tags, conjunctions, negations and disjunctions, six in ten independent of time and
four in ten on the future. Their tags are drawn in two ways. *Any popular tag* takes one of the 60 % most used
tags at random (Thyme FGCS §9.2) and joins others to it by use; *by use* follows the head as objects do, so that
a fifth of all subscriptions match each object and no index can be faster than listing them. CPU time is
measured, and each insertion that both sides run has to give the same subscriptions on both.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec
from rich.console import Console
from rich.table import Table

from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import MatchingIndex, MatchingLimits
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription

SIZES = (1_000, 10_000, 100_000, 1_000_000)

_HEAD_SHARES = (0.45, 0.19, 0.08, 0.07)
_TAIL_TAGS = 20_000
_TAIL_SLOPE = 1.54
_TAGS_PER_OBJECT = (0.37, 0.35, 0.19, 0.07, 0.01, 0.01)
_POPULAR_SHARE = 0.6
_NAIVE_BUDGET_S = 1.5
_INDEX_BUDGET_S = 3.0
_MAX_INSERTIONS = 20_000
_SPAN_S = 600.0


class MatchingRow(msgspec.Struct, frozen=True):
    """One size: rates per second of CPU time, and how many subscriptions an insertion matched on average."""

    subscribed: str
    subscriptions: int
    naive_insertions_per_s: float
    index_insertions_per_s: float
    ratio: float
    matches_per_insertion: float
    subscribes_per_s: float
    memory_mb: float


class Subscribed(StrEnum):
    """How the tags of subscriptions are drawn."""

    ANY_POPULAR = "any popular tag"
    BY_USE = "by use"


class _Tags:
    """Draws tags with the statistics of an event."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        tail = [rank**-_TAIL_SLOPE for rank in range(1, _TAIL_TAGS + 1)]
        scale = (1.0 - sum(_HEAD_SHARES)) / sum(tail)
        self._cumulative = list(accumulate([*_HEAD_SHARES, *(share * scale for share in tail)]))
        self._names = [f"tag{number}" for number in range(len(self._cumulative))]
        self._popular = self._names[: int(_POPULAR_SHARE * len(self._names))]

    def draw(self, count: int) -> list[str]:
        """That many different tags."""
        chosen: dict[str, None] = {}
        while len(chosen) < count:
            chosen[self.random.choices(self._names, cum_weights=self._cumulative)[0]] = None
        return list(chosen)

    def joined(self, count: int, subscribed: Subscribed) -> list[str]:
        """That many different tags for a subscription."""
        if subscribed is Subscribed.BY_USE:
            return self.draw(count)
        first = self.random.choice(self._popular)
        return [first, *[tag for tag in self.draw(count) if tag != first][: count - 1]]

    def objects(self) -> Iterator[Metadata]:
        number = 0
        while True:
            count = 1 + self.random.choices(range(6), _TAGS_PER_OBJECT)[0]
            key = ObjectKey(f"object{number}", NodeId(number % 300))
            published_s = self.random.uniform(0.0, _SPAN_S)
            yield Metadata(key, tuple(sorted(self.draw(count))), b"", published_s, 1000)
            number += 1

    def subscription(self, number: int, subscribed: Subscribed) -> Subscription:
        start_s = None if self.random.random() < 0.6 else self.random.uniform(0.0, _SPAN_S)
        key = SubscriptionKey(number, NodeId(number % 300))
        return Subscription(key, self._conjunctions(self.random.random(), subscribed), TimeFrame(start_s, None))

    def _conjunctions(self, kind: float, subscribed: Subscribed) -> tuple[Conjunction, ...]:
        if kind < 0.40:
            return (Conjunction(tuple(self.joined(1, subscribed))),)
        if kind < 0.70:
            return (Conjunction(tuple(sorted(self.joined(2, subscribed)))),)
        if kind < 0.80:
            return (Conjunction(tuple(sorted(self.joined(3, subscribed)))),)
        wanted, unwanted, other = self.joined(3, subscribed)
        if kind < 0.95:
            return (Conjunction((wanted,), (unwanted,)),)
        return tuple(Conjunction(tuple(sorted((wanted, either)))) for either in sorted((unwanted, other)))


def bench_matching(
    sizes: Sequence[int] = SIZES, seed: int = 1, done: Callable[[MatchingRow], None] = lambda row: None
) -> list[MatchingRow]:
    """Measure both ways of drawing at every size, smallest first; `done` is told of each row once it is known."""
    rows = []
    for subscribed in Subscribed:
        tags = _Tags(seed)
        subscriptions = [tags.subscription(number, subscribed) for number in range(max(sizes))]
        for size in sorted(sizes):
            rows.append(_measure(subscribed, subscriptions[:size], seed))
            done(rows[-1])
    return rows


def render(rows: Sequence[MatchingRow], console: Console | None = None) -> None:
    """Print the table."""
    table = Table(title="Matching: insertions per second of CPU time")
    table.add_column("subscribed")
    for heading in ("subscriptions", "scan /s", "index /s", "ratio", "matches", "subscribe /s", "memory MB"):
        table.add_column(heading, justify="right")
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before.subscribed != row.subscribed:
            table.add_section()
        table.add_row(
            row.subscribed,
            f"{row.subscriptions:,}",
            f"{row.naive_insertions_per_s:,.1f}",
            f"{row.index_insertions_per_s:,.1f}",
            f"{row.ratio:,.1f}×",
            f"{row.matches_per_insertion:,.1f}",
            f"{row.subscribes_per_s:,.0f}",
            f"{row.memory_mb:,.1f}",
        )
    (console or Console()).print(table)


def _measure(subscribed: Subscribed, subscriptions: list[Subscription], seed: int) -> MatchingRow:
    index = MatchingIndex(MatchingLimits(subscriptions=len(subscriptions)))
    began_s = time.process_time()
    for subscription in subscriptions:
        index.subscribe(subscription, 10)
    subscribes_per_s = len(subscriptions) / (time.process_time() - began_s)
    naive_found: list[list[Subscription]] = []
    index_found: list[list[Subscription]] = []
    counts: list[int] = []

    def scan(metadata: Metadata) -> None:
        naive_found.append([each for each in subscriptions if each.matches(metadata)])

    def insert(metadata: Metadata) -> None:
        found = index.insert(metadata)
        counts.append(len(found))
        if len(index_found) < len(naive_found):
            index_found.append(found)

    naive_rate = _rate(scan, _Tags(seed + 1).objects(), _NAIVE_BUDGET_S)
    index_rate = _rate(insert, _Tags(seed + 1).objects(), _INDEX_BUDGET_S)
    both = min(len(naive_found), len(index_found))
    assert naive_found[:both] == index_found[:both], "the index and the naive scan disagree"
    return MatchingRow(
        subscribed=subscribed.value,
        subscriptions=len(subscriptions),
        naive_insertions_per_s=naive_rate,
        index_insertions_per_s=index_rate,
        ratio=index_rate / naive_rate,
        matches_per_insertion=sum(counts) / len(counts),
        subscribes_per_s=subscribes_per_s,
        memory_mb=_memory_mb(subscriptions),
    )


def _rate(action: Callable[[Metadata], None], objects: Iterator[Metadata], budget_s: float) -> float:
    """How often per second of CPU time the action is done; objects are made outside the measured time."""
    spent_s, count = 0.0, 0
    while count < _MAX_INSERTIONS and spent_s < budget_s:
        metadata = next(objects)
        began_s = time.process_time()
        action(metadata)
        spent_s += time.process_time() - began_s
        count += 1
    return count / spent_s


def _memory_mb(subscriptions: list[Subscription]) -> float:
    """What a broker holds that received these: the records, decoded one by one as from the air, and the index."""
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Subscription)
    tracemalloc.start()
    try:
        index = MatchingIndex(MatchingLimits(subscriptions=len(subscriptions)))
        for subscription in subscriptions:
            index.add_subscription(decoder.decode(encoder.encode(subscription)))
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert index.subscription_count == len(subscriptions)
    return held_bytes / 1e6
