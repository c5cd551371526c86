"""The journal of records: each row holds the changes of one batch, and all rows in order give the current records.

All records are in memory while a store is open, so the disk need not find one by its name, and a row for hundreds of
changes costs about as much as one for a single record. When most of the rows are outdated, they are replaced by rows of
the current records.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

Records = dict[str, dict[str, bytes]]
"""By kind and key, in the order in which the keys were first put."""
Names = dict[str, dict[str, None]]
"""Keys by kind."""
ROW_RECORDS = 1_000
"""Records in a row of the current records: other threads run in between."""
LEAST_BYTES = 8_000_000
"""A journal up to this size stays as it is."""
OUTDATED = 2.0
"""A journal this many times larger than the current records is rewritten."""
TABLE = "CREATE TABLE batches (number INTEGER PRIMARY KEY, changes BLOB NOT NULL)"
_ADD = "INSERT INTO batches (changes) VALUES (?)"
_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(tuple[Names, Records])


def load(connection: sqlite3.Connection) -> tuple[Records, int]:
    """The current records, and the size of the journal; a DatabaseError if it cannot be read."""
    records: Records = {}
    size_bytes = 0
    for (changes,) in connection.execute("SELECT changes FROM batches ORDER BY number"):
        size_bytes += len(changes)
        try:
            gone, put = _decoder.decode(changes)
        except (msgspec.MsgspecError, ValueError) as error:
            raise sqlite3.DatabaseError(f"a batch of records: {error}") from error
        for kind, keys in gone.items():
            for key in keys:
                records.get(kind, {}).pop(key, None)
        for kind, values in put.items():
            records.setdefault(kind, {}).update(values)
    return records, size_bytes


def add(connection: sqlite3.Connection, gone: Names, put: Records) -> int:
    """Write what a batch changed, the removed before the put; how large that is."""
    if not gone and not put:
        return 0
    changes = _encode((gone, put))
    connection.execute(_ADD, (changes,))
    return len(changes)


def replace(connection: sqlite3.Connection, records: Records) -> int:
    """Replace the whole journal by the current records; its new size."""
    connection.execute("DELETE FROM batches")
    return sum(add(connection, {}, {kind: part}) for kind, values in records.items() for part in _parts(values))


def _parts(values: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    left = iter(values.items())
    while part := dict(islice(left, ROW_RECORDS)):
        yield part


def from_rows(connection: sqlite3.Connection) -> None:
    """Schema 1 had a row for each record."""
    connection.execute(TABLE)
    replace(connection, _by_kind(connection.execute("SELECT kind, key, value FROM records ORDER BY number")))
    connection.execute("DROP TABLE records")


def _by_kind(rows: Iterable[tuple[str, str, bytes]]) -> Records:
    records: Records = {}
    for kind, key, value in rows:
        records.setdefault(kind, {})[key] = bytes(value)
    return records


class Growth:
    """When to rewrite a journal. The current records are counted only occasionally, as the journal grows."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._look_bytes = LEAST_BYTES

    def outgrown(self, records: Records) -> bool:
        if self.size_bytes <= self._look_bytes:
            return False
        live_bytes = sum(sum(map(len, values)) + sum(map(len, values.values())) for values in records.values())
        if self.size_bytes > LEAST_BYTES + OUTDATED * live_bytes:
            self._look_bytes = LEAST_BYTES
            return True
        self._look_bytes = int(LEAST_BYTES + OUTDATED * live_bytes)
        return False
