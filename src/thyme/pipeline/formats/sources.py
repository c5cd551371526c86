"""Where posts come from: files and folders, compressed or not, each recognised by its content.

A source is a part of a file that one task reads: a byte range of a large file of JSON lines, a row group of Parquet,
a member of a zip archive, or a whole file. A file that is nothing known is an error that shows what was seen.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.pipeline.formats.mapped import OURS, ColumnMap
from thyme.pipeline.formats.objects import objects_in, recognise_object
from thyme.pipeline.formats.posts import Unreadable
from thyme.pipeline.formats.tables import TableShape, recognise_header

HEAD_BYTES = 4 * 1024 * 1024
HEAD_BLOCK_BYTES = 16 * 1024
HEAD_LINES = 200
PART_BYTES = 32 * 1024 * 1024
MAX_DOCUMENT_BYTES = 512 * 1024 * 1024
EXPECTED = (
    "Twitter v1.1 JSON lines, a stream archive, X API v2 pages, snscrape JSON lines, GetOldTweets or TAGS CSV, "
    "Mastodon statuses, Bluesky Jetstream, or any CSV, JSON or Parquet with --map id=…,author=…,at=…,text=…,tags=…"
)
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}

_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


class Source(msgspec.Struct, frozen=True):
    """What one task reads; `start` and `end` are bytes of JSON lines or row groups of Parquet."""

    path: str
    kind: Literal["lines", "document", "table", "parquet"]
    format: str
    compression: str = ""
    member: str = ""
    encoding: str = "utf-8"
    shape: TableShape | None = None
    columns: ColumnMap | None = None
    start: int = 0
    end: int | None = None

    @property
    def name(self) -> str:
        return f"{self.path}!{self.member}" if self.member else self.path


def find_files(patterns: Sequence[str]) -> list[Path]:
    """The files that paths, folders and globs lead to, each once, in order."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        matches = [path] if path.exists() else _matches(pattern)
        if not matches:
            raise InputError(f"{pattern}: no such file, folder or pattern")
        for match in matches:
            inside = sorted(match.rglob("*")) if match.is_dir() else [match]
            shown = [one for one in inside if one.is_file() and not _hidden(one, match)]
            if not shown:
                raise InputError(f"{match}: the folder holds no files")
            found.update(dict.fromkeys(shown))
    return list(found)


def plan_sources(files: Sequence[Path], columns: ColumnMap | None = None) -> list[Source]:
    """What there is to read, in parts; InputError for a file of no known format."""
    sources: list[Source] = []
    for file in files:
        try:
            with file.open("rb") as stream:
                magic = stream.read(8)
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from error
        compression = next((name for start, name in _MAGIC.items() if magic.startswith(start)), "")
        if magic.startswith(b"PAR1"):
            sources.extend(_parquet_sources(file, columns))
        elif compression == "zip":
            with zipfile.ZipFile(file) as archive:
                members = [one.filename for one in archive.infolist() if not one.is_dir() and one.file_size]
            sources.extend(_text_source(Source(str(file), "lines", "", "zip", one), columns) for one in members)
        elif file.stat().st_size:
            sources.extend(_parts(_text_source(Source(str(file), "lines", "", compression), columns), file))
    if not sources:
        raise InputError(f"{', '.join(map(str, files))}: all files are empty; expected {EXPECTED}")
    return sources


def open_source(source: Source) -> IO[bytes] | gzip.GzipFile:
    """The bytes of a file or an archive's member, decompressed."""
    match source.compression:
        case "gz":
            return gzip.open(source.path, "rb")
        case "bz2":
            return bz2.open(source.path, "rb")
        case "xz":
            return lzma.open(source.path, "rb")
        case "zstd":
            return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(source.path), "zstd"))
        case "zip":
            return zipfile.ZipFile(source.path).open(source.member)
        case _:
            return Path(source.path).open("rb")


def _matches(pattern: str) -> list[Path]:
    return [Path(one) for one in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207 - it may be absolute


def _hidden(file: Path, root: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(root).parts)


def _parquet_sources(file: Path, columns: ColumnMap | None) -> Iterator[Source]:
    try:
        described = pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{file}: a broken Parquet file ({error})") from error
    with described:
        names = described.schema_arrow.names
        groups = described.num_row_groups
    chosen = next((one for one in (columns, OURS) if one is not None and one.fits(names)), None)
    if chosen is None:
        raise InputError(f"{file}: a Parquet file with the columns {', '.join(names)}; expected {EXPECTED}")
    for group in range(groups):
        yield Source(str(file), "parquet", "Parquet", columns=chosen, start=group, end=group + 1)


def _text_source(source: Source, columns: ColumnMap | None) -> Source:
    head, encoding = _head(source)
    source = msgspec.structs.replace(source, encoding=encoding, columns=columns)
    if head.lstrip()[:1] in ("{", "["):
        lines = head.splitlines()
        name = _recognise_lines(lines[:HEAD_LINES], columns)
        if name is not None:
            return msgspec.structs.replace(source, format=name)
        name = _recognise_document(source, columns)
        if name is not None:
            return msgspec.structs.replace(source, kind="document", format=name)
    else:
        shape = recognise_header(head.split("\n", 1)[0].rstrip("\r"), columns)
        if shape is not None:
            return msgspec.structs.replace(source, kind="table", format=shape.family, shape=shape)
    raise InputError(f"{source.name}: not recognised; {_seen(head)}; expected {EXPECTED}")


def _head(source: Source) -> tuple[str, str]:
    raw = bytearray()
    try:
        with open_source(source) as stream:
            while len(raw) < HEAD_BYTES and (block := stream.read(HEAD_BLOCK_BYTES)):
                raw += block
    except (OSError, EOFError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, RuntimeError) as error:
        if not raw:
            raise InputError(f"{source.name}: cannot be decompressed ({error})") from error
    encoding = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "utf-8")
    return raw.decode(encoding, errors="replace"), encoding


def _recognise_lines(lines: Sequence[str], columns: ColumnMap | None) -> str | None:
    """The format of the first line that is JSON of a known kind; notices name none."""
    fallback = None
    for line in lines:
        try:
            values = list(islice(objects_in(line), 20))
        except Unreadable:
            continue
        for value in values:
            name = recognise_object(value, columns)
            if name == "a stream's notice":
                fallback = "a stream archive"
            elif name is not None:
                return name
    return fallback


def _recognise_document(source: Source, columns: ColumnMap | None) -> str | None:
    with open_source(source) as stream:
        raw = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise InputError(f"{source.name}: a JSON document of more than {MAX_DOCUMENT_BYTES} bytes; split it into lines")
    try:
        values = objects_in(raw.decode(source.encoding, errors="replace"))
        return next((name for value in values if (name := recognise_object(value, columns))), None)
    except Unreadable:
        return None


def _seen(head: str) -> str:
    try:
        first = next(objects_in(head.split("\n", 1)[0]), None)
    except Unreadable:
        first = None
    if isinstance(first, dict):
        return f"its first object has the keys {', '.join(map(str, list(first)[:10]))}"
    return f"it starts with {head[:80]!r}"


def _parts(source: Source, file: Path) -> Iterator[Source]:
    size = file.stat().st_size
    if source.kind != "lines" or source.compression or source.encoding == "utf-16" or size <= PART_BYTES:
        yield source
        return
    for start in range(0, size, PART_BYTES):
        yield msgspec.structs.replace(source, start=start, end=min(size, start + PART_BYTES))
