"""Reconciliation: a subscriber and its cells compare the notified objects with the matching ones (beyond the papers).

A notification can be missing because its sender failed, did not know the subscription, or could not reach the
subscriber. The subscriber asks only when something may be missing: after a restart, after a pause, on a cell's
`CompareHint` (see `notifier`), and at growing intervals. It sends checksums of its notified objects for a few spans of
publication time, short spans for recent objects. The cell either confirms, or lists the matches in the spans that
differ; a large span is returned as checksums of its parts. The subscriber then requests the missing objects. It
excludes from its checksums any objects that the cell no longer has (deleted ones). The cost follows the difference:
without one, it is one request and one answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import inf

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.subscriber import Subscriber
from thyme.approaches.digests import item_number, pack, unpack
from thyme.approaches.interface import ignore
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.stored import Cursor
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellAnswer, Compare, Compared, CompareHint, Listed, Span, Unknown

SPAN_MATCHES = (8, 32, 128, 512)
"""Matches in the spans of a first comparison, from the most recent on; one more span has the rest."""
MAX_LISTED = 64
"""Matches listed in one answer; spans with more are divided."""
PARTS = 16
"""Number of parts of a divided span."""
MAX_COMPARED = 10_000
"""Most matches compared per subscription, most recent first."""
MAX_GONE = 10_000
"""Notified objects that the cell no longer has; most remembered, to exclude them from checksums."""
BATCH = 1_000
WAIT_S = 2.0
"""Requests for a comparison within this time are merged."""
FIRST_PERIOD_S = 60.0
"""First comparison without a cause, after subscribing; the interval then doubles …"""
LONGEST_PERIOD_S = 960.0
"""… up to this."""
_SUM = (1 << 32) - 1

DatedMatches = list[tuple[float, int]]
"""Publication times and numbers of objects, in order."""


def number_of(key: ObjectKey) -> int:
    return item_number("match", key)


def _within(dated: DatedMatches, span: Span) -> DatedMatches:
    return [one for one in dated if span.from_s <= one[0] < span.to_s]


def _sum(dated: Iterable[tuple[float, int]]) -> int:
    return sum(number for _, number in dated) & _SUM


def _spans(dated: DatedMatches, sizes: Iterable[int], from_s: float, to_s: float) -> Iterator[Span]:
    """Divide the time from `to_s` back to `from_s` into spans of so many matches; the last span has the rest."""
    last = len(dated)
    for size in sizes:
        first = last - size
        while first > 0 and dated[first - 1][0] == dated[first][0]:
            first -= 1
        if first <= 0:
            break
        yield Span(dated[first][0], to_s, _sum(dated[first:last]))
        last, to_s = first, dated[first][0]
    yield Span(from_s, to_s, _sum(dated[:last]))


class Comparisons:
    """The subscriber's side."""

    def __init__(self, cell: Cell, requests: CellRequests, subscriber: Subscriber) -> None:
        self._cell = cell
        self._host = cell.host
        self._requests = requests
        self._subscriber = subscriber
        self._due: dict[tuple[SubscriptionKey, CellId], None] = {}
        self._gone: Bounded[tuple[SubscriptionKey, CellId, int], None] = Bounded(MAX_GONE)
        self._settled = False
        self._period_s = 0.0
        cell.hear(CompareHint, self._on_hint)
        cell.hear(Compared, self._on_compared)
        if cell.options.reconcile:
            cell.settled.then(self._on_settled)
            cell.returned.then(self.compare_all)
            subscriber.subscribed = self._on_subscribed
            subscriber.doubted = self._compare_soon

    def compare_all(self) -> None:
        for key, cell in self._subscriber.shares():
            self._compare_soon(key, cell)

    def _on_settled(self, alone: bool) -> None:
        """A node that joins or returns may have missed notifications."""
        if not self._settled:
            self._settled = True
            self.compare_all()
            self._on_subscribed()

    def _on_subscribed(self) -> None:
        begun, self._period_s = self._period_s > 0.0, FIRST_PERIOD_S
        if not begun and next(self._subscriber.shares(), None) is not None:
            self._wait()
        elif not begun:
            self._period_s = 0.0

    def _wait(self) -> None:
        self._host.after(self._period_s * self._host.random.uniform(0.75, 1.25), self._compare_again)

    def _compare_again(self) -> None:
        if self._cell.member:
            self.compare_all()
        self._period_s = min(2.0 * self._period_s, LONGEST_PERIOD_S)
        self._wait()

    def _on_hint(self, arrival: Arrival, message: CompareHint) -> None:
        known = set(self._subscriber.shares())
        for cell, key in message.shares:
            if (key, cell) in known:
                self._compare_soon(key, cell)

    def _compare_soon(self, key: SubscriptionKey, cell: CellId) -> None:
        if (key, cell) not in self._due:
            self._due[key, cell] = None
            self._host.after(self._host.random.uniform(WAIT_S / 4.0, WAIT_S), partial(self._compare_now, key, cell))

    def _compare_now(self, key: SubscriptionKey, cell: CellId) -> None:
        self._due.pop((key, cell), None)
        from_s = self._subscriber.complete_from_s(key)
        if from_s is not None:
            dated = self._delivered(key, cell)
            self._ask(key, cell, tuple(_spans(dated, SPAN_MATCHES, from_s, inf)), b"")

    def _delivered(self, key: SubscriptionKey, cell: CellId) -> DatedMatches:
        """Notified objects in the given cell's share of a subscription."""
        dated = [(at_s, number_of(one)) for one, at_s in self._subscriber.delivered(key, cell)]
        return sorted(one for one in dated if (key, cell, one[1]) not in self._gone)

    def _ask(self, key: SubscriptionKey, cell: CellId, spans: tuple[Span, ...], wanted: bytes) -> None:
        share = self._subscriber.share_of(key, cell)
        if share is None:
            return

        def send(number: int, cells: list[CellId]) -> None:
            self._cell.router.send_to_cell(cell, Compare(number, share, self._cell.place, spans, wanted))

        self._requests.begin([cell], send, ignore)

    def _on_compared(self, arrival: Arrival, message: Compared) -> None:
        key, cell = message.key, message.cell
        if self._subscriber.share_of(key, cell) is None:
            return
        dated, wanted = self._delivered(key, cell), list[int]()
        for listed in message.listed:
            mine, theirs = {number for _, number in _within(dated, listed.span)}, list(unpack(listed.numbers))
            wanted += [number for number in theirs if number not in mine]
            for number in sorted(mine.difference(theirs)):
                self._gone[key, cell, number] = None
        spans = [Span(s.from_s, s.to_s, _sum(_within(dated, s))) for s in message.spans]
        differing = tuple(mine for mine, theirs in zip(spans, message.spans, strict=True) if mine != theirs)
        self._requests.resolve(message.request)
        if wanted or differing:
            self._ask(key, cell, differing, pack(wanted))


class ComparisonAnswers:
    """The cell's side."""

    def __init__(self, cell: Cell, notifier: Notifier) -> None:
        self._cell = cell
        self._notifier = notifier
        cell.serve(Compare, self._on_compare)

    def _on_compare(self, arrival: Arrival, message: Compare) -> None:
        subscription, home = message.subscription, arrival.target
        key = subscription.key
        if key.subscriber != arrival.origin or len(message.spans) > PARTS * PARTS:
            return
        parts = self._cell.holdings.parts
        if parts.get(key, home) is None and not subscription.frame.ended(self._cell.host.now()):
            self._cell.answer(arrival, Unknown(home, (), (key,)))
        matches = {number_of(metadata.key): metadata for metadata in self._matches(subscription)}
        dated = sorted((metadata.published_s, number) for number, metadata in matches.items())
        wanted = [matches[number] for number in unpack(message.wanted) if number in matches]
        if wanted:
            self._notifier.tell(key, message.cell, tuple(wanted))
        listed, spans = self._differences(dated, message.spans)
        if listed or spans:
            self._cell.answer(arrival, Compared(message.request, home, key, tuple(listed), tuple(spans)))
        else:
            self._cell.answer(arrival, CellAnswer(message.request, home))

    def _differences(self, dated: DatedMatches, theirs: Iterable[Span]) -> tuple[list[Listed], list[Span]]:
        listed, spans, room = list[Listed](), list[Span](), MAX_LISTED
        for span in theirs:
            mine = _within(dated, span)
            if _sum(mine) == span.sum:
                continue
            if len(mine) <= room:
                room -= len(mine)
                listed.append(Listed(span, pack(number for _, number in mine)))
            elif len(mine) <= MAX_LISTED:
                spans.append(Span(span.from_s, span.to_s, _sum(mine)))
            else:
                sizes = [len(mine) // PARTS + 1] * PARTS
                spans += _spans(mine, sizes, span.from_s, span.to_s)
        return listed, spans[: PARTS * PARTS]

    def _matches(self, subscription: Subscription) -> Iterator[Metadata]:
        cursor: Cursor | None = None
        for _ in range(MAX_COMPARED // BATCH):
            batch = self._cell.holdings.index.search(subscription, BATCH, cursor)
            yield from batch.matches
            cursor = batch.cursor
            if cursor is None:
                return
