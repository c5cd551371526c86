"""Growing logs cut into files that never change, for a stream that reads every file once.

Spark's file source takes each file as it is when it first sees it and never looks at it again, but live nodes append
to one log for as long as they run. So the logs are polled: whatever whole lines were added to any of them since the
last poll become one new file of a staging folder, which appears there under its name only when it is complete. All
increments of one poll share a file because a stream that got an old log of one node after the new lines of another
would take the old ones for late. A line without its end is left for a later poll. A log that was replaced by a
longer copy of itself goes on where it was; one that no longer has what was read last is another log, and is read from
its beginning. A log that its node turned into Parquet gives the rows that it had not given as lines.

How far each log was read is kept beside the staged files, and an increment appears only after that was written, so
that a watch that is started again goes on where it stopped, with every line once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.drafts import write_file
from thyme.model.errors import InputError
from thyme.model.records import EVENT_COLUMNS

LINES = ".jsonl"
POSITIONS = "positions.msgpack"
READ_BYTES = 4 * 1024 * 1024
"""How much of a log is in memory at a time; what goes on for longer without a line's end is passed on as it is."""
TAIL_BYTES = 1_024
PARQUET_ROWS = 10_000
_COLUMNS = [name for name, _ in EVENT_COLUMNS]
_encoder = msgspec.json.Encoder()


class _Read(msgspec.Struct):
    """How far a log has been read."""

    size_bytes: int = 0
    tail: bytes = b""
    """What the log had last; if it is not there any more, this is another log of the same name."""
    lines: int = 0
    torn: bool = False


class _Positions(msgspec.Struct):
    """How far all logs have been read, and how many increments were staged."""

    read: dict[str, _Read] = {}
    tables: set[str] = set()
    staged: int = 0


class LogFolder:
    """The logs of live nodes in a folder and its subfolders."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder = folder
        self._staging = staging
        self._positions = staging.with_name(POSITIONS)
        kept = _Positions()
        if self._positions.is_file():
            kept = msgspec.msgpack.decode(self._positions.read_bytes(), type=_Positions)
        self._read = {Path(path): read for path, read in kept.read.items()}
        self._tables = {Path(path) for path in kept.tables}
        self._staged = kept.staged
        staging.mkdir(parents=True, exist_ok=True)
        for draft in staging.glob(".*.draft"):
            number = int(draft.name[1:].partition(".")[0])
            if number < self._staged:  # it was complete, and is all that the positions say
                draft.rename(staging / f"{number:09d}{LINES}")
            else:
                draft.unlink()

    @property
    def logs(self) -> int:
        """How many logs have been seen."""
        turned = {path.with_name(path.name + LINES) for path in self._tables}
        return len(self._read.keys() | turned)

    @property
    def torn(self) -> int:
        """How many logs end, as yet, in half a line."""
        return sum(read.torn for read in self._read.values())

    def poll(self) -> bool:
        """Stage what was added since the last poll; whether there was anything."""
        draft = self._staging / f".{self._staged:09d}.draft"
        try:
            with draft.open("wb") as out:
                for path in sorted(self._folder.rglob(f"*{LINES}")):
                    self._add_lines(path, out)
                for path in sorted(self._folder.rglob("*.parquet")):
                    self._add_table(path, out)
                added = out.tell() > 0
        except OSError as error:
            where = error.filename or self._folder
            raise InputError(f"{where}: cannot be read or staged: {error.strerror or error}") from error
        if not added:
            draft.unlink()
            return False
        self._staged += 1
        read = {str(path): read for path, read in self._read.items()}
        positions = _Positions(read, {str(path) for path in self._tables}, self._staged)
        write_file(self._positions, msgspec.msgpack.encode(positions))
        draft.rename(self._staging / f"{self._staged - 1:09d}{LINES}")
        return True

    def _add_lines(self, path: Path, out: BinaryIO) -> None:
        try:
            with path.open("rb") as log:
                now = os.fstat(log.fileno())
                read = self._read.setdefault(path, _Read())
                log.seek(read.size_bytes - len(read.tail))
                if log.read(len(read.tail)) != read.tail:
                    read = self._read[path] = _Read()
                log.seek(read.size_bytes)
                for piece in _whole_lines(log, now.st_size - read.size_bytes):
                    out.write(piece)
                    read.size_bytes += len(piece)
                    read.tail = (read.tail + piece)[-TAIL_BYTES:]
                    read.lines += piece.count(b"\n")
                read.torn = read.size_bytes < now.st_size
        except FileNotFoundError:
            return  # its node has just turned it into Parquet

    def _add_table(self, path: Path, out: BinaryIO) -> None:
        lines = path.with_name(path.name + LINES)
        if path in self._tables or lines.exists():
            return
        try:
            with pq.ParquetFile(path) as table:
                if table.schema_arrow.names != _COLUMNS:
                    return
                given = self._read[lines].lines if lines in self._read else 0
                for batch in table.iter_batches(PARQUET_ROWS):
                    rows = batch.slice(min(given, batch.num_rows)).to_pylist()
                    given = max(0, given - batch.num_rows)
                    out.write(b"".join(_encoder.encode(row) + b"\n" for row in rows))
        except pa.ArrowInvalid:
            return  # somebody is still writing it
        self._tables.add(path)


def _whole_lines(log: BinaryIO, left_bytes: int) -> Iterator[bytes]:
    """What is between the log's place and its end of a moment ago, up to the end of the last whole line."""
    kept = b""
    while left_bytes > 0 and (read := log.read(min(READ_BYTES, left_bytes))):
        left_bytes -= len(read)
        kept += read
        end = kept.rfind(b"\n") + 1
        if end == 0 and len(kept) >= READ_BYTES:
            end = len(kept)
        if end:
            yield kept[:end]
            kept = kept[end:]
