"""Reading a source record by record: each gives posts, is skipped, or is rejected with file, line and reason."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from gzip import GzipFile
from pathlib import Path
from typing import IO

import msgspec
import pyarrow.parquet as pq

from thyme.pipeline.formats.mapped import read_mapped
from thyme.pipeline.formats.objects import objects_in, placed_objects_in, read_object
from thyme.pipeline.formats.posts import ParsedPost, Skipped, Unreadable
from thyme.pipeline.formats.sources import MAX_DOCUMENT_BYTES, Source, open_source
from thyme.pipeline.formats.tables import csv_records, read_row

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_SHOWN_CHARS = 300


class Rejected(msgspec.Struct, frozen=True):
    line: int
    reason: str
    record: str


Result = ParsedPost | Rejected | Skipped


def read_source(source: Source) -> Iterator[Result]:
    """Everything in a source, in order. A file that breaks off is read up to there, and the break is rejected."""
    reader = {"lines": _read_lines, "document": _read_document, "table": _read_table, "parquet": _read_parquet}
    try:
        yield from reader[source.kind](source)
    except (OSError, EOFError, zlib.error) as error:
        yield Rejected(0, f"the file breaks off or is damaged: {error}", "")


def _read_lines(source: Source) -> Iterator[Result]:
    with open_source(source) as stream:
        for number, raw in _lines(stream, source):
            try:
                text = _decoded(raw, source.encoding)
                for value in _values(text):
                    yield from _results(read_object(value, source.columns), number, text)
            except Unreadable as error:
                yield Rejected(number, str(error), _shown(raw))


def _values(text: str) -> Iterable[object]:
    """The JSON values of a line. Most lines hold one, which is read the quick way."""
    try:
        return (msgspec.json.decode(text),)
    except msgspec.DecodeError:
        return objects_in(text)


def _lines(stream: IO[bytes] | GzipFile, source: Source) -> Iterator[tuple[int, bytes]]:
    """The lines that start in the source's range, numbered from 1 in the whole file."""
    number, place = 1, source.start
    if source.encoding == "utf-16":
        text = stream.read(MAX_DOCUMENT_BYTES).decode("utf-16", errors="replace")
        for number, part in enumerate(text.splitlines(keepends=True), start=1):
            yield number, part.encode()
        return
    if place:
        number += _newlines_before(source.path, place)
        stream.seek(place - 1)
        skipped = stream.readline()
        place += len(skipped) - 1
        number += 0 if skipped == b"\n" else 1
    while source.end is None or place < source.end:
        line = stream.readline(MAX_LINE_BYTES)
        if not line:
            return
        place += len(line)
        yield number, line
        number += 1


def _newlines_before(path: str, place: int) -> int:
    count = 0
    with Path(path).open("rb") as stream:
        while place > 0:
            block = stream.read(min(place, 1 << 20))
            if not block:
                break
            count += block.count(b"\n")
            place -= len(block)
    return count


def _read_document(source: Source) -> Iterator[Result]:
    with open_source(source) as stream:
        text = stream.read().decode(source.encoding, errors="replace")
    number, counted = 1, 0
    try:
        for value, place in placed_objects_in(text):
            number += text.count("\n", counted, place)
            counted = place
            yield from _results(read_object(value, source.columns), number, "")
    except Unreadable as error:
        yield Rejected(number, str(error), "")


def _read_table(source: Source) -> Iterator[Result]:
    shape = source.shape
    assert shape is not None
    broken: set[int] = set()
    with open_source(source) as stream:
        records = csv_records(_text_lines(stream, source, broken), shape)
        for number, cells in records:
            shown = shape.delimiter.join(cells)
            try:
                if number in broken:
                    raise Unreadable(f"it is not {source.encoding}")
                yield read_row(cells, shape)
            except Unreadable as error:
                yield Rejected(number, str(error), shown[:MAX_SHOWN_CHARS])


def _text_lines(stream: IO[bytes] | GzipFile, source: Source, broken: set[int]) -> Iterator[tuple[int, str]]:
    for number, raw in _lines(stream, source):
        if number == 1:
            continue
        try:
            yield number, _decoded(raw, source.encoding)
        except Unreadable:
            broken.add(number)
            yield number, raw.decode("utf-8", errors="replace")


def _read_parquet(source: Source) -> Iterator[Result]:
    columns = source.columns
    assert columns is not None
    with pq.ParquetFile(source.path) as file:
        before = sum(file.metadata.row_group(group).num_rows for group in range(source.start))
        group = file.read_row_group(source.start, columns=columns.columns())
    for number, row in enumerate(group.to_pylist(), start=before + 1):
        try:
            yield read_mapped(row, columns)
        except Unreadable as error:
            yield Rejected(number, str(error), str(row)[:MAX_SHOWN_CHARS])


def _results(outcomes: Iterator[ParsedPost | Skipped | Unreadable], number: int, text: str) -> Iterator[Result]:
    for outcome in outcomes:
        if isinstance(outcome, Unreadable):
            shown = text or ("" if outcome.record is None else json.dumps(outcome.record, ensure_ascii=False))
            yield Rejected(number, str(outcome), shown[:MAX_SHOWN_CHARS].rstrip())
        else:
            yield outcome


def _decoded(raw: bytes, encoding: str) -> str:
    if len(raw) >= MAX_LINE_BYTES:
        raise Unreadable(f"a line of more than {MAX_LINE_BYTES} bytes")
    try:
        return raw.decode("utf-8").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 at byte {error.start + 1}") from error


def _shown(raw: bytes) -> str:
    return raw[: 4 * MAX_SHOWN_CHARS].decode("utf-8", errors="replace")[:MAX_SHOWN_CHARS].rstrip()
