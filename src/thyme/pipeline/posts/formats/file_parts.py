"""Files of posts, found by paths, folders and patterns, recognised by their content, and split into parts.

Each part of a file is one partition of the data source. A file of no known format is an error that shows what was seen;
so is a map of columns that fits no file.
"""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.mapped import OURS, ColumnMap
from thyme.pipeline.posts.formats.opening import DAMAGE, FilePart, is_plain, open_file, openable
from thyme.pipeline.posts.formats.recognition import EXPECTED, recognise_text
from thyme.places import Place, Remote, place_of, whole_place

PART_BYTES = 32 * 1024 * 1024
NEWLINE_WITHIN_BYTES = 4 * 1024 * 1024
"""A file whose first line is longer is not split: all its parts would look for the end of the same line."""
MAX_NAMED_FILES = 3
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


def find_files(patterns: Sequence[str], pass_over: Callable[[Place], None] = lambda file: None) -> list[Place]:
    """The files that paths, folders and globs lead to, each once, in order. Files in a folder whose names begin with a
    dot or an underscore are what programs keep for themselves: `pass_over` hears of them, and who wants one names it.
    """
    found: dict[str, Place] = {}
    for pattern in patterns:
        store = place_of(pattern)
        if isinstance(store, Remote):
            for stored in _stored_files(store, pass_over):
                found.setdefault(stored.uri, stored)
            continue
        pattern = str(store)
        matches = _matches(pattern)
        if not matches:
            raise InputError(f"{pattern}: no such file, folder or pattern")
        for match in matches:
            inside = [one for one in sorted(match.rglob("*")) if one.is_file()] if match.is_dir() else [match]
            shown = [one for one in inside if not _hidden(one.relative_to(match))]
            if not match.is_dir() and not match.is_file():
                raise InputError(f"{match}: neither a file nor a folder")
            if not shown:
                hidden = f" but {_some(list(map(str, inside)))}, which is read when named" if inside else ""
                raise InputError(f"{match}: the folder holds no files{hidden}")
            for one in inside:
                if _hidden(one.relative_to(match)):
                    pass_over(one)
            for one in shown:
                found.setdefault(os.path.realpath(one), one)
    return list(found.values())


def plan_parts(files: Sequence[Place], columns: ColumnMap | None = None, join_text: bool = False) -> list[FilePart]:
    """What there is to read, in parts; InputError for a file of no known format."""
    sources = [source for file in files for source in _parts_of(file, columns, join_text)]
    if not sources:
        raise InputError(f"{_some(list(map(str, files)))}: all files are empty; expected {EXPECTED}")
    if columns is not None and not any(_is_mapped(source, columns) for source in sources):
        read_as = _some([f"{name} ({form})" for name, form in dict.fromkeys((one.name, one.format) for one in sources)])
        raise InputError(
            f"--map {','.join('='.join(pair) for pair in columns.pairs())}: fits none of the files, {read_as}; "
            "leave it out, or name the columns of one of them"
        )
    return sources


def _is_mapped(source: FilePart, columns: ColumnMap) -> bool:
    return source.format == "mapped" or (source.kind == "parquet" and source.columns == columns)


def _parts_of(file: Place, columns: ColumnMap | None, join_text: bool) -> Iterator[FilePart]:
    try:
        with open_file(str(file)) as stream:
            magic = stream.read(8)
        size = file.size_bytes() if isinstance(file, Remote) else file.stat().st_size
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error})") from error
    compression = next((name for start, name in _MAGIC.items() if magic.startswith(start)), "")
    whole = FilePart(str(whole_place(file)), "lines", "", shown=str(file), compression=compression)
    if magic.startswith(b"PAR1"):
        yield from _parquet_parts(whole, columns)
    elif compression == "zip":
        for member in _members(file):
            yield recognise_text(msgspec.structs.replace(whole, member=member), columns, join_text)
    elif size:
        yield from _parts(recognise_text(whole, columns, join_text), size)


def _stored_files(store: Remote, pass_over: Callable[[Place], None]) -> Iterator[Remote]:
    """An object, or those below a name, or those whose names fit a pattern, in order."""
    try:
        if store.is_file():
            yield store
            return
        plain = itertools.takewhile(lambda part: not glob.has_magic(part), store.uri.split("/"))
        above = Remote("/".join(plain))
        below = [above / name for name in sorted(above.sizes())]
    except OSError as error:
        raise InputError(f"{store}: cannot be listed ({error})") from error
    fitting = [one for one in below if above == store or fnmatch.fnmatchcase(one.uri, store.uri)]
    shown = [one for one in fitting if not _hidden(PurePosixPath(one.uri.removeprefix(f"{above}/")))]
    if not shown:
        raise InputError(f"{store}: no such object, folder or pattern")
    for one in fitting:
        if one not in shown:
            pass_over(one)
    yield from shown


def _matches(pattern: str) -> list[Path]:
    try:
        path = Path(pattern)
        if path.exists():
            return [path]
        return [Path(one) for one in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207 - it may be absolute
    except OSError as error:
        raise InputError(f"{pattern[:200]}: cannot be listed ({error.strerror})") from error


def _hidden(path: Path | PurePosixPath) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _members(file: Place) -> list[str]:
    """The files in a zip archive, without what a Mac adds to it."""
    try:
        with open_file(str(file)) as stream, zipfile.ZipFile(stream) as archive:
            listed = [one.filename for one in archive.infolist() if not one.is_dir() and one.file_size]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(f"{file}: a damaged zip archive ({error}); fetch it again, or unpack what is left") from error
    return [name for name in listed if not _hidden(PurePosixPath(name))]


def _parquet_parts(whole: FilePart, columns: ColumnMap | None) -> Iterator[FilePart]:
    try:
        described = pq.ParquetFile(openable(whole.path))
    except DAMAGE as error:
        raise InputError(f"{whole.name}: a broken Parquet file ({error})") from error
    with described:
        schema = described.schema_arrow
        groups = described.num_row_groups
    paths = frozenset(_paths(schema))
    chosen = next((one for one in (columns, OURS) if one is not None and one.fits(paths)), None)
    if chosen is None:
        seen = f"a Parquet file with the columns {', '.join(schema.names)}"
        if columns is not None:
            raise InputError(f"{whole.name}: {columns.misfit(paths, seen)}")
        raise InputError(f"{whole.name}: {seen}; expected {EXPECTED}")
    for group in range(groups):
        yield msgspec.structs.replace(
            whole, kind="parquet", format="Parquet", columns=chosen, start=group, end=group + 1
        )


def _paths(fields: pa.Schema | pa.StructType, before: str = "") -> Iterator[str]:
    """The columns, and the dotted paths into those that are structures."""
    for field in fields:
        yield before + field.name
        if pa.types.is_struct(field.type):
            yield from _paths(field.type, f"{before}{field.name}.")


def _parts(source: FilePart, size: int) -> Iterator[FilePart]:
    whole = source.kind not in ("lines", "table") or source.compression or not is_plain(source)
    if whole or size <= PART_BYTES or not _has_newlines(source.path):
        yield source
        return
    for start in range(0, size, PART_BYTES):
        yield msgspec.structs.replace(source, start=start, end=min(size, start + PART_BYTES))


def _has_newlines(path: str) -> bool:
    with open_file(path) as stream:
        return b"\n" in stream.read(NEWLINE_WITHIN_BYTES)


def _some(names: list[str]) -> str:
    more = len(names) - MAX_NAMED_FILES
    return ", ".join(names[:MAX_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
