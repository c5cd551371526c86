"""The ground truth of a trace that is one table: the same as `oracle`, for what fits into one process.

Objects and subscriptions with their lives are columns of numbers. A subscription to one tag is counted by differences
of running counts, as in `running_counts`: where a tag's insertions and deletions are sorted, a count is a place in
them. Any other is held against the objects that its query finds.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np
import pyarrow as pa

from thyme.model.normal_forms import Conjunction
from thyme.pipeline.coded_tags import Ints, as_numpy
from thyme.pipeline.truth.life_columns import Flags, Floats, Objects, Subscriptions, places_among

COLUMNS = ("operation", "at_s", "node", "kind", "oid", "tags", "sid", "query", "start_s", "end_s")
"""What the truth needs of a trace."""


class WholeTruth:
    """What a perfect, instant execution of a trace would notify."""

    def __init__(self, trace: pa.Table) -> None:
        self._line = _TimeLine(as_numpy(trace["at_s"]), as_numpy(trace["operation"]))
        self.objects = Objects(trace)
        self.subscriptions = Subscriptions(trace)
        names = self.objects.tags.names.to_pylist()
        self._codes = {name: code for code, name in enumerate(names)}
        self._listed = cache(self._matching)

    def counts(self) -> Ints:
        """How many objects each subscription is to be told of."""
        subscriptions = self.subscriptions
        single = self._single_tags[subscriptions.query]
        counted = (single != _NO_TAG) & subscriptions.countable()
        expected = np.zeros(len(subscriptions.issued), np.int64)
        expected[counted] = self._counted(np.flatnonzero(counted), single[counted])
        for place in np.flatnonzero(~counted).tolist():
            found = self._listed(int(subscriptions.query[place]))
            expected[place] = np.count_nonzero(self._in_time(np.full(len(found), place), found))
        return expected

    def asking(self, keys: pa.Array) -> Ints:
        """The places of subscriptions by their keys; -1 for those that the trace does not have."""
        return places_among(keys, self.subscriptions.keys)

    def found(self, keys: pa.Array) -> Ints:
        """The same for objects."""
        return places_among(keys, self.objects.keys)

    def judge(self, asking: Ints, found: Ints) -> Flags:
        """Whether each pair of a subscription and an object, given by their places, belongs to the truth."""
        known = np.flatnonzero((asking >= 0) & (found >= 0))
        right = np.zeros(len(asking), np.bool_)
        right[known] = self._in_time(asking[known], found[known]) & self._match(asking[known], found[known])
        return right

    def _in_time(self, asking: Ints, found: Ints) -> Flags:
        """As `lives.in_time`, for places of subscriptions and of objects."""
        ask, life = self.subscriptions, self.objects
        published_s, inserted, issued = life.published_s[found], life.inserted[found], ask.issued[asking]
        framed = (ask.start_s[asking] <= published_s) & (published_s < ask.end_s[asking])
        held: Flags = np.where(inserted < issued, life.deleted[found] > issued, ask.cancelled[asking] > inserted)
        return framed & held

    def _match(self, asking: Ints, found: Ints) -> Flags:
        """Whether the query of each subscription finds the object beside it."""
        query = self.subscriptions.query[asking]
        single = self._single_tags[query]
        right = _among(found * self._tags + np.maximum(single, 0), self._tagged) & (single >= 0)
        for number in np.unique(query[single == _NO_TAG]).tolist():
            places = np.flatnonzero(query == number)
            right[places] = np.isin(found[places], self._listed(number))
        return right

    @property
    def _tags(self) -> int:
        return max(1, len(self._codes))

    @cached_property
    def _tagged(self) -> Ints:
        """Each object with each of its tags as one number, sorted."""
        tags = self.objects.tags
        return np.sort(tags.lists * self._tags + tags.codes)

    @cached_property
    def _single_tags(self) -> Ints:
        """The tag of each query that asks for one and nothing else, `_UNUSED` if no object has it; else `_NO_TAG`."""
        return np.array([self._single_tag(query) for query in self.subscriptions.queries], np.int64)

    def _single_tag(self, conjunctions: tuple[Conjunction, ...]) -> int:
        if len(conjunctions) != 1 or len(conjunctions[0].positive) != 1 or conjunctions[0].negative:
            return _NO_TAG
        return self._codes.get(conjunctions[0].positive[0], _UNUSED)

    @cached_property
    def _by_tag(self) -> tuple[Ints, Ints]:
        """The objects of all tags, tag by tag, and where those of each tag begin."""
        tags = self.objects.tags
        order = np.argsort(tags.codes, kind="stable")
        return tags.lists[order], np.searchsorted(tags.codes[order], np.arange(len(self._codes) + 1))

    def _matching(self, query: int) -> Ints:
        """The objects that a query finds."""
        found = [self._conjoined(one) for one in self.subscriptions.queries[query]]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _conjoined(self, conjunction: Conjunction) -> Ints:
        found = np.arange(len(self.objects.inserted))
        for tag in conjunction.positive:
            found = found[np.isin(found, self._with_tag(tag))]
        for tag in conjunction.negative:
            found = found[~np.isin(found, self._with_tag(tag))]
        return found

    def _with_tag(self, tag: str) -> Ints:
        code = self._codes.get(tag)
        objects, starts = self._by_tag
        return np.zeros(0, np.int64) if code is None else objects[starts[code] : starts[code + 1]]

    def _counted(self, asking: Ints, tags: Ints) -> Ints:
        """How many objects with its tag each of these subscriptions sees."""
        ask = self.subscriptions
        issued_s, start_s = ask.issued_s[asking], ask.start_s[asking]
        now, start = self._line.place(issued_s, ask.issued[asking]), self._line.place(start_s)
        cancelled = self._line.place(ask.cancelled_s[asking], ask.cancelled[asking])
        end = np.minimum(self._line.place(ask.end_s[asking]), cancelled)
        inserted, deleted, fleeting = self._lines
        always, later = np.isneginf(start_s), start_s > issued_s
        seen = inserted.count(tags, now)
        past = np.where(
            always,
            seen - deleted.count(tags, now),
            seen - inserted.count(tags, start) - (fleeting.count(tags, now) - fleeting.count(tags, start)),
        )
        future = inserted.count(tags, end) - np.where(later, inserted.count(tags, start), seen)
        total: Ints = np.where(later, 0, past) + np.maximum(0, future)
        return total

    @cached_property
    def _lines(self) -> tuple[_Line, _Line, _Line]:
        """The insertions of each tag, the deletions, and those in the very instant of the insertion."""
        life, tags = self.objects, self.objects.tags
        inserted = self._line.place(life.published_s, life.inserted)
        gone = np.flatnonzero(life.deletion >= 0)
        deleted = np.zeros(len(inserted), np.int64)
        deleted[gone] = self._line.place(life.deleted_s[gone], life.deleted[gone])
        is_gone = (life.deletion >= 0)[tags.lists]
        brief = is_gone & (life.deleted_s == life.published_s)[tags.lists]
        width = self._line.length + 1
        return (
            _Line(tags.codes, inserted[tags.lists], width),
            _Line(tags.codes[is_gone], deleted[tags.lists[is_gone]], width),
            _Line(tags.codes[brief], deleted[tags.lists[brief]], width),
        )


_NO_TAG, _UNUSED = -2, -1


class _TimeLine:
    """The operations of a trace in order: by time, and by their numbers in one instant."""

    def __init__(self, at_s: Floats, operation: Ints) -> None:
        self.length = len(at_s)
        self._instants, instant = np.unique(at_s, return_inverse=True)
        self._width = int(operation.max(initial=0)) + 2
        self._sorted = np.sort(instant * self._width + operation + 1)

    def place(self, at_s: Floats, operation: Ints | None = None) -> Ints:
        """How many operations come before each instant, or before an operation of that instant."""
        instant = np.searchsorted(self._instants, at_s, side="left")
        within = np.zeros(len(instant), np.int64)
        if operation is not None and len(self._instants):
            there = self._instants[np.minimum(instant, len(self._instants) - 1)] == at_s
            within[there] = np.minimum(operation[there] + 1, self._width - 1)
        found: Ints = np.searchsorted(self._sorted, instant * self._width + within, side="left")
        return found


class _Line:
    """What happens to each tag, as numbers that are sorted by tag and then by place in the trace."""

    def __init__(self, tags: Ints, places: Ints, width: int) -> None:
        self._width = width
        self._sorted = np.sort(tags * width + places)

    def count(self, tags: Ints, places: Ints) -> Ints:
        """How much happens to each tag before each place; nothing happens to a tag that no object has."""
        first = np.searchsorted(self._sorted, tags * self._width)
        found: Ints = np.searchsorted(self._sorted, tags * self._width + places) - first
        return np.where(tags >= 0, found, 0)


def _among(values: Ints, ordered: Ints) -> Flags:
    """Whether each value is among the sorted ones."""
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: Flags = ordered[at] == values
    return found
