"""The operations of a trace in order: cut into pieces of neighbouring seconds, each sorted and numbered on its own.

Where pieces begin depends on how many operations each second has and on nothing else, so a trace has the same files
wherever it is made. Between tasks, the rows of a piece travel as whole tables in Arrow's form, which costs Spark
a few large values instead of millions of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thyme.model.operations import TRACE_COLUMNS
from thyme.pipeline.schemas import Columns, arrow_schema

PIECE_ROWS = 250_000
"""A piece has so many operations, and those of the second in which it reaches them."""
PIECE_COLUMNS: Columns = (("piece", "int64"), ("rows", "binary"))
_DEFAULTS: dict[str, Any] = {
    "kind": "insert",
    "oid": "",
    "tags": [],
    "text": "",
    "size_bytes": 0,
    "summary_bytes": 0,
    "sid": -1,
    "query": "",
    "start_s": None,
    "end_s": None,
}
TRACE_SCHEMA = arrow_schema(TRACE_COLUMNS)


class Pieces(msgspec.Struct, frozen=True):
    """The first second of each piece, and how many operations come before it."""

    firsts: tuple[int, ...]
    before: tuple[int, ...]

    def of(self, at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = np.searchsorted(self.firsts, np.floor(at_s), side="right") - 1
        return found

    def split(self, rows: pa.Table) -> pa.Table:
        """The rows in packed tables, one for each piece that has some, in PIECE_COLUMNS."""
        pieces = self.of(rows["at_s"].to_numpy())
        ordered = rows.take(np.argsort(pieces, kind="stable"))
        numbers, counts = np.unique(pieces, return_counts=True)
        starts = np.cumsum(counts) - counts
        packed = [pack(ordered.slice(start, count)).to_pybytes() for start, count in zip(starts, counts, strict=True)]
        return pa.table([numbers, packed], schema=arrow_schema(PIECE_COLUMNS))

    def numbered(self, piece: int, packed: Sequence[pa.Buffer]) -> pa.Table:
        """The rows of a piece in the order of a trace, numbered."""
        return with_numbers(in_order(pa.concat_tables([filled(unpack(one)) for one in packed])), self.before[piece])

    def gathered(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
        """The numbered rows of each piece in batches of PIECE_COLUMNS that hold whole pieces."""
        found: dict[int, list[pa.Buffer]] = {}
        for batch in batches:
            for piece, packed in zip(batch["piece"].to_pylist(), batch["rows"], strict=True):
                found.setdefault(piece, []).append(packed.as_buffer())
        for piece, tables in sorted(found.items()):
            yield piece, self.numbered(piece, tables)


def with_numbers(rows: pa.Table, first: int) -> pa.Table:
    """Rows in the order of a trace, numbered from `first` on."""
    return rows.set_column(0, TRACE_SCHEMA.field(0), pa.array(np.arange(first, first + rows.num_rows)))


def cut(seconds: Sequence[int], rows: Sequence[int]) -> Pieces:
    """Pieces of a trace that has so many rows in each of its seconds."""
    firsts: list[int] = []
    starts: list[int] = []
    before = 0
    for second, count in zip(seconds, rows, strict=True):
        if not starts or before - starts[-1] >= PIECE_ROWS:
            firsts.append(second)
            starts.append(before)
        before += count
    return Pieces(tuple(firsts), tuple(starts))


def filled(rows: pa.Table) -> pa.Table:
    """Rows in the columns of a trace, with what an operation of their kind has in those that they lack."""
    return pa.table([_column(rows, name, type_) for name, type_ in _TYPES.items()], schema=TRACE_SCHEMA)


_TYPES = dict(zip(TRACE_SCHEMA.names, TRACE_SCHEMA.types, strict=True))


def _column(rows: pa.Table, name: str, type_: pa.DataType) -> pa.ChunkedArray | pa.Array:
    if name in rows.column_names:
        return rows[name].cast(type_)
    default = _DEFAULTS.get(name)
    return pa.nulls(rows.num_rows, type_) if default is None else pa.repeat(pa.scalar(default, type_), rows.num_rows)


def other_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Operations that insert nothing, as a table in the columns of a trace."""
    columns = [pa.array([row.get(name, _DEFAULTS.get(name)) for row in rows], type_) for name, type_ in _TYPES.items()]
    return pa.table(columns, schema=TRACE_SCHEMA)


def in_order(rows: pa.Table) -> pa.Table:
    """By time and node; what one node does in one instant, by kind and name."""
    at_s, node = rows["at_s"].to_numpy(), rows["node"].to_numpy()
    order = np.lexsort((node, at_s))
    same = np.flatnonzero((np.diff(at_s[order]) == 0.0) & (np.diff(node[order]) == 0))
    for start, end in _runs(same):
        places = order[start:end]
        keys = rows.select(["kind", "oid", "sid"]).take(places).to_pylist()
        order[start:end] = places[sorted(range(len(keys)), key=lambda at: tuple(_bytes(keys[at]).values()))]
    return rows.take(order)


def _bytes(key: Mapping[str, Any]) -> dict[str, Any]:
    """Texts are compared as Spark and Arrow compare them: by their bytes."""
    return {name: value.encode() if isinstance(value, str) else value for name, value in key.items()}


def _runs(same: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """From where to where there are equal neighbours, given the first of each two."""
    for _, run in groupby(enumerate(same.tolist()), key=lambda pair: pair[1] - pair[0]):
        places = [place for _, place in run]
        yield places[0], places[-1] + 2


def pack(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def unpack(packed: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(packed).read_all()
