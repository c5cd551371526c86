"""What a file of text is, by how it starts: JSON of a known format, in lines or not, or a table with a known header.

Recognition reads as little as it can: usually the first block. Where `--map` names columns that are not there, the
error says which, and what is there instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.mapped import ColumnMap, leads_somewhere
from thyme.pipeline.posts.formats.objects import NOTICE, recognise_object
from thyme.pipeline.posts.formats.opening import DAMAGE, FilePart, chunks_of, open_part, text_of
from thyme.pipeline.posts.formats.scanning import MAX_RECORD_CHARS, Piece, scan
from thyme.pipeline.posts.formats.tables import csv_records, likeliest_header, misfit_of, recognise_header

HEAD_BYTES = 64 * 1024
MAX_KEYS_SHOWN = 10
MAX_HEADER_CHARS = 32 * 1024
MAX_LOOKED_AT_CHARS = 4 * 1024 * 1024
"""How far into a file a record of a known format is looked for."""
EXPECTED = (
    "Twitter v1.1 JSON lines, a stream archive, X API v2 pages, snscrape JSON lines, GetOldTweets or TAGS CSV, "
    "Mastodon statuses, Bluesky Jetstream, or any CSV, JSON or Parquet with --map id=…,author=…,at=…,text=…,tags=…"
)
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


def recognise_text(source: FilePart, columns: ColumnMap | None, join_text: bool = False) -> FilePart:
    """The source with all that reading it needs to know; InputError for one of no known format, or for a table whose
    rows are wider than its header, unless what is too much is to be joined to the text."""
    head, encoding = _head(source)
    source = msgspec.structs.replace(source, encoding=encoding, columns=columns)
    if head.lstrip()[:1] in ("{", "["):
        return _recognise_json(source, head)
    line_end = _line_end(head)
    header = head.split(line_end, 1)[0][:MAX_HEADER_CHARS].rstrip("\r")
    shape = recognise_header(header, columns)
    if shape is not None:
        lines = head.split(line_end)[1:-1]
        rows = [cells for _, cells in csv_records(iter((n, f"{line}\n") for n, line in enumerate(lines)), shape)]
        misfit = "" if join_text else misfit_of(rows, shape)
        if misfit:
            raise InputError(f"{source.name}: {misfit}")
        return msgspec.structs.replace(source, kind="table", format=shape.family, shape=shape, line_end=line_end)
    names = likeliest_header(header)
    if columns is not None and len(names) >= 2:
        raise InputError(f"{source.name}: {columns.misfit(names, 'it has the columns ' + ', '.join(names)[:200])}")
    raise _unknown(source, f"it starts with {head[:80]!r}")


def _head(source: FilePart) -> tuple[str, str]:
    raw = b""
    try:
        with open_part(source) as stream:
            raw = next(chunks_of(stream, HEAD_BYTES), b"")
    except (*DAMAGE, RuntimeError) as error:
        raise InputError(f"{source.name}: cannot be decompressed ({error})") from error
    encoding = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "utf-8")
    return raw.decode(encoding, errors="replace"), encoding


def _line_end(head: str) -> str:
    """What ends the first line; some spreadsheets end lines by a carriage return alone."""
    at = head.find("\r")
    return "\r" if at >= 0 and head[at + 1 : at + 2] != "\n" and "\n" not in head[:at] else "\n"


def _recognise_json(source: FilePart, head: str) -> FilePart:
    """By the first record of a known format; notices alone make a stream archive. Whether a record spans lines says
    whether lines can be read on their own."""
    fallback: FilePart | None = None
    first: object = None
    for piece in _pieces(source):
        first = piece.value if first is None else first
        name = recognise_object(piece.value, source.columns)
        if name is None:
            continue
        by_line = not piece.spans_lines and source.encoding != "utf-16"
        found = msgspec.structs.replace(source, kind="lines" if by_line else "document", format=name)
        if name != NOTICE:
            if name == "mapped":
                _check_map(source)
            return found
        fallback = fallback or msgspec.structs.replace(found, format="a stream archive")
    if fallback is not None:
        return fallback
    if not isinstance(first, dict):
        raise _unknown(source, f"it starts with {head[:80]!r}")
    if source.columns is not None:
        _check_map(source)
    raise _unknown(source, _keys_of(first))


def _pieces(source: FilePart) -> Iterator[Piece]:
    """What stands at the beginning of a file, damaged or not, as far as it is worth looking."""

    def known(value: object) -> bool:
        return recognise_object(value, source.columns) is not None

    with open_part(source) as stream:
        looked = _Looked()
        for piece in scan(_so_far(looked, text_of(chunks_of(stream, HEAD_BYTES), source.encoding)), known):
            looked.values = True
            yield piece


class _Looked:
    """How much has been looked at, and whether there was any value in it."""

    chars = 0
    values = False


def _so_far(looked: _Looked, text: Iterator[str]) -> Iterator[str]:
    """The text up to where enough was looked at; one long record is read to its end."""
    try:
        for chunk in text:
            yield chunk
            looked.chars += len(chunk)
            if looked.chars >= (MAX_LOOKED_AT_CHARS if looked.values else MAX_RECORD_CHARS):
                return
    except DAMAGE:
        return


def _check_map(source: FilePart) -> None:
    """InputError if none of the first objects has one of the mapped columns."""
    columns = source.columns
    assert columns is not None
    missing, seen = dict(columns.pairs()), ""
    for piece in _pieces(source):
        record = piece.value
        if isinstance(record, dict):
            seen = seen or _keys_of(record)
            missing = {name: path for name, path in missing.items() if not leads_somewhere(record, path)}
        if not missing:
            break
    if missing:
        present = [path for name, path in columns.pairs() if name not in missing]
        raise InputError(f"{source.name}: {columns.misfit(present, seen)}")


def _keys_of(record: dict[str, object]) -> str:
    return f"its first object has the keys {', '.join(map(str, list(record)[:MAX_KEYS_SHOWN]))}"


def _unknown(source: FilePart, seen: str) -> InputError:
    return InputError(f"{source.name}: not recognised; {seen}; expected {EXPECTED}")
