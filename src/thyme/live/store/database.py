"""The file of records: SQLite with a write-ahead log, written by one thread and read by another.

One process at a time uses a folder: it holds a transaction on a second, empty file while it runs. Tables: the store's
owner and approach, batches of changed records (`journal`), and contents (small ones inline, large ones by file name). A
file that cannot be read is set aside and reported, and a new one is created.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

from thyme.live.store import journal
from thyme.live.store.journal import Records
from thyme.model.errors import InputError

logger = logging.getLogger("thyme.live")

NAME = "records.sqlite3"
LOCK = "in-use.sqlite3"
DAMAGED = "damaged"
VERSION = 2
SCHEMA = f"""
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
{journal.TABLE};
CREATE TABLE contents (
    key TEXT PRIMARY KEY, size_bytes INTEGER NOT NULL, data BLOB, file TEXT, digest BLOB
);
"""
Step = str | Callable[[sqlite3.Connection], None]
MIGRATIONS: dict[int, Step] = {1: journal.from_rows}
"""From each older version of the schema, the statements that lead to the next, or what carries them out."""


class Database:
    """Two connections to one file, and the hold on its folder."""

    def __init__(self, folder: Path, *, full: bool) -> None:
        """The records in `folder`. With `full`, a commit returns when the disk has it; else when the system has it."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot keep a store in {folder}: {error.strerror or error}") from error
        self._hold = hold(folder)
        path = folder / NAME
        try:
            self.writing, self.records, self.journal_bytes = _opened_or_set_aside(path, full)
            self.reading = _connect(path)
        except BaseException:
            self._hold.close()
            raise

    def close(self) -> None:
        for connection in (self.reading, self.writing, self._hold):
            connection.close()


def set_aside(folder: Path, *paths: Path) -> Path:
    """Set a damaged file aside; its new path."""
    parent = folder / DAMAGED
    parent.mkdir(exist_ok=True)
    aside = parent / str(1 + sum(1 for _ in parent.iterdir()))
    aside.mkdir()
    for path in paths:
        if path.exists():
            path.rename(aside / path.name)
    return aside


def hold(folder: Path) -> sqlite3.Connection:
    """What no other process can have at the same time, until it is closed; InputError if one has it."""
    connection = _connect(folder / LOCK)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if "locked" in str(error):
            raise InputError(f"{folder} is in use by another node; give each node its own --store") from error
        raise InputError(f"cannot keep a store in {folder}: {error}") from error
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)


def _opened_or_set_aside(path: Path, full: bool) -> tuple[sqlite3.Connection, Records, int]:
    try:
        return _opened(path, full)
    except sqlite3.OperationalError as error:
        raise InputError(f"cannot open {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        aside = set_aside(path.parent, path, path.with_name(f"{NAME}-wal"), path.with_name(f"{NAME}-shm"))
        logger.warning("%s cannot be read (%s): it was set aside in %s, and a new one was created", path, error, aside)
        return _opened(path, full)


def _opened(path: Path, full: bool) -> tuple[sqlite3.Connection, Records, int]:
    """With the records that are there, and the size of their journal."""
    connection = _connect(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
        _bring_up_to_date(connection, path)
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        return connection, *journal.load(connection)
    except BaseException:
        connection.close()
        raise


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise InputError(
            f"{path} was written by a newer Thyme (schema {version}; this one reads {VERSION}); update Thyme"
        )
    steps: list[Step] = [SCHEMA] if version == 0 else [MIGRATIONS[number] for number in range(version, VERSION)]
    for step in steps:
        if not isinstance(step, str):
            step(connection)
            continue
        for statement in filter(str.strip, step.split(";\n")):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
