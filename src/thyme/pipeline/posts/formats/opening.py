"""What one task reads, and how its bytes and its text are come by.

A source is a part of a file: a byte range of a large file of JSON lines or of a table, a row group of Parquet, a member
of a zip archive, or a whole file. Its path is a whole one, because whoever reads it may work in another folder. A file
that cannot be opened at all ends the work; one that breaks off later is read up to there (`DAMAGE`).
"""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Literal

import msgspec
import pyarrow as pa

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.mapped import ColumnMap
from thyme.pipeline.posts.formats.tables import TableShape
from thyme.places import Remote, place_of

CHUNK_BYTES = 1024 * 1024
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException)
"""What reading a damaged file raises."""
_UNSEEN = frozenset([errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ESTALE])
Stream = IO[bytes] | gzip.GzipFile


class FilePart(msgspec.Struct, frozen=True):
    """What one task reads; `start` and `end` are bytes of JSON lines or of a table, or row groups of Parquet. `shown`
    is the path as it was given."""

    path: str
    kind: Literal["lines", "document", "table", "parquet"]
    format: str
    shown: str = ""
    compression: str = ""
    member: str = ""
    encoding: str = "utf-8"
    line_end: str = "\n"
    shape: TableShape | None = None
    columns: ColumnMap | None = None
    start: int = 0
    end: int | None = None

    @property
    def name(self) -> str:
        return f"{self.shown or self.path}!{self.member}" if self.member else self.shown or self.path


def is_plain(source: FilePart) -> bool:
    """Whether the ends of lines can be found among the bytes."""
    return source.line_end == "\n" and source.encoding != "utf-16"


def open_part(source: FilePart) -> Stream:
    """The bytes of a file or an archive's member, decompressed; InputError if the file is not there for us."""
    try:
        return _opened(source)
    except OSError as error:
        raise_if_unseen(source, error)
        raise


def raise_if_unseen(source: FilePart, error: OSError) -> None:
    """A file that was there when the work was planned and is not there for whoever reads it is no damage."""
    if error.errno in _UNSEEN:
        raise InputError(
            f"{source.path}: the Spark workers cannot read it ({error.strerror}); "
            "put the files where all machines see them at the same path"
        ) from error


def open_file(path: str) -> IO[bytes]:
    """The bytes of a file, or of an object in a store, as they are."""
    found = openable(path)
    return Path(found).open("rb") if isinstance(found, str) else found


def openable(path: str) -> str | IO[bytes]:
    """The same for libraries that open files themselves: a file's path, or the bytes of an object."""
    place = place_of(path)
    if isinstance(place, Remote):
        system, inner = place.arrow()
        return io.BufferedReader(system.open_input_file(inner), CHUNK_BYTES)
    return str(place)


def _opened(source: FilePart) -> Stream:
    match source.compression:
        case "gz":
            return gzip.open(openable(source.path), "rb")
        case "bz2":
            return bz2.open(openable(source.path), "rb")
        case "xz":
            return lzma.open(openable(source.path), "rb")
        case "zstd":
            return io.BufferedReader(pa.CompressedInputStream(openable(source.path), "zstd"))
        case "zip":
            return zipfile.ZipFile(openable(source.path)).open(source.member)
        case _:
            return open_file(source.path)


def chunks_of(stream: Stream, size_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """The bytes in chunks of about this size. Before an error is raised, all that could be read has been given."""
    read = getattr(stream, "read1", stream.read)
    ended = False
    while not ended:
        blocks: list[bytes] = []
        broken: Exception | None = None
        waiting = size_bytes
        try:
            while waiting > 0 and not ended:
                block = read(waiting)
                blocks.append(block)
                waiting -= len(block)
                ended = not block
        except DAMAGE as error:
            broken = error
        if chunk := b"".join(blocks):
            yield chunk
        if broken is not None:
            raise broken


def text_of(chunks: Iterable[bytes], encoding: str) -> Iterator[str]:
    """Bytes as text. What is not text stays recognisable as lone surrogates; in UTF-16 it is replaced, as every other
    byte of it could be part of something else."""
    errors = "replace" if encoding == "utf-16" else "surrogateescape"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for chunk in chunks:
        if text := decoder.decode(chunk):
            yield text
    if rest := decoder.decode(b"", final=True):
        yield rest
