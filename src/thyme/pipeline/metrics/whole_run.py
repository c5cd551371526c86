"""The sums of a run whose events are one table: the same rows as `sums` has, for what fits into one process."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thyme.pipeline.coded_tags import Ints, as_numpy
from thyme.pipeline.metrics.sums import BY_NODE, GATHERED, NAMED, USED, VALUED
from thyme.pipeline.metrics.tallies import NODES, PAIRS, WANTED
from thyme.pipeline.truth.whole import WholeTruth

CODED = ("kind", "name", "subscription", "object")
"""Columns that are read as numbers of the few values that they have."""
COLUMNS = (*CODED, "node", "count", "size_bytes", "value", "at_s", "operation", "reason")
"""What metrics need of events."""
_NANO = Decimal("0.000000001")
_TALL = pa.schema(
    [
        ("run", pa.string()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("node", pa.int64()),
        ("rows", pa.int64()),
        ("count", pa.int64()),
        ("most", pa.int64()),
        ("size_bytes", pa.int64()),
        ("total", pa.decimal128(38, 9)),
        ("values", pa.list_(pa.float64())),
        ("last", pa.float64()),
    ]
)
_NO_VALUES = pa.array([], pa.float64())
Row = dict[str, Any]


class Truth(msgspec.Struct, frozen=True):
    """What a run should have notified: the truth of its trace, and how many notifications it holds; None if nobody
    asked for anything."""

    whole: WholeTruth
    wanted: int | None


def truth_of(trace: pa.Table) -> Truth:
    whole = WholeTruth(trace)
    counts = whole.counts()
    return Truth(whole, int(counts.sum()) if len(counts) else None)


def sum_run(events: pa.Table, run: str, nodes: int | None = None, truth: Truth | None = None) -> pa.Table:
    """The sums of one run's events, in the columns of `sums.COLUMNS`."""
    coded = _Coded(events)
    rows = [*_sums(coded), *_gathered(coded), *_pairs(coded, truth), {"kind": NODES, "count": nodes}]
    if truth is not None:
        rows.append({"kind": WANTED, "count": truth.wanted})
    plain = pa.Table.from_pylist([{**row, "run": run, "values": None} for row in rows], _TALL)
    return plain.set_column(plain.column_names.index("values"), _TALL.field("values"), _lists(rows))


def _lists(rows: list[Row]) -> pa.ListArray:
    """The values of each row that has some."""
    arrays = [row.get("values", _NO_VALUES) for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(array) for array in arrays])]).astype(np.int32)
    without = pa.array(["values" not in row for row in rows])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.concat_arrays(arrays), mask=without)


class _Coded:
    """Events whose kinds and names are numbers."""

    def __init__(self, events: pa.Table) -> None:
        self.events = events
        self.kinds, self.kind = _codes(events["kind"])
        self.names, self.name = _codes(events["name"])

    def of(self, *kinds: str) -> Any:
        """Which events are of these kinds."""
        return np.isin(self.kind, [place for place, kind in enumerate(self.kinds) if kind in kinds])

    def column(self, name: str, which: Any) -> pa.ChunkedArray:
        return self.events[name].filter(pa.array(which))


def _codes(values: pa.ChunkedArray) -> tuple[list[Any], Ints]:
    """The distinct values of a column, and which each row has; -1 for none."""
    whole = values.unify_dictionaries() if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    array = whole.combine_chunks()
    return array.dictionary.to_pylist(), as_numpy(pc.fill_null(array.indices, -1)).astype(np.int64)


def _sums(coded: _Coded) -> Iterator[Row]:
    used = coded.of(*USED)
    kind = coded.kind[used]
    table = pa.table(
        {
            "kind": kind,
            "name": np.where(coded.of(*NAMED)[used], coded.name[used], -1),
            "node": np.where(coded.of(*BY_NODE)[used], as_numpy(coded.column("node", used)), -1),
            "count": coded.column("count", used),
            "size_bytes": coded.column("size_bytes", used),
        }
    )
    asked = [([], "count_all"), ("count", "sum"), ("count", "max"), ("size_bytes", "sum")]
    totals = _totals(coded)
    for row in table.group_by(["kind", "name", "node"]).aggregate(asked).to_pylist():
        yield {
            "kind": coded.kinds[row["kind"]],
            "name": coded.names[row["name"]] if row["name"] >= 0 else "",
            "node": row["node"],
            "rows": row["count_all"],
            "count": row["count_sum"],
            "most": row["count_max"],
            "size_bytes": row["size_bytes_sum"],
            "total": totals.get((row["kind"], row["name"], row["node"])),
        }


def _totals(coded: _Coded) -> dict[tuple[int, int, int], Decimal]:
    """The values of the kinds that are added up, to the nano."""
    valued = coded.of(*VALUED)
    named, by_node = coded.of(*NAMED)[valued], coded.of(*BY_NODE)[valued]
    names = np.where(named, coded.name[valued], -1).tolist()
    nodes = np.where(by_node, as_numpy(coded.column("node", valued)), -1).tolist()
    values = coded.column("value", valued).to_pylist()
    totals: dict[tuple[int, int, int], Decimal] = {}
    for key, value in zip(zip(coded.kind[valued].tolist(), names, nodes, strict=True), values, strict=True):
        if value is not None:
            exact = Decimal(repr(value)).quantize(_NANO, ROUND_HALF_UP)
            totals[key] = totals.get(key, Decimal(0)) + exact
    return totals


def _gathered(coded: _Coded) -> Iterator[Row]:
    """The values of each kind and name; of samples, the last one too."""
    kept = np.flatnonzero(coded.of(*GATHERED))
    keys = coded.kind[kept] * (len(coded.names) + 1) + coded.name[kept] + 1
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    ends = np.append(starts, len(kept))[1:]
    for key, start, end in zip(found.tolist(), starts.tolist(), ends.tolist(), strict=True):
        places = kept[order[start:end]]
        kind, name = coded.kinds[key // (len(coded.names) + 1)], key % (len(coded.names) + 1) - 1
        values = coded.events["value"].take(pa.array(places))
        row = {
            "kind": kind,
            "name": coded.names[name] if name >= 0 else None,
            "values": values.drop_null().combine_chunks(),
        }
        if kind == "sampled":
            samples = coded.events.select(["at_s", "node", "value"]).take(pa.array(places))
            order_by = [("at_s", "descending"), ("node", "descending"), ("value", "descending")]
            row["last"] = samples.sort_by(order_by)["value"][0].as_py()
        yield row


def _pairs(coded: _Coded, truth: Truth | None) -> Iterator[Row]:
    """Distinct notified pairs, and how many of them belong to the truth."""
    told = coded.of("notified")
    if not told.any():
        return
    asking, subscription = _codes(coded.column("subscription", told))
    found, object_ = _codes(coded.column("object", told))
    width = len(found) + 1
    pairs = np.unique((subscription + 1) * width + object_ + 1)
    row: Row = {"kind": PAIRS, "rows": len(pairs), "count": int(told.sum())}
    if truth is not None:
        whole = truth.whole
        of_asking = np.append(-1, whole.asking(pa.array(asking, pa.string())))
        of_found = np.append(-1, whole.found(pa.array(found, pa.string())))
        row["size_bytes"] = int(whole.judge(of_asking[pairs // width], of_found[pairs % width]).sum())
    yield row
