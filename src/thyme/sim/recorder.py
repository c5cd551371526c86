"""The recorder: what happened in a run, collected as columns.

Strings are kept once and referred to by number, numbers in typed arrays, so a row costs some dozens of bytes and no
dictionary. Traffic (`Counted`) is summed per node, kind, name and reason and becomes rows when the table is made.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pyarrow as pa

from thyme.model.records import EVENT_COLUMNS, Counted, LogRecord, Row

MAX_ROWS = 50_000_000
"""More rows than this in one run means that something records in a loop."""

_TYPES = {"float64": pa.float64(), "int64": pa.int64(), "string": pa.string()}
EVENT_SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in EVENT_COLUMNS])
_STRINGS = ("kind", "name", "object", "subscription", "reason")
_INTS = ("node", "operation", "peer", "count", "size_bytes")
_FLOATS = ("at_s", "value")


class TrafficTally:
    """Counts and bytes by node. Code that counts every frame may write to the columns directly, within their length."""

    __slots__ = ("counts", "sizes")

    def __init__(self) -> None:
        self.counts = array("q")
        self.sizes = array("q")

    def make_room(self, nodes: int) -> None:
        more = bytes(8 * max(0, nodes - len(self.counts)))
        self.counts.frombytes(more)
        self.sizes.frombytes(more)

    def add(self, node: int, count: int, size_bytes: int) -> None:
        if node >= len(self.counts):
            self.make_room(node + 1)
        self.counts[node] += count
        self.sizes[node] += size_bytes

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Node, count and bytes, of all nodes with a count."""
        for node, (count, size_bytes) in enumerate(zip(self.counts, self.sizes, strict=True)):
            if count:
                yield node, count, size_bytes


class Recorder:
    """Collects log records in order."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._strings = {name: array("i") for name in _STRINGS}
        self._ints = {name: array("q") for name in _INTS}
        self._floats = {name: array("d") for name in _FLOATS}
        self._traffic: dict[tuple[str, str, str], TrafficTally] = {}

    def __len__(self) -> int:
        return len(self._floats["at_s"])

    def record(self, at_s: float, node: int, event: LogRecord) -> None:
        if type(event) is Counted:
            self.count(node, event.traffic, event.name, event.count, event.size_bytes, event.reason)
        else:
            self._append(at_s, node, event.row())

    def count(self, node: int, traffic: str, name: str, count: int, size_bytes: int, reason: str = "") -> None:
        self.tally(traffic, name, reason).add(node, count, size_bytes)

    def tally(self, traffic: str, name: str, reason: str = "") -> TrafficTally:
        """The sums of one kind of traffic, for callers that count often; valid until `table` is called."""
        tally = self._traffic.get((traffic, name, reason))
        if tally is None:
            tally = self._traffic[(traffic, name, reason)] = TrafficTally()
        return tally

    def table(self, end_s: float) -> pa.Table:
        """Everything recorded, as an Arrow table with `EVENT_SCHEMA`. Traffic rows carry the end of the run."""
        rows = (
            (node, kind, count, size) for kind, tally in self._traffic.items() for node, count, size in tally.rows()
        )
        for node, (traffic, name, reason), count, size_bytes in sorted(rows):
            row = Row(traffic, name=name, count=count, size_bytes=size_bytes, reason=reason)
            self._append(end_s, node, row)
        self._traffic.clear()
        texts = _text_column(list(self._texts))
        columns = {name: texts.take(_column(codes, pa.int32())) for name, codes in self._strings.items()}
        columns |= {name: _column(values, pa.int64()) for name, values in self._ints.items()}
        columns |= {name: _column(values, pa.float64()) for name, values in self._floats.items()}
        return pa.table([columns[name] for name in EVENT_SCHEMA.names], schema=EVENT_SCHEMA)

    def _append(self, at_s: float, node: int, row: Row) -> None:
        if len(self) >= MAX_ROWS:
            raise RuntimeError(f"a run recorded more than {MAX_ROWS} events")
        ints, floats = self._ints, self._floats
        floats["at_s"].append(at_s)
        floats["value"].append(row.value)
        ints["node"].append(node)
        ints["operation"].append(row.operation)
        ints["peer"].append(row.peer)
        ints["count"].append(row.count)
        ints["size_bytes"].append(row.size_bytes)
        strings = self._strings
        strings["kind"].append(self._code(row.kind))
        strings["name"].append(self._code(row.name))
        strings["object"].append(self._code(row.object))
        strings["subscription"].append(self._code(row.subscription))
        strings["reason"].append(self._code(row.reason))

    def _code(self, text: str) -> int:
        code = self._texts.get(text)
        if code is None:
            code = self._texts[str(text)] = len(self._texts)
        return code


def _column(values: array[Any], kind: pa.DataType) -> pa.Array:
    """A copy of an array as a column, made of its memory: `pyarrow.array` would import pandas."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values.tobytes())])


def _text_column(texts: list[str]) -> pa.Array:
    encoded = [text.encode() for text in texts]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded)))
