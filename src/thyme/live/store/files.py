"""Large contents as files: each named by a hash of its key and a number of its own, so that no name is used twice.

The database lists the valid files and their sizes, and adds a file after it is on the disk: a file that is not listed
is a leftover of a crash and is removed at the next start. A content that was written in one piece has a digest, which
is checked when the content is first read; a file that does not match is set aside and reported.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec

from thyme.live.store.database import set_aside

logger = logging.getLogger("thyme.live")

FOLDER = "contents"
NAME_CHARS = 32
MAX_OPEN = 16
"""Files that stay open for reading."""
Parts = list[tuple[int, bytes]]
"""(offset, bytes), in the order in which they were written"""


class StoredContent(msgspec.Struct, frozen=True):
    """A content on the disk: in the database if `file` is empty."""

    size_bytes: int
    file: str = ""
    digest: bytes | None = None


class OpenFiles:
    """Open files that were read recently: a file is read in several parts. Used by one thread only."""

    def __init__(self) -> None:
        self._handles: dict[str, int] = {}

    def handle(self, path: Path) -> int:
        handle = self._handles.pop(path.name, None)
        if handle is None:
            handle = os.open(path, os.O_RDONLY)
            if len(self._handles) >= MAX_OPEN:
                self.close(next(iter(self._handles)))
        self._handles[path.name] = handle
        return handle

    def close(self, file: str) -> None:
        handle = self._handles.pop(file, None)
        if handle is not None:
            os.close(handle)

    def close_all(self) -> None:
        for file in list(self._handles):
            self.close(file)


class ContentFiles:
    def __init__(self, folder: Path, *, full: bool) -> None:
        self._store = folder
        self._folder = folder / FOLDER
        self._folder.mkdir(exist_ok=True)
        self._full = full
        self._number = 0
        self._checked: set[str] = set()
        self.opened = OpenFiles()

    def keep_only(self, files: Iterable[str]) -> None:
        """At the start: remove what no content names."""
        named = set(files)
        for path in self._folder.iterdir():
            if path.name not in named:
                path.unlink()
            else:
                self._number = max(self._number, int(path.name.rpartition("-")[2]))

    def write(self, key: str, before: bytes, parts: Parts, lasting: bool) -> StoredContent:
        """A new file of `before` and then `parts`."""
        self._number += 1
        name = f"{sha256(key.encode()).hexdigest()[:NAME_CHARS]}-{self._number}"
        try:
            self._put(name, [(0, before), *parts] if before else parts, os.O_CREAT | os.O_EXCL, lasting)
        except OSError:
            self.remove(name)
            raise
        size_bytes = max(offset + len(part) for offset, part in [(0, before), *parts])
        at_once = len(parts) == 1 and not before and parts[0][0] == 0
        return StoredContent(size_bytes, name, sha256(parts[0][1]).digest() if at_once else None)

    def extend(self, stored: StoredContent, parts: Parts, lasting: bool) -> StoredContent:
        self._put(stored.file, parts, 0, lasting)
        size_bytes = max(stored.size_bytes, *(offset + len(part) for offset, part in parts))
        return StoredContent(size_bytes, stored.file)

    def sync(self) -> None:
        """Names of new files last as their bytes do."""
        if self._full:
            handle = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def remove(self, file: str) -> None:
        (self._folder / file).unlink(missing_ok=True)

    def read(self, key: str, stored: StoredContent, offset: int, size: int) -> bytes | None:
        """A part of a content; None if the file is damaged, which is reported."""
        path = self.path(stored)
        try:
            if stored.file not in self._checked:
                self._check(path, stored)
                self._checked.add(stored.file)
            return os.pread(self.opened.handle(path), min(size, max(0, stored.size_bytes - offset)), offset)
        except (OSError, ValueError) as error:
            self.opened.close(path.name)
            aside = set_aside(self._store, path)
            logger.warning("the content of %s is damaged (%s): it was set aside in %s", key, error, aside)
            return None

    def path(self, stored: StoredContent) -> Path:
        return self._folder / stored.file

    def _check(self, path: Path, stored: StoredContent) -> None:
        found_bytes = path.stat().st_size
        if found_bytes < stored.size_bytes:
            raise ValueError(f"{found_bytes} bytes of {stored.size_bytes} are there")
        if stored.digest is not None and sha256(path.read_bytes()).digest() != stored.digest:
            raise ValueError("its bytes are not those that were written")

    def _put(self, name: str, parts: Parts, flags: int, lasting: bool) -> None:
        handle = os.open(self._folder / name, os.O_RDWR | flags, 0o600)
        try:
            for offset, part in parts:
                view, at = memoryview(part), offset
                while view:
                    written = os.pwrite(handle, view, at)
                    view, at = view[written:], at + written
            if self._full and lasting:
                os.fsync(handle)
        finally:
            os.close(handle)
