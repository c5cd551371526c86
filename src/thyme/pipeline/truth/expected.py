"""The ground truth: what a perfect, instant execution of a trace would notify (Thyme FGCS §9.2).

A trace is one group of rows, counted by an Arrow function inside Spark (`expected_notifications`). A subscription to
one tag is counted without listing its matches: the insertions and deletions of each tag are sorted, so the number of
them before a given time is an index. Other subscriptions are compared with the objects that their queries match.
Written separately from the matching index of the protocols; a test compares the two.

With churn, less is asked than the trace has: users of devices that are off ask for nothing. The truth of such a run is
that of the operations that its log shows as issued (`issued_operations`). A node that left for good, and lost what it
stored, wants nothing from then on: its subscriptions end there. One that was only switched off keeps them.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from thyme.model.normal_forms import Conjunction
from thyme.pipeline.coded_tags import Ints, as_numpy
from thyme.pipeline.schemas import EXPECTED, EXPECTED_COLUMNS, arrow_schema
from thyme.pipeline.spark.arrow import map_groups
from thyme.pipeline.truth.lifetimes import Flags, Floats, Objects, Subscriptions, of_kind, places_among, with_expiries

COLUMNS = ("operation", "at_s", "node", "kind", "oid", "tags", "sid", "query", "start_s", "end_s")
"""What the truth needs of a trace."""
CRASHED = "crashed"


def expected_notifications(traces: DataFrame) -> DataFrame:
    """⟨trace, subscription, expected⟩: the number of objects to notify each subscription of. The column `trace` of
    `traces` says which trace an operation belongs to."""
    return map_groups(traces.select("trace", *COLUMNS), ["trace"], _count_expected, EXPECTED)


def _count_expected(trace: pa.Table) -> pa.Table:
    truth = Truth(trace)
    keys = truth.subscriptions.keys
    columns = [pa.repeat(trace["trace"][0], len(keys)), keys, truth.counts()]
    return pa.table(columns, schema=arrow_schema(EXPECTED_COLUMNS))


class Truth:
    """What a perfect, instant execution of a trace would notify."""

    def __init__(self, trace: pa.Table) -> None:
        trace = with_expiries(trace)
        self._line = _TimeLine(as_numpy(trace["at_s"]), as_numpy(trace["operation"]))
        self.objects = Objects(trace)
        self.subscriptions = Subscriptions(trace)
        names = self.objects.tags.names.to_pylist()
        self._codes = {name: code for code, name in enumerate(names)}
        self._listed = cache(self._matching)

    def counts(self) -> Ints:
        """The number of objects to notify each subscription of."""
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
        """Whether a perfect execution would notify each subscription of the object beside it, if its tags match.

        The time frame has to include the publication. An object that was inserted before the subscription must not
        have been deleted by then; one that was inserted later must come before the unsubscription.
        """
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


def issued_operations(trace: pa.Table, events: pa.Table) -> pa.Table:
    """The operations of a trace that a run issued, and an unsubscribe for each subscription that a crash ended."""
    issued = events.filter(pc.equal(events["kind"], "issued"))["operation"]
    asked = trace.filter(pa.array(np.isin(as_numpy(trace["operation"]), as_numpy(issued))))
    ended = _ended_by_crashes(asked, events)
    return pa.concat_tables([asked, pa.Table.from_pylist(ended, trace.schema)]) if ended else asked


def _ended_by_crashes(asked: pa.Table, events: pa.Table) -> list[dict[str, Any]]:
    """An unsubscribe, at the time of its node's crash, for each subscription that was still active then."""
    left = events.filter(pc.and_(pc.equal(events["kind"], "left"), pc.equal(events["reason"], CRASHED)))
    rows = left.group_by("node").aggregate([("at_s", "max")]).to_pylist()
    crashed = {row["node"]: row["at_s_max"] for row in rows}
    if not crashed:
        return []
    revoked = {(row["node"], row["sid"]) for row in of_kind(asked, "unsubscribe").to_pylist()}
    ended = [
        {**row, "at_s": crashed[row["node"]], "kind": "unsubscribe", "query": "", "start_s": None, "end_s": None}
        for row in of_kind(asked, "subscribe").to_pylist()
        if (row["node"], row["sid"]) not in revoked and row["at_s"] <= crashed.get(row["node"], -np.inf)
    ]
    # Numbers order a trace: the end takes the number after the last operation before the crash.
    at_s, operation = as_numpy(asked["at_s"]), as_numpy(asked["operation"])
    numbers = {when_s: int(operation[at_s <= when_s].max()) + 1 for when_s in {row["at_s"] for row in ended}}
    return [{**row, "operation": numbers[row["at_s"]]} for row in ended]
