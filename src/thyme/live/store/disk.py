"""`DiskStore`: a `thyme.host.Store` that outlives the process.

Records are kept in memory as well, as the approaches' own tables are; contents are read from the disk. Changes are seen
at once and gathered; a thread writes one batch of them at a time, so that the event loop never waits for the disk, and
changes made meanwhile are in the next batch: the busier the node, the more changes share one sync.

Durability is `full` (what was committed survives a power cut; the default) or `batched` (written every half a second,
and an answer does not wait: the end of the process loses nothing that was written, a kill or a power cut at most the
last half second). When the disk is nearly full, or the store as large as it may be, what is new is refused with one
clear error; what was accepted is still written, and everything else goes on.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from thyme.live.store.database import Database
from thyme.live.store.files import ContentFiles, StoredContent
from thyme.live.store.journal import Growth, Records
from thyme.live.store.room import DiskOptions, Room
from thyme.live.store.writing import WriteBatch, Writer, Written, read_inline
from thyme.model.errors import InputError

logger = logging.getLogger("thyme.live")

Done = Callable[[], None]
CLOSE_S = 5.0
"""How long closing waits for the last write."""
CLOSE_LOOK_S = 0.001


class DiskStore:
    """One node's disk. To be opened within the event loop that it serves."""

    def __init__(
        self,
        folder: Path,
        about: dict[str, str],
        options: DiskOptions | None = None,
        *,
        thread: Executor | None = None,
    ) -> None:
        """`about` identifies the owner of the store; the folder of another node is refused. `thread` writes the batches
        in their order, for simulations."""
        self._options = options or DiskOptions()
        full = self._options.durability == "full"
        self._folder = folder
        self._loop = asyncio.get_running_loop()
        self._database = Database(folder, full=full)
        try:
            _check_owner(self._database.writing, folder, about)
            self._records, self._contents = self._database.records, _contents(self._database.reading)
            self._files = ContentFiles(folder, full=full)
            self._files.keep_only(stored.file for stored in self._contents.values() if stored.file)
        except BaseException:
            self._database.close()
            raise
        self._writer = Writer(self._database.writing, self._files, folder, self._options)
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="store")
        self.room = Room(folder, self._options, about.get("node", ""), self._writer.free_bytes())
        for records in self._records.values():
            for key, value in records.items():
                self.room.add(key, len(value))
        for key, stored in self._contents.items():
            self.room.add(key, stored.size_bytes)
        self.journal = Growth(self._database.journal_bytes)
        self._whole: Records | None = None
        """All records, while the journal is rewritten."""
        self._gathered, self._under_way = WriteBatch(), WriteBatch()
        self._writing = False
        """Whether a batch is under way."""
        self._after_gathered: list[Done] = []
        self._after_under_way: list[Done] = []
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._warned = False

    @property
    def settled(self) -> bool:
        """Whether all changes are on the disk."""
        return not self._gathered and not self._writing

    def put(self, kind: str, key: str, value: bytes) -> None:
        records = self._records.get(kind)
        if records is None:
            records = self._records[kind] = {}
        before = records.get(key)
        if before is None:
            self.room.take(key, len(value))
        else:
            self.room.add(key, len(value) - len(before))
        records[key] = value
        self._gathered.put(kind, key, value)
        if self._timer is None and not self._writing:
            self._write_soon()

    def get(self, kind: str, key: str) -> bytes | None:
        return self._records.get(kind, {}).get(key)

    def remove(self, kind: str, key: str) -> None:
        value = self._records.get(kind, {}).pop(key, None)
        if value is not None:
            self.room.add(key, -len(value))
            self._gathered.remove(kind, key)
            self._write_soon()

    def records(self) -> int:
        return sum(len(values) for values in self._records.values())

    def items(self, kind: str) -> Iterator[tuple[str, bytes]]:
        return iter(list(self._records.get(kind, {}).items()))

    def write(
        self, key: str, offset: int, part: bytes, written: Done | None = None, *, since_s: float | None = None
    ) -> None:
        self.room.expect(key, len(part), since_s)
        self.room.add(key, max(0, offset + len(part) - self.size(key)))
        self._gathered.write(key, offset, part, written)
        self._write_soon(at_once=written is not None)

    def read(self, key: str, offset: int, size: int) -> bytes:
        offset, size = max(0, offset), max(0, min(size, self.size(key) - offset))
        if key not in self._gathered.contents and key not in self._under_way.contents:
            stored = self._contents.get(key)
            return self._from_disk(key, stored, offset, size) if stored is not None else b""
        data = bytearray(size)
        for first, part in self._pieces(key, offset, size):
            low, high = max(first, offset), min(first + len(part), offset + size)
            if low < high:
                data[low - offset : high - offset] = part[low - first : high - first]
        return bytes(data) if self.size(key) else b""

    def file_of(self, key: str) -> Path | None:
        """Path of a complete content, for readers in another thread; None if it is not in a file, or not yet."""
        stored = self._contents.get(key)
        under_way = key in self._gathered.contents or key in self._under_way.contents
        return self._files.path(stored) if stored is not None and stored.file and not under_way else None

    def size(self, key: str) -> int:
        if key not in self._gathered.contents and key not in self._under_way.contents:
            known = self._contents.get(key)
            return known.size_bytes if known is not None else 0
        ends = [0]
        for batch in (self._gathered, self._under_way):
            change = batch.contents.get(key)
            if change is not None:
                ends += [offset + len(part) for offset, part in change.parts]
                if change.anew:
                    return max(ends)
        stored = self._contents.get(key)
        return max(*ends, stored.size_bytes if stored else 0)

    def discard(self, key: str) -> None:
        size_bytes = self.size(key)
        if size_bytes or key in self._contents:
            self.room.add(key, -size_bytes)
            self._gathered.discard(key)
            self._write_soon()

    def commit(self, done: Done) -> None:
        if self._options.durability == "batched":
            done()
        elif self._gathered.awaited:
            self._after_gathered.append(done)
        elif self._under_way.awaited:
            self._after_under_way.append(done)
        else:
            done()

    async def close(self) -> None:
        """Write pending changes, and release the folder."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._gathered and not self._writing:
            self._begin()
        give_up_s = self._loop.time() + CLOSE_S
        while not self.settled and self._loop.time() < give_up_s:
            await asyncio.sleep(CLOSE_LOOK_S)
        if not self.settled:
            logger.error("the last changes could not be written to %s", self._folder)
        self.release()

    def release(self) -> None:
        """Release the folder; changes that are not on the disk are lost."""
        self._thread.shutdown()
        self._files.opened.close_all()
        self._database.close()

    def _pieces(self, key: str, offset: int, size: int) -> Iterator[tuple[int, bytes]]:
        """The parts of a content, oldest first: the part on the disk, then those not written yet."""
        changes = [batch.contents.get(key) for batch in (self._under_way, self._gathered)]
        anew = [change is not None and change.anew for change in changes]
        stored = self._contents.get(key)
        if stored is not None and not any(anew):
            yield offset, self._from_disk(key, stored, offset, size)
        for i, change in enumerate(changes):
            if change is not None and not any(anew[i + 1 :]):
                yield from change.parts

    def _from_disk(self, key: str, stored: StoredContent, offset: int, size: int) -> bytes:
        if not stored.file:
            return read_inline(self._database.reading, key)[offset : offset + size]
        part = self._files.read(key, stored, offset, size)
        if part is None:
            self.discard(key)
            return b""
        return part

    def _write_soon(self, *, at_once: bool = False) -> None:
        """The writer of a large content waits until this part is written before it passes the next one."""
        if at_once and self._timer is not None and not self._writing:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and not self._writing:
            wait_s = self._options.batch_s if self._options.durability == "batched" and not at_once else 0.0
            self._timer = self._loop.call_later(wait_s, self._begin) if wait_s else self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._timer = None
        if self._writing or not self._gathered:
            return
        self._under_way, self._gathered, self._writing = self._gathered, WriteBatch(), True
        self._after_under_way, self._after_gathered = self._after_gathered, []
        if self.journal.outgrown(self._records):
            self._whole = {kind: values.copy() for kind, values in self._records.items()}
        self._try()

    def _try(self) -> None:
        def written(future: Future[Written]) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits for the result
                self._loop.call_soon_threadsafe(self._ended, future)

        batch = self._under_way
        known = {key: self._contents[key] for key in batch.contents if key in self._contents}
        self._thread.submit(self._writer.apply, batch, known, self._whole).add_done_callback(written)

    def _ended(self, future: Future[Written]) -> None:
        try:
            written = future.result()
        except (OSError, sqlite3.Error) as error:
            self._fail(error)
            return
        self._warned = self.room.failing = False
        self.room.free_bytes = written.free_bytes
        self.journal.size_bytes = written.journal_bytes + (self.journal.size_bytes if self._whole is None else 0)
        self._whole = None
        for key, stored in written.contents.items():
            if (before := self._contents.get(key)) is not None and (stored is None or stored.file != before.file):
                self._files.opened.close(before.file)
            if stored is None:
                self._contents.pop(key, None)
            else:
                self._contents[key] = stored
        after = [*self._after_under_way, *self._under_way.written]
        self._under_way, self._after_under_way, self._writing = WriteBatch(), [], False
        if self._gathered:
            self._write_soon(at_once=bool(self._gathered.written))
        for done in after:
            try:
                done()
            except Exception:
                logger.exception("a callback that waited for %s failed", self._folder)

    def _fail(self, error: Exception) -> None:
        """The disk did not take what it should have: nothing that depends on it is answered until it does."""
        self.room.failing = True
        if not self._warned:
            self._warned = True
            logger.error("cannot write to %s (%s): answers are delayed until writing works again", self._folder, error)
        self._loop.call_later(self._options.retry_s, self._try)


def _check_owner(connection: sqlite3.Connection, folder: Path, about: dict[str, str]) -> None:
    found = dict(connection.execute("SELECT name, value FROM about"))
    for name, value in about.items():
        if found.get(name, value) != value:
            if name == "approach":
                raise InputError(
                    f"{folder} holds what this node stored with the approach {found[name]}, not {value}: start it with "
                    f"--approach {found[name]}, or choose another folder"
                )
            raise InputError(
                f"{folder} is the store of another node ({name} {found[name]}, not {value}); choose another folder"
            )
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))


def _contents(connection: sqlite3.Connection) -> dict[str, StoredContent]:
    rows = connection.execute("SELECT key, size_bytes, file, digest FROM contents")
    return {key: StoredContent(size_bytes, file or "", digest) for key, size_bytes, file, digest in rows}
