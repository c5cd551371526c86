"""When objects and subscriptions of a trace exist, as columns of numbers.

Times order a trace; operation numbers order what happens at the same time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.normal_forms import Conjunction
from thyme.model.queries import parse_query
from thyme.pipeline.coded_tags import Ints, as_array, as_numpy, coded_tags

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_NEVER = np.iinfo(np.int64).max
"""The operation number of a deletion or unsubscription that never happens."""


def key_of(names: pa.ChunkedArray, nodes: pa.ChunkedArray) -> pa.Array:
    """An object's or a subscription's key, spelled as in the log."""
    return as_array(pc.binary_join_element_wise(names.cast(pa.string()), nodes.cast(pa.string()), "@"))


class Objects:
    """The objects of a trace; `inserted` and `deleted` are operation numbers."""

    def __init__(self, trace: pa.Table) -> None:
        rows, deletes = of_kind(trace, "insert"), of_kind(trace, "delete")
        self.keys = key_of(rows["oid"], rows["node"])
        self.inserted: Ints = as_numpy(rows["operation"])
        self.published_s: Floats = as_numpy(rows["at_s"])
        self.deleted, self.deletion = _ends(self.keys, key_of(deletes["oid"], deletes["node"]), deletes)
        self.deleted_s: Floats = _taken(as_numpy(deletes["at_s"]), self.deletion)
        self.tags = coded_tags(rows["tags"])


class Subscriptions:
    """The subscriptions of a trace, and their distinct queries."""

    def __init__(self, trace: pa.Table) -> None:
        rows, cancels = of_kind(trace, "subscribe"), of_kind(trace, "unsubscribe")
        self.keys = key_of(rows["sid"], rows["node"])
        self.issued: Ints = as_numpy(rows["operation"])
        self.issued_s: Floats = as_numpy(rows["at_s"])
        self.start_s: Floats = as_numpy(pc.fill_null(rows["start_s"], -np.inf))
        self.end_s: Floats = as_numpy(pc.fill_null(rows["end_s"], np.inf))
        self.cancelled, cancel = _ends(self.keys, key_of(cancels["sid"], cancels["node"]), cancels)
        self.cancelled_s: Floats = np.where(cancel < 0, np.inf, _taken(as_numpy(cancels["at_s"]), cancel))
        coded = as_array(rows["query"]).dictionary_encode()
        self.queries: list[tuple[Conjunction, ...]] = [parse_query(text).dnf() for text in coded.dictionary.to_pylist()]
        self.query: Ints = as_numpy(coded.indices).astype(np.int64)

    def countable(self) -> Flags:
        """Whether a frame is open at its start or starts no earlier than its subscription, and ends after it."""
        open_start = np.isneginf(self.start_s)
        return (open_start | (self.start_s >= self.issued_s)) & (self.end_s > self.issued_s)


def with_expiries(trace: pa.Table) -> pa.Table:
    """An object that expires is as good as deleted then, unless it was deleted before."""
    inserts, deletes = of_kind(trace, "insert"), of_kind(trace, "delete")
    ending = inserts.filter(pc.is_valid(inserts["end_s"]))
    if not len(ending):
        return trace
    gone = places_among(key_of(ending["oid"], ending["node"]), key_of(deletes["oid"], deletes["node"]))
    deleted_s = np.where(gone < 0, np.inf, _taken(as_numpy(deletes["at_s"]), gone))
    ends_s: Floats = np.nextafter(as_numpy(ending["end_s"]), -np.inf)  # who asks in that instant does not find it
    at_s, operation = as_numpy(trace["at_s"]), as_numpy(trace["operation"])
    # Numbers order a trace: the end takes the number after the last operation before it.
    rows = [
        {**row, "kind": "delete", "at_s": end_s, "operation": int(operation[at_s < end_s].max()) + 1}
        for row, end_s, sooner in zip(ending.to_pylist(), ends_s.tolist(), (ends_s < deleted_s).tolist(), strict=True)
        if sooner
    ]
    return pa.concat_tables([pa.Table.from_pylist(rows, trace.schema), trace])


def of_kind(trace: pa.Table, kind: str) -> pa.Table:
    """The operations of one kind."""
    return trace.filter(pc.equal(trace["kind"], kind))


def _ends(keys: pa.Array, ended: pa.Array, rows: pa.Table) -> tuple[Ints, Ints]:
    """For each key the number of the operation that ended it, and the place of that operation in `rows`, or -1."""
    place = places_among(keys, ended)
    return np.where(place < 0, _NEVER, _taken(as_numpy(rows["operation"]), place)), place


def places_among(keys: pa.Array, among: pa.Array) -> Ints:
    """Where each key is among others; -1 if it is not there."""
    found: Ints = as_numpy(pc.fill_null(pc.index_in(keys, value_set=among), -1)).astype(np.int64)
    return found


def _taken(values: npt.NDArray[Any], places: Ints) -> npt.NDArray[Any]:
    """The values at these indices; undefined where the index is -1."""
    return values[np.maximum(places, 0)] if len(values) else np.zeros(len(places), values.dtype)
