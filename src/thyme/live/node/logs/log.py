"""Event logs of live nodes: the records of the simulator as lines of JSON, with the columns of `EVENT_COLUMNS`.

A file log appends one line per row, unbuffered, so a node that is killed loses at most a torn last line. Traffic is
too frequent for a line each: it is summed and written every ten seconds and at the end; readers add the rows up. A log
named `.parquet` is written as JSON lines beside it while the node runs, and becomes one Parquet file when it ends.
Arrow, which is large, is imported when a log is turned into a table, not by a node that runs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from thyme.extras import require
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import EVENT_COLUMNS, Counted, LoggedAt, LogRecord, Row

if TYPE_CHECKING:
    import pyarrow as pa

MAX_TRAFFIC_SUMS = 5_000
"""Sums kept apart before they are given: reasons may quote what a peer sent, so their number is not ours to say."""
TRAFFIC_EVERY_S = 10.0

_encoder = msgspec.json.Encoder()


class Traffic:
    """Traffic summed per node, kind, name and reason."""

    def __init__(self) -> None:
        self._sums: dict[tuple[NodeId, str, str, str], list[int]] = {}

    def __len__(self) -> int:
        return len(self._sums)

    def add(self, node: NodeId, event: Counted) -> None:
        total = self._sums.setdefault((node, event.traffic.value, event.name, event.reason), [0, 0])
        total[0] += event.count
        total[1] += event.size_bytes

    def take(self, at_s: float) -> list[LoggedAt]:
        rows = [
            LoggedAt(at_s, node, Row(traffic, name=name, count=count, size_bytes=size, reason=reason))
            for (node, traffic, name, reason), (count, size) in sorted(self._sums.items())
        ]
        self._sums.clear()
        return rows


class EventLines:
    """Turns records into lines, each with its end."""

    def __init__(self) -> None:
        self._traffic = Traffic()
        self._traffic_due_s = 0.0

    def add(self, at_s: float, node: NodeId, event: LogRecord) -> list[bytes]:
        """The lines that are due with this record: its own, or sums of traffic, or none yet."""
        if not isinstance(event, Counted):
            return [_line(LoggedAt(at_s, node, event.row()))]
        self._traffic.add(node, event)
        self._traffic_due_s = self._traffic_due_s or at_s + TRAFFIC_EVERY_S
        if at_s < self._traffic_due_s and len(self._traffic) < MAX_TRAFFIC_SUMS:
            return []
        return self.rest(at_s)

    def rest(self, at_s: float) -> list[bytes]:
        """What has been summed and not given yet."""
        self._traffic_due_s = 0.0
        return [_line(row) for row in self._traffic.take(at_s)]


def columns(row: LoggedAt) -> dict[str, Any]:
    return {"at_s": row.at_s, "node": row.node, **msgspec.structs.asdict(row.row)}


def _line(row: LoggedAt) -> bytes:
    return _encoder.encode(columns(row)) + b"\n"


logger = logging.getLogger("thyme.live")

LINE_BYTES = 4_096
"""How much of a log's end is looked at, at a time, for the end of its last whole line."""


class Log(Protocol):
    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None: ...
    def close(self, at_s: float) -> None: ...


class FileLog:
    """Writes `….jsonl`, or `….parquet` by way of `….parquet.jsonl`. A disk that fails ends the log, not the node."""

    def __init__(self, path: Path) -> None:
        if path.suffix not in (".jsonl", ".parquet"):
            raise InputError(f"log {path}: expected a name that ends in .jsonl or .parquet")
        if path.suffix == ".parquet":
            require("study", f"log {path}: a Parquet file (.jsonl does not)")
        if path.suffix == ".parquet" and path.exists():
            raise InputError(f"log {path} exists already; choose another name or move it away")
        self._path = path
        self._lines = path if path.suffix == ".jsonl" else path.with_name(path.name + ".jsonl")
        self._events = EventLines()
        self.failure = ""
        try:
            self._file = self._lines.open("ab", buffering=0)
            _cut_torn_line(self._lines)
        except OSError as error:
            raise InputError(f"log {path}: cannot be written: {error.strerror or error}") from error

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        self._write(self._events.add(at_s, node, event))

    def close(self, at_s: float) -> None:
        self._write(self._events.rest(at_s))
        self._file.close()
        if self._path == self._lines or self.failure:
            return
        import pyarrow.parquet as pq

        try:
            pq.write_table(read_log(self._lines), self._path)
            self._lines.unlink()
        except OSError as error:
            self._fail(error)

    def _write(self, lines: list[bytes]) -> None:
        if self.failure or not lines:
            return
        try:
            self._file.write(b"".join(lines))
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = f"log {self._path} ended: {error.strerror or error}; what was written is in {self._lines}"
        logger.warning(self.failure)


class SeveralLogs:
    """One log that is several: each gets every record."""

    def __init__(self, *logs: Log) -> None:
        self._logs = logs

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        for log in self._logs:
            log.record(at_s, node, event)

    def close(self, at_s: float) -> None:
        for log in self._logs:
            log.close(at_s)


class NoLog:
    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        """Drops all records."""

    def close(self, at_s: float) -> None:
        """Nothing was opened."""


def read_log(path: Path) -> pa.Table:
    """The events of a log, of either kind, with the columns of `EVENT_COLUMNS`."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path, schema=_schema())
    rows = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break  # torn by a kill; the next start cuts it off
            try:
                rows.append(msgspec.json.decode(line, type=dict[str, Any]))
            except msgspec.MsgspecError as error:
                raise InputError(f"{path}, line {number}: not an event: {error}") from error
    return _table(rows)


def _table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=_schema())


def _schema() -> pa.Schema:
    import pyarrow as pa

    types = {"float64": pa.float64(), "int64": pa.int64(), "string": pa.string()}
    return pa.schema([(name, types[kind]) for name, kind in EVENT_COLUMNS])


def _cut_torn_line(path: Path) -> None:
    """A killed node may have left half a line; the log continues after the last whole one."""
    if not path.is_file():
        return
    end = path.stat().st_size
    with path.open("rb") as file:
        while end > 0:
            begin = max(0, end - LINE_BYTES)
            file.seek(begin)
            newline = file.read(end - begin).rfind(b"\n")
            if newline >= 0:
                end = begin + newline + 1
                break
            end = begin
    os.truncate(path, end)
