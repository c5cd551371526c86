"""Batches: changes that reach the disk together, or not at all.

A batch is written by one thread: first the files of large contents, then everything else (records to the `journal`) and
the list of valid files in one transaction, and only then obsolete files are removed. So after a crash at any time, the
store has the state after some batch. Parts of a content that can be retrieved again are written without a sync.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec

from thyme.live.store import journal
from thyme.live.store.files import ContentFiles, Parts, StoredContent
from thyme.live.store.journal import Names, Records
from thyme.live.store.room import DiskOptions

logger = logging.getLogger("thyme.live")

SPARE = "spare"
INLINE_BYTES = 16_384
"""Contents up to this size are kept in the database: a file of its own costs two more waits for the disk."""


class _Change(msgspec.Struct):
    """What a batch does to one content."""

    anew: bool = False
    parts: Parts = []
    lasting: bool = False
    """Whether what was written has to survive a power cut, and with it whatever was written before."""


class WriteBatch:
    """Changes in the order in which they were made."""

    def __init__(self) -> None:
        self.gone: Names = {}
        """Records that were removed, and perhaps put again since."""
        self.records: Records = {}
        """Those that were put, and not removed since."""
        self.contents: dict[str, _Change] = {}
        self.awaited = False
        """Whether something has to wait until this is on the disk."""
        self.written: list[Callable[[], None]] = []
        """Called when this is on the disk."""

    def __bool__(self) -> bool:
        return bool(self.records or self.gone or self.contents)

    def put(self, kind: str, key: str, value: bytes) -> None:
        records = self.records.get(kind)
        if records is None:
            records = self.records[kind] = {}
        records[key] = value
        self.awaited = True

    def remove(self, kind: str, key: str) -> None:
        self.records.get(kind, {}).pop(key, None)
        self.gone.setdefault(kind, {})[key] = None
        self.awaited = True

    def write(self, key: str, offset: int, part: bytes, written: Callable[[], None] | None) -> None:
        change = self.contents.setdefault(key, _Change())
        change.parts.append((offset, part))
        if written is None:
            self.awaited = change.lasting = True
        else:
            self.written.append(written)

    def discard(self, key: str) -> None:
        self.contents[key] = _Change(anew=True)
        self.awaited = True


class Written(msgspec.Struct, frozen=True):
    contents: dict[str, StoredContent | None]
    """What has become of those that were changed."""
    journal_bytes: int
    """By how much the journal has grown, or its size if it was rewritten."""
    free_bytes: int


class Spare:
    """A file that takes room on the disk until it is needed."""

    def __init__(self, path: Path, options: DiskOptions) -> None:
        self._path = path
        self._options = options
        self._here = path.exists() and path.stat().st_size >= options.spare_bytes
        self.renew(shutil.disk_usage(path.parent).free)

    def release(self) -> bool:
        """Whether there was one."""
        was_here, self._here = self._here, False
        if was_here:
            logger.warning("the disk of %s is full: no new contents until there is room again", self._path.parent)
        self._path.unlink(missing_ok=True)
        return was_here

    def renew(self, free_bytes: int) -> None:
        """Take the room again when there is plenty."""
        size_bytes = self._options.spare_bytes
        if self._here or not size_bytes or free_bytes < self._options.reserve_bytes + size_bytes:
            return
        try:
            with self._path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size_bytes)
                else:
                    file.write(bytes(size_bytes))
            self._here = True
        except OSError:  # another program took the space
            self._path.unlink(missing_ok=True)


class Writer:
    """Brings batches to the disk. Used by one thread alone."""

    def __init__(self, connection: sqlite3.Connection, files: ContentFiles, folder: Path, options: DiskOptions) -> None:
        self._full = options.durability == "full"
        self._spare = Spare(folder / SPARE, options)
        self._connection = connection
        self._files = files
        self._folder = folder

    def apply(self, batch: WriteBatch, known: dict[str, StoredContent], whole: Records | None = None) -> Written:
        """Write a batch. `known` are the contents before it, and `whole` all records after it, if the journal is to be
        rewritten. On a full disk, the reserved file is released and the batch tried again."""
        try:
            written = self._apply(batch, known, whole)
        except (OSError, sqlite3.Error):
            if not self._spare.release():
                raise
            written = self._apply(batch, known, whole)
        self._spare.renew(written.free_bytes)
        return written

    def _apply(self, batch: WriteBatch, known: dict[str, StoredContent], whole: Records | None) -> Written:
        outcome: dict[str, StoredContent | None] = {}
        inline: dict[str, bytes] = {}
        for key, change in batch.contents.items():
            outcome[key] = self._write(key, change, None if change.anew else known.get(key), inline)
        if any(stored is not None and stored.file and batch.contents[key].lasting for key, stored in outcome.items()):
            self._files.sync()
        connection = self._connection
        if connection.in_transaction:  # a batch that failed half-way is tried again
            connection.execute("ROLLBACK")
        if self._full:
            connection.execute(f"PRAGMA synchronous = {'FULL' if batch.awaited else 'NORMAL'}")
        connection.execute("BEGIN IMMEDIATE")
        if whole is None:
            journal_bytes = journal.add(connection, batch.gone, batch.records)
        else:
            journal_bytes = journal.replace(connection, whole)
        connection.executemany(
            "DELETE FROM contents WHERE key = ?", [(key,) for key, stored in outcome.items() if stored is None]
        )
        connection.executemany(
            "INSERT OR REPLACE INTO contents VALUES (?, ?, ?, ?, ?)",
            [
                (key, stored.size_bytes, inline.get(key), stored.file or None, stored.digest)
                for key, stored in outcome.items()
                if stored is not None
            ],
        )
        connection.execute("COMMIT")
        for key, stored in outcome.items():
            former = known.get(key)
            if former is not None and former.file and (stored is None or stored.file != former.file):
                self._files.remove(former.file)
        return Written(outcome, journal_bytes, self.free_bytes())

    def free_bytes(self) -> int:
        return shutil.disk_usage(self._folder).free

    def _write(
        self, key: str, change: _Change, former: StoredContent | None, inline: dict[str, bytes]
    ) -> StoredContent | None:
        if not change.parts:
            return former
        if former is None and len(change.parts) == 1:
            offset, part = change.parts[0]
            if offset == 0 and len(part) <= INLINE_BYTES:  # as most are
                inline[key] = part
                return StoredContent(len(part))
        if former is not None and former.file:
            return self._files.extend(former, change.parts, change.lasting)
        before = read_inline(self._connection, key) if former is not None else b""
        size_bytes = max(len(before), *(offset + len(part) for offset, part in change.parts))
        if size_bytes > INLINE_BYTES:
            return self._files.write(key, before, change.parts, change.lasting)
        data = bytearray(before.ljust(size_bytes, b"\0"))
        for offset, part in change.parts:
            data[offset : offset + len(part)] = part
        inline[key] = bytes(data)
        return StoredContent(size_bytes)


def read_inline(connection: sqlite3.Connection, key: str) -> bytes:
    """A content that is kept in the database."""
    row = connection.execute("SELECT data FROM contents WHERE key = ?", (key,)).fetchone()
    return bytes(row[0]) if row and row[0] is not None else b""
