"""JSON, line by line where it is written so: many statuses at a time, one value per line, or bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from thyme.pipeline.posts.formats.objects import read_object, recognise_object
from thyme.pipeline.posts.formats.opening import DAMAGE, FilePart, Stream, chunks_of, open_part, text_of
from thyme.pipeline.posts.formats.posts import Unreadable
from thyme.pipeline.posts.formats.results import LineCount, ReadResult, rejected, told
from thyme.pipeline.posts.formats.scanning import scan
from thyme.pipeline.posts.formats.statuses import BATCH_LINES, Status, UsualPosts, decode_status, usual_posts

LINE_BYTES = 8 * 1024 * 1024
"""A longer line of JSON is read bit by bit; of a table it is rejected."""
_ENDS = b", \t\r\n"


def read_statuses(source: FilePart, counted: LineCount) -> Iterator[ReadResult | UsualPosts]:
    """Lines of statuses, which are gathered until there are enough of them; all others are read when they come."""
    waiting: list[tuple[int, bytes, Status]] = []
    with open_part(source) as stream:
        lines = numbered_lines(stream, source)
        try:
            for number, raw in lines:
                counted.number = number
                status = decode_status(raw.rstrip(_ENDS))
                if status is None:
                    yield from _read_line(raw, number, lines, source)
                    continue
                waiting.append((number, raw, status))
                if len(waiting) >= BATCH_LINES:
                    yield from _read_gathered(waiting, source)
                    waiting.clear()
        except DAMAGE:
            yield from _read_gathered(waiting, source)
            raise
        yield from _read_gathered(waiting, source)


def _read_gathered(waiting: Sequence[tuple[int, bytes, Status]], source: FilePart) -> Iterator[ReadResult | UsualPosts]:
    if not waiting:
        return
    usual, others = usual_posts([status for _, _, status in waiting])
    if usual.rows.num_rows:
        yield usual
    for place in others:
        number, raw, _ = waiting[place]
        yield from _read_line(raw, number, iter(()), source)


def read_lines(source: FilePart, counted: LineCount) -> Iterator[ReadResult]:
    """Each line on its own: one value, or text to be scanned for values."""
    with open_part(source) as stream:
        lines = numbered_lines(stream, source)
        for number, raw in lines:
            counted.number = number
            yield from _read_line(raw, number, lines, source)


def _read_line(raw: bytes, number: int, lines: Iterator[tuple[int, bytes]], source: FilePart) -> Iterator[ReadResult]:
    """A line the thorough way; a long one takes its parts from those that follow."""
    try:
        value = msgspec.json.decode(raw.rstrip(_ENDS))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _scanned(text_of(whole_line(raw, lines), "utf-8"), source, number)
        return
    for outcome in read_object(value, source.columns):
        yield told(outcome, number, value, raw) if isinstance(outcome, Unreadable) else outcome


def read_document(source: FilePart) -> Iterator[ReadResult]:
    with open_part(source) as stream:
        yield from _scanned(text_of(chunks_of(stream), source.encoding), source, 1)


def _scanned(text: Iterator[str], source: FilePart, line: int) -> Iterator[ReadResult]:
    columns = source.columns
    for piece in scan(text, lambda value: recognise_object(value, columns) is not None, line):
        if piece.damage is not None:
            yield rejected(piece.line, piece.damage, piece.shown)
            continue
        for outcome in read_object(piece.value, columns):
            yield told(outcome, piece.line, piece.value, piece.shown)


def numbered_lines(stream: Stream, source: FilePart) -> Iterator[tuple[int, bytes]]:
    """The lines that start in the source's range, numbered from 1 in it; a very long one comes in parts."""
    number, place = 1, source.start
    if place:
        stream.seek(place - 1)
        skipped = stream.readline(LINE_BYTES)
        place += len(skipped) - 1
        while is_continued(skipped):
            skipped = stream.readline(LINE_BYTES)
            place += len(skipped)
    line = b""
    while source.end is None or place < source.end or is_continued(line):
        line = stream.readline(LINE_BYTES)
        if not line:
            return
        place += len(line)
        yield number, line
        number += not is_continued(line)


def is_continued(line: bytes) -> bool:
    """Whether this is the beginning of a longer line, which is read in parts."""
    return len(line) == LINE_BYTES and not line.endswith(b"\n")


def whole_line(raw: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
    """A line with those of its parts that are still to come."""
    yield raw
    while is_continued(raw) and (following := next(lines, None)) is not None:
        raw = following[1]
        yield raw
