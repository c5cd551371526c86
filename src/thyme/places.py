"""Places: where datasets, runs and studies are kept, in the file system or in a store that a URI names.

A place in the file system is a `Path`, also if it was given as a `file:` URI; one in an object store or in HDFS is a
`Remote`, which has the few methods of a `Path` that are needed there. `place_of` makes either of what a person gave. A
store has no atomic rename, so nothing is drafted there: a dataset is complete when its list of files exists, which is
written last.

Stores are reached by Arrow's file systems, and by those of `fsspec` where it is installed. Keys and addresses of S3 are
found as Amazon's own tools find them (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, roles, profiles).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from thyme import drafts
from thyme.model.errors import InputError

S3_SCHEMES = ("s3", "s3a", "s3n")
S3_ADDRESSES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION")
"""The address of S3, which is sent to workers; they have credentials of their own, by variables or by their role."""
ARROW_SCHEMES = (*S3_SCHEMES, "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""How a URI begins; a single letter would be a drive."""


@dataclass(frozen=True)
class Remote:
    """A place in a store, by its URI."""

    uri: str

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self.uri}/{name}")

    @property
    def scheme(self) -> str:
        return self.uri.partition(":")[0]

    @property
    def name(self) -> str:
        return self.uri.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    def arrow(self) -> tuple[Any, str]:
        """The file system of the store, as Arrow has it, and the path in it; InputError if there is none."""
        below = self.uri.partition("://")[2]
        store, _, path = below.partition("/")
        return file_system(self.scheme, store), f"/{path}" if self.scheme in ("hdfs", "viewfs") else below

    def exists(self) -> bool:
        return self._is("File", "Directory")

    def is_file(self) -> bool:
        return self._is("File")

    def is_dir(self) -> bool:
        return self._is("Directory")

    def read_bytes(self) -> bytes:
        system, path = self.arrow()
        with _answering(self), system.open_input_stream(path, compression=None) as stream:
            return bytes(stream.read())

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, content: bytes) -> None:
        with _answering(self), self.open_output() as stream:
            stream.write(content)

    def open_output(self) -> Any:
        """A stream for a new object; in an object store the object exists once the stream is closed."""
        system, path = self.arrow()
        with _answering(self):
            if self.scheme not in S3_SCHEMES:  # there, a folder is only a part of names
                system.create_dir(path.rpartition("/")[0], recursive=True)
            return system.open_output_stream(path, compression=None)

    def sizes(self) -> dict[str, int]:
        """The sizes of all objects below, by relative name."""
        from pyarrow.fs import FileSelector, FileType

        system, path = self.arrow()
        with _answering(self):
            found = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        return {one.path[len(path) + 1 :]: one.size for one in found if one.type == FileType.File}

    def size_bytes(self) -> int:
        """FileNotFoundError if there is no such object."""
        system, path = self.arrow()
        with _answering(self):
            size = system.get_file_info(path).size
        if size is None:
            raise FileNotFoundError(self.uri)
        return int(size)

    def remove(self) -> None:
        system, path = self.arrow()
        with _answering(self):
            if self.is_dir():
                system.delete_dir(path)
            elif self.is_file():
                system.delete_file(path)

    def _is(self, *kinds: str) -> bool:
        system, path = self.arrow()
        with _answering(self):
            return system.get_file_info(path).type.name in kinds


@contextmanager
def _answering(place: Remote) -> Iterator[None]:
    """Turn errors of a store into InputError, except for files that do not exist."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{place}: the store refused ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


Place: TypeAlias = Path | Remote


def place_of(given: str | Path | Remote) -> Place:
    """The place that was given as a path or a URI; InputError if the kind of store is not known."""
    if isinstance(given, Remote):
        return given
    text = str(given)
    if isinstance(given, Path) or not _URI.match(text):
        return Path(given)
    scheme, rest = text.split(":", 1)
    if scheme.lower() == "file":
        path = urlsplit(f"file:{rest}")
        if path.netloc not in ("", "localhost"):
            raise InputError(f"{text}: names another machine; a file: URI of this one is file:///folder")
        return Path(unquote(path.path))
    if not rest.startswith("//") or not rest.strip("/"):
        raise InputError(f"{text}: an incomplete URI; expected {scheme}://STORE/PATH")
    remote = Remote(f"{scheme.lower()}:{rest.rstrip('/')}")
    remote.arrow()
    return remote


def local_place(given: str | Path, what: str) -> Path:
    """The same for what has to be in the file system."""
    place = place_of(given)
    if isinstance(place, Remote):
        raise InputError(f"{place}: {what} has to be in the file system; give a folder")
    return place


def whole_place(place: Place) -> Place:
    """The place as another process finds it, whatever folder that works in."""
    return place if isinstance(place, Remote) else place.absolute()


def write_file(place: Place, content: bytes) -> None:
    """Write a file or an object whole."""
    if isinstance(place, Remote):
        place.write_bytes(content)
    else:
        drafts.write_file(place, content)


def file_sizes(place: Place) -> dict[str, int]:
    """The sizes of all files below a place, by relative path."""
    if isinstance(place, Remote):
        return place.sizes()
    files = (file for file in place.rglob("*") if file.is_file())
    return {file.relative_to(place).as_posix(): file.stat().st_size for file in files}


def has_content(folder: Place) -> bool:
    """Whether an existing folder contains anything."""
    return bool(folder.sizes()) if isinstance(folder, Remote) else any(folder.iterdir())


def remove(place: Place) -> None:
    """Remove a file, a folder, or all objects below a name in a store; missing ones are ignored."""
    if isinstance(place, Remote):
        place.remove()
    elif place.is_file() or place.is_symlink():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)


def for_arrow(place: Place) -> dict[str, Any]:
    """Further arguments for Arrow's readers, besides the paths of `arrow_path`."""
    return {"filesystem": place.arrow()[0]} if isinstance(place, Remote) else {}


def arrow_path(place: Place) -> str:
    return place.arrow()[1] if isinstance(place, Remote) else str(place)


@cache
def file_system(scheme: str, store: str) -> Any:
    from pyarrow import fs

    if scheme in S3_SCHEMES:
        return _s3(store)
    try:
        if scheme in ARROW_SCHEMES:
            return fs.FileSystem.from_uri(f"{scheme}://{store}/")[0]
    except (OSError, ValueError, ImportError) as error:  # ArrowInvalid is a ValueError
        raise InputError(f"{scheme}://{store}: cannot be reached ({_first_line(error)})") from error
    try:
        import fsspec
    except ImportError as error:
        known = ", ".join(("file", *ARROW_SCHEMES))
        raise InputError(f"{scheme}: is not a known store; expected {known}, or install fsspec for it") from error
    try:
        return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(scheme)))
    except (ValueError, ImportError) as error:
        raise InputError(f"{scheme}: is not a known store ({error})") from error


def _s3(bucket: str) -> Any:
    """S3, or what speaks like it where `AWS_ENDPOINT_URL` says."""
    from pyarrow import fs

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    options = {"region": region} if region else {}
    if endpoint:
        address = urlsplit(endpoint)
        options |= {"endpoint_override": address.netloc, "scheme": address.scheme}
    try:
        return fs.S3FileSystem(**options) if options else fs.FileSystem.from_uri(f"s3://{bucket}")[0]
    except (OSError, ValueError) as error:
        raise InputError(f"s3://{bucket}: cannot be reached ({_first_line(error)})") from error
