"""The sums of one run, as those who make figures of them ask for them.

What is added are whole numbers (of frames, bytes, nanoseconds, nanojoules), so every figure comes out the same however
the rows were split.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Figures = Iterator[tuple[str, float | None]]
Floats = npt.NDArray[np.float64]

PAIRS, WANTED, NODES = "~ pairs", "~ wanted", "~ nodes"
"""Rows that are no events: distinct notified pairs (`rows`), tellings (`count`) and correct ones (`size_bytes`);
expected ones (`count`); nodes (`count`)."""
_NANO = 10**9
_LOW_BITS = 20
_MOST = 2**63 // _NANO
"""Values below this are counted in nanos, as whole numbers of 64 bits."""


class RunSums:
    """The rows of `metrics.sums` of one run."""

    def __init__(self, table: pa.Table) -> None:
        self.run: str = table["run"][0].as_py()
        self._table = table
        self.kinds = frozenset(pc.unique(table["kind"]).to_pylist())
        self.has_events = any(not kind.startswith("~") for kind in self.kinds)

    def of(self, kind: str, name: str | None = None) -> pa.Table:
        """The sums of a kind, and of one name if given; the gathered values are apart."""
        wanted = pc.and_(pc.equal(self._table["kind"], kind), pc.is_null(self._table["values"]))
        if name is not None:
            wanted = pc.and_(wanted, pc.equal(self._table["name"], name))
        return self._table.filter(wanted)

    def total(self, kind: str, column: str, name: str | None = None) -> int:
        """The sum of a column over a kind; 0 where there is none of it."""
        if kind not in self.kinds:
            return 0
        return int(pc.sum(self.of(kind, name)[column]).as_py() or 0)

    def exact(self, kind: str) -> Decimal | None:
        """The sum of a kind's values."""
        if kind not in self.kinds:
            return None
        found: Decimal | None = pc.sum(self.of(kind)["total"]).as_py()
        return found

    def names(self, *kinds: str) -> list[str]:
        """The names that occur among these kinds, in order."""
        found = self._table.filter(pc.is_in(self._table["kind"], pa.array(kinds, pa.string())))["name"]
        return sorted(pc.unique(found).to_pylist())

    def values(self, kind: str, name: str | None = None) -> Floats:
        """The values of a kind, sorted."""
        if kind not in self.kinds:
            return np.empty(0)
        wanted = pc.and_(pc.equal(self._table["kind"], kind), pc.is_valid(self._table["values"]))
        if name is not None:
            wanted = pc.and_(wanted, pc.equal(self._table["name"], name))
        found: Floats = np.sort(pc.list_flatten(self._table.filter(wanted)["values"]).to_numpy())
        return found

    def by_node(self, kind: str, column: str, name: str | None = None) -> list[Any]:
        """The sum of a column for each node, in order of nodes."""
        if kind not in self.kinds:
            return []
        grouped = self.of(kind, name).group_by("node").aggregate([(column, "sum")])
        found: list[Any] = grouped.sort_by("node")[f"{column}_sum"].to_pylist()
        return found

    def last(self, kind: str, name: str) -> float:
        rows = self._table.filter(pc.and_(pc.equal(self._table["kind"], kind), pc.equal(self._table["name"], name)))
        found: float = pc.max(rows["last"]).as_py()
        return found


def exact_mean(values: Floats) -> float | None:
    """The mean of values to the nano, however they are ordered; of very large ones, as near as a float gets."""
    if not len(values):
        return None
    if np.abs(values).max() >= _MOST:
        return fsum(values.tolist()) / len(values)
    nanos = np.rint(values * _NANO).astype(np.int64)
    high, low = int((nanos >> _LOW_BITS).sum()), int((nanos & ((1 << _LOW_BITS) - 1)).sum())
    return ((high << _LOW_BITS) + low) / _NANO / len(values)


def spread(values: Floats, name: str) -> Figures:
    """Mean, median, 95 % quantile and largest of sorted values, named `<name>.mean` and so on."""
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
