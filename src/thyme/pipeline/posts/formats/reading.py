"""Reading a source record by record: each gives posts, is skipped, or is rejected with line and reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

import msgspec
import pyarrow.parquet as pq

from thyme.pipeline.posts.formats.mapped import read_mapped
from thyme.pipeline.posts.formats.objects import read_object, recognise_object
from thyme.pipeline.posts.formats.opening import (
    DAMAGE,
    Source,
    Stream,
    chunks_of,
    is_plain,
    open_source,
    openable,
    raise_if_unseen,
    text_of,
)
from thyme.pipeline.posts.formats.posts import Outcome, ParsedPost, Skipped, Unreadable, attempt
from thyme.pipeline.posts.formats.quick import quick_status
from thyme.pipeline.posts.formats.scanning import MAX_SHOWN_CHARS, scan
from thyme.pipeline.posts.formats.tables import MAX_LINES_PER_RECORD, csv_records, read_row

LINE_BYTES = 8 * 1024 * 1024
"""A longer line of JSON is read bit by bit; of a table it is rejected."""
BATCH_ROWS = 5_000
_ENDS = b", \t\r\n"


class Rejected(msgspec.Struct, frozen=True):
    """Why a record is no post; `public_reason` is the same with nothing of the record in it."""

    line: int
    reason: str
    record: str
    public_reason: str


Result = ParsedPost | Rejected | Skipped


class LineCount:
    """How many lines begin in a source: those of the parts before tell where in its file a part's lines are."""

    number = 0


def read_source(source: Source, counted: LineCount | None = None) -> Iterator[Result]:
    """Everything in a source, in order, with lines as numbered in the source; when all is read, `counted` knows how
    many these were. A file that breaks off is read up to there, and the break is rejected; one that is not there is an
    InputError."""
    counted = counted or LineCount()
    try:
        match source.kind:
            case "lines":
                yield from _read_lines(source, counted)
            case "table":
                yield from _read_table(source, counted)
            case "document":
                yield from _read_document(source)
            case "parquet":
                yield from _read_parquet(source)
    except DAMAGE as error:
        if isinstance(error, OSError):
            raise_if_unseen(source, error)
        reason = f"the file breaks off or is damaged: {str(error) or type(error).__name__}"
        yield Rejected(0, reason, "", reason)


def _read_lines(source: Source, counted: LineCount) -> Iterator[Result]:
    """Each line on its own. Most hold one value, which is read the quick way; all others are scanned."""
    decode = msgspec.json.decode
    quick = source.columns is None
    with open_source(source) as stream:
        lines = _lines(stream, source)
        for number, raw in lines:
            counted.number = number
            line = raw.rstrip(_ENDS)
            if quick and (post := quick_status(line)) is not None:
                yield post
                continue
            try:
                value = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                yield from _scanned(text_of(_whole_line(raw, lines), "utf-8"), source, number)
                continue
            for outcome in read_object(value, source.columns):
                yield _result(outcome, number, value, raw) if isinstance(outcome, Unreadable) else outcome


def _read_document(source: Source) -> Iterator[Result]:
    with open_source(source) as stream:
        yield from _scanned(text_of(chunks_of(stream), source.encoding), source, 1)


def _scanned(text: Iterator[str], source: Source, line: int) -> Iterator[Result]:
    columns = source.columns
    for piece in scan(text, lambda value: recognise_object(value, columns) is not None, line):
        if piece.damage is not None:
            yield _rejected(piece.line, piece.damage, piece.shown)
            continue
        for outcome in read_object(piece.value, columns):
            yield _result(outcome, piece.line, piece.value, piece.shown)


def _lines(stream: Stream, source: Source) -> Iterator[tuple[int, bytes]]:
    """The lines that start in the source's range, numbered from 1 in it; a very long one comes in parts."""
    number, place = 1, source.start
    if place:
        stream.seek(place - 1)
        skipped = stream.readline(LINE_BYTES)
        place += len(skipped) - 1
        while _goes_on(skipped):
            skipped = stream.readline(LINE_BYTES)
            place += len(skipped)
    line = b""
    while source.end is None or place < source.end or _goes_on(line):
        line = stream.readline(LINE_BYTES)
        if not line:
            return
        place += len(line)
        yield number, line
        number += not _goes_on(line)


def _goes_on(line: bytes) -> bool:
    return len(line) == LINE_BYTES and not line.endswith(b"\n")


def _whole_line(raw: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
    """A line with those of its parts that are still to come."""
    yield raw
    while _goes_on(raw) and (following := next(lines, None)) is not None:
        raw = following[1]
        yield raw


def _read_table(source: Source, counted: LineCount) -> Iterator[Result]:
    shape = source.shape
    assert shape is not None
    broken: dict[int, Unreadable] = {}
    with open_source(source) as stream:
        if is_plain(source):
            lines = _text_lines(stream, _at_records(stream, source), broken, counted)
        else:
            lines = _split_lines(stream, source, broken)
        for number, cells in csv_records(lines, shape):
            damage = broken.pop(number, None)
            outcome = damage or attempt(read_row, cells, shape)
            yield _result(outcome, number, cells, shape.delimiter.join(cells)[:MAX_SHOWN_CHARS])


def _at_records(stream: Stream, source: Source) -> Source:
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
            calm = calm + 1 if calm < 0 or not (line.count(b'"') % 2 or _goes_on(line)) else 0
    return found


def _text_lines(
    stream: Stream, source: Source, broken: dict[int, Unreadable], counted: LineCount
) -> Iterator[tuple[int, str]]:
    lines = _lines(stream, source)
    for number, raw in lines:
        counted.number = number
        if _goes_on(raw):
            broken[number] = Unreadable(f"a line of more than {LINE_BYTES} bytes")
            for _ in _whole_line(raw, lines):
                pass
            raw = raw[:MAX_SHOWN_CHARS]
        if number == 1 and not source.start:
            continue
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError:
            broken.setdefault(number, Unreadable("it is not utf-8"))
            yield number, raw.decode("utf-8", errors="replace")


def _split_lines(stream: Stream, source: Source, broken: dict[int, Unreadable]) -> Iterator[tuple[int, str]]:
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


def _read_parquet(source: Source) -> Iterator[Result]:
    columns = source.columns
    assert columns is not None
    with pq.ParquetFile(openable(source.path)) as file:
        number = sum(file.metadata.row_group(group).num_rows for group in range(source.start))
        group = file.read_row_group(source.start, columns=columns.columns())
    for batch in group.to_batches(BATCH_ROWS):
        for row in batch.to_pylist():
            number += 1
            outcome = attempt(read_mapped, row, columns)
            yield _result(outcome, number, row, str(row)) if isinstance(outcome, Unreadable) else outcome


def _result(outcome: Outcome, line: int, value: object, shown: str | bytes) -> Result:
    """An outcome as told; of a record that is a part of a larger value, the part is shown."""
    if not isinstance(outcome, Unreadable):
        return outcome
    if outcome.record is not None and outcome.record is not value:
        return _rejected(line, outcome, _dumped(outcome.record))
    if isinstance(shown, bytes):
        shown = shown[: 4 * MAX_SHOWN_CHARS].decode("utf-8", errors="replace")
    return _rejected(line, outcome, shown)


def _dumped(record: object) -> str:
    try:
        return json.dumps(record, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def _rejected(line: int, why: Unreadable, shown: str) -> Rejected:
    return Rejected(line, str(why), shown[:MAX_SHOWN_CHARS].rstrip(), why.without_content)
