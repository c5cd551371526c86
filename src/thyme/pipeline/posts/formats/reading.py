"""Reading a source record by record: each gives posts, is skipped, or is rejected with line and reason."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import msgspec
import pyarrow.parquet as pq

from thyme.pipeline.posts.formats.json_lines import (
    LINE_BYTES,
    is_continued,
    numbered_lines,
    read_document,
    read_lines,
    read_statuses,
    whole_line,
)
from thyme.pipeline.posts.formats.mapped import read_mapped
from thyme.pipeline.posts.formats.opening import (
    DAMAGE,
    FilePart,
    Stream,
    chunks_of,
    is_plain,
    open_part,
    openable,
    raise_if_unseen,
    text_of,
)
from thyme.pipeline.posts.formats.posts import Unreadable, attempt
from thyme.pipeline.posts.formats.results import LineCount, ReadResult, Rejected, told
from thyme.pipeline.posts.formats.scanning import MAX_SHOWN_CHARS
from thyme.pipeline.posts.formats.statuses import UsualPosts
from thyme.pipeline.posts.formats.tables import MAX_LINES_PER_RECORD, csv_records, read_row

BATCH_ROWS = 5_000
BATCHED = ("Twitter v1.1", "a stream archive")
"""Formats whose statuses are read many at a time."""


def read_part(source: FilePart, counted: LineCount | None = None) -> Iterator[ReadResult | UsualPosts]:
    """Everything in a part of a file, with lines as numbered in the part; when all is read, `counted` has their number.
    Usual statuses come many at a time. A file that breaks off is read up to there, and the break is rejected; one that
    does not exist is an InputError."""
    counted = counted or LineCount()
    try:
        match source.kind:
            case "lines" if source.columns is None and source.format.startswith(BATCHED):
                yield from read_statuses(source, counted)
            case "lines":
                yield from read_lines(source, counted)
            case "table":
                yield from _read_table(source, counted)
            case "document":
                yield from read_document(source)
            case "parquet":
                yield from _read_parquet(source)
    except DAMAGE as error:
        yield _broken_off(source, error)


def _broken_off(source: FilePart, error: Exception) -> Rejected:
    if isinstance(error, OSError):
        raise_if_unseen(source, error)
    reason = f"the file breaks off or is damaged: {str(error) or type(error).__name__}"
    return Rejected(0, reason, "", reason)


def _read_table(source: FilePart, counted: LineCount) -> Iterator[ReadResult]:
    shape = source.shape
    assert shape is not None
    broken: dict[int, Unreadable] = {}
    with open_part(source) as stream:
        if is_plain(source):
            lines = _text_lines(stream, _at_records(stream, source), broken, counted)
        else:
            lines = _split_lines(stream, source, broken)
        for number, cells in csv_records(lines, shape):
            damage = broken.pop(number, None)
            outcome = damage or attempt(read_row, cells, shape)
            yield told(outcome, number, cells, shape.delimiter.join(cells)[:MAX_SHOWN_CHARS])


def _at_records(stream: Stream, source: FilePart) -> FilePart:
    """A part of a table that begins and ends where records do, whatever was before."""
    if not source.start and source.end is None:
        return source
    start = _record_start(stream, source.start) if source.start else 0
    end = None if source.end is None else _record_start(stream, source.end)
    stream.seek(0)
    return msgspec.structs.replace(source, start=start, end=end)


def _record_start(stream: Stream, place: int) -> int:
    """Where a record surely starts, from a place on: one that goes over several lines begins with a line of an odd
    number of quotation marks, and has so many lines at most; so it starts after as many lines without such a one."""
    stream.seek(place - 1)
    found = place - 1
    calm = -1  # the rest of the line at the place does not count
    while calm < MAX_LINES_PER_RECORD - 1:
        line = stream.readline(LINE_BYTES)
        if not line:
            break
        found += len(line)
        if calm >= 0 or line.endswith(b"\n"):
            calm = calm + 1 if calm < 0 or not (line.count(b'"') % 2 or is_continued(line)) else 0
    return found


def _text_lines(
    stream: Stream, source: FilePart, broken: dict[int, Unreadable], counted: LineCount
) -> Iterator[tuple[int, str]]:
    lines = numbered_lines(stream, source)
    for number, raw in lines:
        counted.number = number
        if is_continued(raw):
            broken[number] = Unreadable(f"a line of more than {LINE_BYTES} bytes")
            for _ in whole_line(raw, lines):
                pass
            raw = raw[:MAX_SHOWN_CHARS]
        if number == 1 and not source.start:
            continue
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError:
            broken.setdefault(number, Unreadable("it is not utf-8"))
            yield number, raw.decode("utf-8", errors="replace")


def _split_lines(stream: Stream, source: FilePart, broken: dict[int, Unreadable]) -> Iterator[tuple[int, str]]:
    """Lines of text whose ends cannot be found among the bytes, or are another sign than usual."""
    number, rest = 0, ""
    for text in chain(text_of(chunks_of(stream), source.encoding), [source.line_end]):
        *whole, rest = (rest + text).split(source.line_end)
        for line in whole:
            number += 1
            if not line.isascii() and any("\udc80" <= sign <= "\udcff" for sign in line):
                broken[number] = Unreadable("it is not utf-8")
                line = line.encode(errors="replace").decode()
            if number > 1 and line:
                yield number, f"{line}\n"
        if len(rest) > LINE_BYTES:
            broken[number + 1] = Unreadable(f"a line of more than {LINE_BYTES} characters")
            rest = rest[:MAX_SHOWN_CHARS]


def _read_parquet(source: FilePart) -> Iterator[ReadResult]:
    columns = source.columns
    assert columns is not None
    with pq.ParquetFile(openable(source.path)) as file:
        number = sum(file.metadata.row_group(group).num_rows for group in range(source.start))
        group = file.read_row_group(source.start, columns=columns.columns())
    for batch in group.to_batches(BATCH_ROWS):
        for row in batch.to_pylist():
            number += 1
            outcome = attempt(read_mapped, row, columns)
            yield told(outcome, number, row, str(row)) if isinstance(outcome, Unreadable) else outcome
