"""The benchmark of the matching index: insertions per second beside a naive scan of all subscriptions.

Objects carry one to six tags, drawn as events show them: a few head tags take most uses, a long Zipf tail the
rest. Subscriptions are single tags, conjunctions, negations and disjunctions, six in ten independent of time and
four in ten on the future, which began before the objects are published. Their tags are drawn in two ways. *At
random* takes any one of the 60 % most used tags (Thyme FGCS §9.2) and joins others to it by use; *by use*
follows the head as objects do, so that a quarter of all subscriptions match each object and no index can be
faster than listing them. CPU time is measured, and each insertion that both sides run has to give the same
subscriptions on both.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, islice

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.printing import table_console
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import MatchingIndex, MatchingLimits
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription

SIZES = (1_000, 10_000, 100_000, 1_000_000)
MAX_INSERTIONS = 5_000
"""For each side and size, unless its time is up before."""

_HEAD_SHARES = (0.45, 0.19, 0.08, 0.07)
_TAIL_TAGS = 20_000
_TAIL_SLOPE = 1.54
_TAGS_PER_OBJECT = (0.37, 0.35, 0.19, 0.07, 0.01, 0.01)
_POPULAR_SHARE = 0.6
_NAIVE_BUDGET_S = 1.5
_INDEX_BUDGET_S = 3.0
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

    AT_RANDOM = "random"
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
            place = bisect(self._cumulative, self.random.random(), hi=len(self._names) - 1)
            chosen[self._names[place]] = None
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
            published_s = _SPAN_S + number * 0.01
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
    sizes: Sequence[int] = SIZES,
    seed: int = 1,
    max_insertions: int = MAX_INSERTIONS,
    done: Callable[[MatchingRow], None] = lambda row: None,
) -> list[MatchingRow]:
    """Measure both ways of drawing at every size, smallest first; `done` is called with each row."""
    rows = []
    for subscribed in Subscribed:
        tags = _Tags(seed)
        subscriptions = [tags.subscription(number, subscribed) for number in range(max(sizes))]
        for size in sorted(sizes):
            rows.append(_measure(subscribed, subscriptions[:size], seed, max_insertions))
            done(rows[-1])
    return rows


def render(rows: Sequence[MatchingRow], console: Console | None = None) -> None:
    """Print the table."""
    table = Table(
        title="Matching: rates per second of CPU time",
        caption="matches: subscriptions to notify per insertion; MB: all of them and the index",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("tags", no_wrap=True)
    for heading in ("subscribed", "scan/s", "index/s", "ratio", "matches", "subscribe/s", "MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before.subscribed != row.subscribed:
            table.add_section()
        table.add_row(
            row.subscribed,
            f"{row.subscriptions:,}",
            _figure(row.naive_insertions_per_s),
            _figure(row.index_insertions_per_s),
            _figure(row.ratio) + "×",
            _figure(row.matches_per_insertion),
            _figure(row.subscribes_per_s),
            _figure(row.memory_mb),
        )
    (console or table_console()).print(table)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _measure(subscribed: Subscribed, subscriptions: list[Subscription], seed: int, max_insertions: int) -> MatchingRow:
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

    naive_rate = _rate(scan, islice(_Tags(seed + 1).objects(), max_insertions), _NAIVE_BUDGET_S)
    index_rate = _rate(insert, islice(_Tags(seed + 1).objects(), max_insertions), _INDEX_BUDGET_S)
    both = min(len(naive_found), len(index_found))
    for scanned, found in zip(naive_found[:both], index_found[:both], strict=True):
        assert scanned == sorted(found, key=_number), "the index and the naive scan disagree"
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


def _number(subscription: Subscription) -> int:
    return subscription.key.sid


def _rate(action: Callable[[Metadata], None], objects: Iterator[Metadata], budget_s: float) -> float:
    """How often per second of CPU time the action is done; objects are made outside the measured time."""
    spent_s, count = 0.0, 0
    for metadata in objects:
        began_s = time.process_time()
        action(metadata)
        spent_s += time.process_time() - began_s
        count += 1
        if spent_s >= budget_s:
            break
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
