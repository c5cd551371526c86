"""The events of one run, and the sums and values that its metrics are computed from.

Sums are of whole numbers (frames, bytes, nanoseconds, nanojoules), so a metric does not depend on the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from math import fsum
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.records import TrafficKind
from thyme.pipeline.coded_tags import Ints, as_numpy
from thyme.pipeline.truth.expected import Truth

Figures = Iterator[tuple[str, float | None]]
"""Metrics by name; None where there is nothing to compute one from."""
Floats = npt.NDArray[np.float64]

KINDS = (
    *map(str, TrafficKind),
    *("issued", "succeeded", "failed", "notified", "joined", "left", "moved", "energy", "stored", "sampled"),
)
"""The kinds of events that metrics are computed from."""
COLUMNS = (
    *("kind", "name", "subscription", "object", "node", "count", "size_bytes", "value", "at_s", "operation", "reason"),
)
"""The columns of events that metrics are computed from."""
_NANO = 10**9
_NANO_DIGIT = Decimal("0.000000001")
_LOW_BITS = 20
_MOST = 2**63 // _NANO
"""Values below this are counted in nanos, as whole numbers of 64 bits."""


class NotifiedCounts(msgspec.Struct, frozen=True):
    """What a run notified: distinct pairs of subscription and object, all notifications, and how many of the distinct
    pairs are correct. `expected` is what a perfect execution notifies, None if nobody subscribed; `known` is False if
    there is no truth to compare with."""

    distinct: int
    total: int
    correct: int = 0
    expected: int | None = None
    known: bool = False


class RunEvents:
    """The events of a run; `nodes` is 0 if their number is not known."""

    def __init__(self, events: pa.Table, nodes: int, truth: Truth | None = None, expected: int | None = None) -> None:
        self.nodes = nodes
        self._events = events
        self._kinds, kinds = _codes(events["kind"])
        self._names, self._name = _codes(events["name"])
        self._order = np.argsort(kinds, kind="stable")
        self._starts = np.searchsorted(kinds[self._order], np.arange(len(self._kinds) + 1))
        self.notifications = self._notifications(truth, expected)

    @property
    def any(self) -> bool:
        """Whether the run has events that metrics are computed from."""
        return any(kind in self._kinds for kind in KINDS)

    def rows(self, kind: str, name: str | None = None) -> Ints:
        """The indices of the events of a kind, and of one name if given."""
        if kind not in self._kinds:
            return np.zeros(0, np.int64)
        place = self._kinds.index(kind)
        found = self._order[self._starts[place] : self._starts[place + 1]]
        if name is None:
            return found
        return found[self._name[found] == self._names.index(name)] if name in self._names else found[:0]

    def count(self, kind: str, name: str | None = None) -> int:
        return len(self.rows(kind, name))

    def total(self, kind: str, column: str, name: str | None = None) -> int:
        """The sum of a column over a kind of event; 0 without any."""
        return int(pc.sum(self._column(column, self.rows(kind, name))).as_py() or 0)

    def most(self, kind: str, column: str) -> int | None:
        found: int | None = pc.max(self._column(column, self.rows(kind))).as_py()
        return found

    def exact(self, kind: str) -> Decimal | None:
        """The sum of the values of a kind, to the nano; None without any."""
        values = self._column("value", self.rows(kind)).drop_null().to_pylist()
        return sum(map(_exact, values), Decimal(0)) if values else None

    def names(self, *kinds: str) -> list[str]:
        """The names that occur among these kinds, in order."""
        return sorted({self._names[code] for kind in kinds for code in np.unique(self._name[self.rows(kind)])})

    def values(self, kind: str, name: str | None = None) -> Floats:
        """The values of a kind, sorted."""
        found: Floats = np.sort(self._column("value", self.rows(kind, name)).drop_null().to_numpy())
        return found

    def by_node(self, kind: str, column: str, name: str | None = None) -> list[Any]:
        """The sum of a column for each node, in order of nodes; of the column `value`, exactly."""
        rows = self.rows(kind, name)
        nodes, values = self._column("node", rows).to_pylist(), self._column(column, rows).to_pylist()
        sums: dict[int, Any] = {}
        for node, value in zip(nodes, values, strict=True):
            added = 0 if value is None else _exact(value) if column == "value" else value
            sums[node] = sums.get(node, 0) + added
        return [sums[node] for node in sorted(sums)]

    def last(self, kind: str, name: str) -> float:
        """The latest value of a kind and name."""
        rows = self._events.select(["at_s", "node", "value"]).take(pa.array(self.rows(kind, name)))
        order = [(column, "descending") for column in ("at_s", "node", "value")]
        found: float = rows.sort_by(order)["value"][0].as_py()
        return found

    def _column(self, name: str, rows: Ints) -> pa.ChunkedArray:
        return self._events[name].take(pa.array(rows))

    def _notifications(self, truth: Truth | None, expected: int | None) -> NotifiedCounts:
        told = self.rows("notified")
        subscriptions, subscription = _codes(self._column("subscription", told))
        objects, object_ = _codes(self._column("object", told))
        width = max(1, len(objects))
        pairs = np.unique(subscription * width + object_)
        if truth is None:
            return NotifiedCounts(len(pairs), len(told))
        asking = truth.asking(pa.array(subscriptions, pa.string()))[pairs // width]
        found = truth.found(pa.array(objects, pa.string()))[pairs % width]
        return NotifiedCounts(len(pairs), len(told), int(truth.judge(asking, found).sum()), expected, True)


def _codes(values: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct values of a column, and the index of each row's value among them; null counts as empty."""
    array = pc.fill_null(values, "").dictionary_encode()
    coded = array.unify_dictionaries().combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return coded.dictionary.to_pylist(), as_numpy(coded.indices).astype(np.int64)


def _exact(value: float) -> Decimal:
    return Decimal(repr(value)).quantize(_NANO_DIGIT, ROUND_HALF_UP)


def exact_mean(values: Floats) -> float | None:
    """The mean of values to the nano, in any order; of very large ones, as near as a float gets."""
    if not len(values):
        return None
    if np.abs(values).max() >= _MOST:
        return fsum(values.tolist()) / len(values)
    nanos = np.rint(values * _NANO).astype(np.int64)
    high, low = int((nanos >> _LOW_BITS).sum()), int((nanos & ((1 << _LOW_BITS) - 1)).sum())
    return ((high << _LOW_BITS) + low) / _NANO / len(values)


def spread(values: Floats, name: str) -> Figures:
    """Mean, median, 95 % quantile and maximum of sorted values, named `<name>.mean` and so on."""
    yield f"{name}.mean", exact_mean(values)
    yield f"{name}.p50", quantile(values, 0.5)
    yield f"{name}.p95", quantile(values, 0.95)
    yield f"{name}.max", float(values[-1]) if len(values) else None


def quantile(values: Floats, share: float) -> float | None:
    """Of sorted values; between two of them, in proportion."""
    if not len(values):
        return None
    place = (len(values) - 1) * share
    low, high = int(np.floor(place)), int(np.ceil(place))
    if low == high or values[low] == values[high]:
        return float(values[low])
    return float((high - place) * values[low] + (place - low) * values[high])
