"""What a dataset consists of, so that damage is noticed: a list of its files with sizes, hashes and rows.

The list is written last, when everything else is there, and says what the dataset was made from. Whoever is about to
use a dataset compares (`damage_of`): a file that is missing, shorter, or changed in a single bit is named. What is
damaged is never used; a study tells it and makes it again, a command refuses it. In a store, names and sizes are
compared, as hashing would fetch everything twice; what is not in the list is not looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.places import Place, Remote, write_file

MANIFEST = "_manifest.json"
DIGEST_BYTES = 16
_BLOCK_BYTES = 1024 * 1024
_FOOTER_END_BYTES = 8
"""A Parquet file ends with the length of its footer (4 bytes) and a mark (4 bytes)."""


class KeptFile(msgspec.Struct, frozen=True):
    """A file as it was when it was written; `rows` where it is Parquet. `content` is a digest of the same without the
    footer of a Parquet file: two Java processes order the encodings in it differently."""

    size_bytes: int
    digest: str
    rows: int | None = None
    content: str = ""


class Manifest(msgspec.Struct, frozen=True):
    """Files by their paths in the folder, and what they were made from: in words, and as input files with their
    sizes."""

    files: dict[str, KeptFile]
    made_from: str = ""
    inputs: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """Of the dataset itself; parts whose names are marked, such as `_rejected`, are beside it."""
        return sum(file.rows or 0 for name, file in self.files.items() if not name.startswith("_"))


def write_manifest(place: Place, manifest: Manifest) -> None:
    write_file(place / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest, order="sorted")))


def read_manifest(place: Place) -> Manifest:
    return msgspec.json.decode((place / MANIFEST).read_bytes(), type=Manifest)


def data_files(place: Place) -> list[str]:
    """The files of a dataset itself, without those of its marked parts."""
    return sorted(name for name in read_manifest(place).files if not name.startswith("_"))


def damage_of(folder: Place, now: Mapping[str, KeptFile] = {}) -> str:
    """What is wrong with a dataset, in a few words; empty if it is as it was written. `now` are those of its files that
    somebody else has just described."""
    try:
        listed = read_manifest(folder).files
    except FileNotFoundError:
        return f"{MANIFEST} is missing"
    except (OSError, msgspec.DecodeError) as error:
        return f"{MANIFEST} cannot be read ({error})"
    if isinstance(folder, Remote):
        return _misfit(listed, folder.sizes())
    there = files_in(folder)
    for name in sorted(listed.keys() | there.keys()):
        if name not in there:
            return f"{name} is missing"
        if name not in listed:
            return f"{name} was added"
        changed = difference(there[name], listed[name], now.get(name))
        if changed:
            return f"{name} {changed}"
    return ""


def _misfit(listed: Mapping[str, KeptFile], sizes: Mapping[str, int]) -> str:
    """How the objects of a store differ from what was listed, as far as their names and sizes tell."""
    for name, kept in sorted(listed.items()):
        if name not in sizes:
            return f"{name} is missing"
        if sizes[name] != kept.size_bytes:
            return f"{name} {_other_size(sizes[name], kept)}"
    return ""


def _other_size(size: int, kept: KeptFile) -> str:
    return f"has {size:,} bytes and not {kept.size_bytes:,}"


def difference(file: Place, kept: KeptFile, now: KeptFile | None = None) -> str:
    """How a file differs from what it was; empty if it does not. `now` is the file as described, if it was."""
    try:
        size = file.size_bytes() if isinstance(file, Remote) else file.stat().st_size
        if size != kept.size_bytes:
            return _other_size(size, kept)
        if isinstance(file, Remote):
            return ""
        return "" if (now or describe_file(file)).digest == kept.digest else "has changed"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def describe_file(file: Path) -> KeptFile:
    """Size, digests and rows of a file, in one pass over it."""
    size, footer = file.stat().st_size, 0
    is_table = file.suffix == ".parquet"
    with file.open("rb") as stream:
        if is_table:
            stream.seek(max(0, size - _FOOTER_END_BYTES))
            footer = int.from_bytes(stream.read(4), "little") + _FOOTER_END_BYTES
            stream.seek(0)
        digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        left = size - footer
        while left > 0 and (block := stream.read(min(left, _BLOCK_BYTES))):
            digest.update(block)
            left -= len(block)
        content = digest.hexdigest()
        digest.update(stream.read())
    try:
        rows = pq.read_metadata(file).num_rows if is_table else None
    except (pa.ArrowException, OSError):  # it is damaged, which the digest tells
        rows = None
    return KeptFile(size, digest.hexdigest(), rows, content)


def bytes_digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def write_checked(table: pa.Table, place: object) -> None:
    """A table as Parquet whose pages carry checksums, so that whoever reads it notices damage, too."""
    pq.write_table(table, place, compression="zstd", write_page_checksum=True)


def files_in(folder: Path) -> dict[str, Path]:
    """The files that hold data, by their paths in the folder."""
    found = (file for file in folder.rglob("*") if file.is_file() and file.name[0] not in "._")
    return {file.relative_to(folder).as_posix(): file for file in found}
