"""The store on disk: what it keeps, what a crash leaves, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.host import MemoryStore, Store, StoreFull
from thyme.live.store import database, folders, journal
from thyme.live.store.database import LOCK, NAME
from thyme.live.store.disk import DiskStore
from thyme.live.store.files import FOLDER
from thyme.live.store.room import DiskOptions
from thyme.live.store.writing import INLINE_BYTES, Writer
from thyme.model.errors import InputError

ME = {"node": "1", "approach": "ls"}
LARGE = Random(1).randbytes(3 * INLINE_BYTES)
PATIENCE_S = 60.0


def with_store(
    folder: Path, use: Callable[[DiskStore], Awaitable[None]], options: DiskOptions | None = None, closed: bool = True
) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            store = DiskStore(folder, ME, options)
            try:
                await use(store)
            finally:
                if closed:
                    await store.close()

    asyncio.run(run())


async def committed(store: Store) -> None:
    done = asyncio.Event()
    store.commit(done.set)
    await done.wait()


async def nothing(store: DiskStore) -> None:
    """Open and close."""


def test_what_was_committed_is_there_again(tmp_path: Path) -> None:
    async def fill(store: DiskStore) -> None:
        for key in ("b", "a", "c"):
            store.put("letter", key, key.encode())
        store.remove("letter", "a")
        store.put("letter", "a", b"again")
        store.put("letter", "b", b"changed")
        store.write("small", 0, b"few bytes")
        store.write("large", 0, LARGE)
        store.write("gone", 0, LARGE)
        await committed(store)
        store.discard("gone")
        store.write("large", len(LARGE), b"and more")
        await committed(store)
        assert store.settled

    async def look(store: DiskStore) -> None:
        assert list(store.items("letter")) == [("b", b"changed"), ("c", b"c"), ("a", b"again")]
        assert store.read("small", 4, 100) == b"bytes"
        assert store.read("large", 0, 10**6) == LARGE + b"and more"
        assert (store.size("gone"), store.read("gone", 0, 5)) == (0, b"")

    with_store(tmp_path, fill)
    with_store(tmp_path, look)
    assert len(list((tmp_path / FOLDER).iterdir())) == 1


def test_changes_are_seen_before_they_are_on_the_disk(tmp_path: Path) -> None:
    async def use(store: DiskStore) -> None:
        store.put("kind", "key", b"value")
        store.write("content", 0, b"0123456789")
        assert not store.settled
        assert store.get("kind", "key") == b"value"
        assert store.read("content", 2, 3) == b"234"
        await committed(store)
        store.write("content", 4, b"XY")
        assert store.read("content", 0, 10) == b"0123XY6789"
        store.discard("content")
        store.write("content", 0, b"new")
        assert (store.size("content"), store.read("content", 0, 10)) == (3, b"new")

    with_store(tmp_path, use)


kinds = st.sampled_from(["object", "subscription"])
keys = st.sampled_from(["one", "two", "three"])
parts = st.sampled_from([b"", b"x", b"few bytes", LARGE[: INLINE_BYTES + 1]])
steps = st.one_of(
    st.tuples(st.just("put"), kinds, keys, parts),
    st.tuples(st.just("remove"), kinds, keys),
    st.tuples(st.just("write"), keys, st.sampled_from([0, 3, INLINE_BYTES]), parts.filter(bool)),
    st.tuples(st.just("discard"), keys),
    st.tuples(st.just("commit")),
    st.tuples(st.just("reopen")),
)


@settings(max_examples=40)
@given(st.lists(steps, max_size=25))
def test_it_holds_what_a_store_in_memory_holds(tmp_path_factory: pytest.TempPathFactory, taken: list[tuple]) -> None:  # type: ignore[type-arg]
    folder = tmp_path_factory.mktemp("store")

    async def run() -> None:
        memory, disk = MemoryStore(), DiskStore(folder, ME)
        for step, *arguments in taken:
            if step == "reopen":
                await disk.close()
                disk = DiskStore(folder, ME)
            elif step == "commit":
                await committed(disk)
            else:
                getattr(memory, step)(*arguments)
                getattr(disk, step)(*arguments)
            for kind in ("object", "subscription"):
                assert list(disk.items(kind)) == list(memory.items(kind))
            for key in ("one", "two", "three"):
                assert disk.size(key) == memory.size(key)
                assert disk.read(key, 2, 10**6) == memory.read(key, 2, 10**6)
        await disk.close()

    asyncio.run(run())


def test_commits_are_told_in_order_and_after_the_disk_has_them(tmp_path: Path) -> None:
    async def use(store: DiskStore) -> None:
        told: list[int] = []
        for i in range(50):
            store.put("kind", str(i), b"value")
            store.commit(lambda i=i: told.append(i))  # type: ignore[misc]
            assert i not in told, "the disk does not have it yet"
            if i % 7 == 0:
                await asyncio.sleep(0.001)
        await committed(store)
        assert told == list(range(50))
        with sqlite3.connect(tmp_path / NAME) as other:
            assert list(journal.load(other)[0]["kind"]) == [str(i) for i in range(50)]
        other.close()

    with_store(tmp_path, use)


def test_batched_answers_at_once_and_writes_soon(tmp_path: Path) -> None:
    async def use(store: DiskStore) -> None:
        told: list[int] = []
        store.put("kind", "key", b"value")
        store.commit(lambda: told.append(1))
        assert told == [1]
        assert not store.settled
        while not store.settled:
            await asyncio.sleep(0.01)

    with_store(tmp_path, use, DiskOptions(durability="batched", batch_s=0.05))


def test_a_folder_in_use_or_of_another_node_or_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async def use(store: DiskStore) -> None:
        with pytest.raises(InputError, match="in use by another node"):
            DiskStore(tmp_path, ME)

    with_store(tmp_path, use)

    async def other() -> None:
        with pytest.raises(InputError, match=r"store of another node \(node 1, not 2\)"):
            DiskStore(tmp_path, {**ME, "node": "2"})
        with pytest.raises(InputError, match=rf"start it with --approach {ME['approach']}, or choose another folder"):
            DiskStore(tmp_path, {**ME, "approach": "es"})

    asyncio.run(other())
    with sqlite3.connect(tmp_path / NAME) as found:
        found.execute("PRAGMA user_version = 99")
    found.close()
    with pytest.raises(InputError, match="newer Thyme"):
        with_store(tmp_path, nothing)


def test_a_store_of_an_older_version_is_brought_up_to_date_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fill(store: DiskStore) -> None:
        store.put("kind", "key", b"value")

    async def look(store: DiskStore) -> None:
        assert list(store.items("kind")) == [("key", b"value")]

    def version() -> tuple[int, list[str]]:
        with sqlite3.connect(tmp_path / NAME) as found:
            columns = [row[1] for row in found.execute("PRAGMA table_info(batches)")]
            number = int(found.execute("PRAGMA user_version").fetchone()[0])
        found.close()
        return number, columns

    with_store(tmp_path, fill)
    before = version()
    monkeypatch.setattr(database, "VERSION", database.VERSION + 1)
    added = "ALTER TABLE batches ADD COLUMN written_s REAL NOT NULL DEFAULT 0"
    monkeypatch.setitem(database.MIGRATIONS, database.VERSION - 1, f"{added};\nALTER TABLE nonsense DROP COLUMN x")
    with pytest.raises(InputError, match="nonsense"):
        with_store(tmp_path, nothing)
    assert version() == before
    monkeypatch.setitem(database.MIGRATIONS, database.VERSION - 1, added)
    with_store(tmp_path, look)
    assert version() == (database.VERSION, [*before[1], "written_s"])


def test_a_store_with_a_row_for_each_record_is_taken_over(tmp_path: Path) -> None:
    with_store(tmp_path, nothing)
    with sqlite3.connect(tmp_path / NAME) as older:
        older.execute("DROP TABLE batches")
        older.execute(
            "CREATE TABLE records (number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, key TEXT NOT NULL, "
            "value BLOB NOT NULL, UNIQUE (kind, key))"
        )
        rows = [("letter", "b", b"1"), ("number", "7", b""), ("letter", "a", b"2")]
        older.executemany("INSERT INTO records (kind, key, value) VALUES (?, ?, ?)", rows)
        older.execute("PRAGMA user_version = 1")
    older.close()

    async def look(store: DiskStore) -> None:
        assert list(store.items("letter")) == [("b", b"1"), ("a", b"2")]
        assert list(store.items("number")) == [("7", b"")]

    with_store(tmp_path, look)
    with_store(tmp_path, look)


def test_a_journal_that_is_mostly_outdated_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LEAST_BYTES", 10_000)
    monkeypatch.setattr(journal, "ROW_RECORDS", 7)
    left = [(f"{i:03}", bytes([i]) * 20) for i in (*range(50, 100), 3)]
    sizes: list[int] = []

    async def use(store: DiskStore) -> None:
        for i in range(100):
            store.put("kind", f"{i:03}", bytes([i]) * 20)
        for i in range(50):
            store.remove("kind", f"{i:03}")
        store.put("kind", "003", bytes([3]) * 20)
        for i in range(300):
            store.put("other", "same", str(i).encode() * 50)
            await committed(store)
            sizes.append(store.journal.size_bytes)
        assert list(store.items("kind")) == left

    async def look(store: DiskStore) -> None:
        assert list(store.items("kind")) == left
        assert list(store.items("other")) == [("same", b"299" * 50)]
        assert store.journal.size_bytes == sizes[-1]

    with_store(tmp_path, use)
    with_store(tmp_path, look)
    assert max(sizes) < 10_000 + 2 * 2_500 + 200, "it never grew much beyond what there is"
    assert sizes[-1] < max(sizes) < 300 * 100, "else it would hold all that was ever put"


def test_a_batch_that_cannot_be_read_sets_the_database_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def fill(store: DiskStore) -> None:
        store.put("kind", "key", b"value")

    async def look(store: DiskStore) -> None:
        assert list(store.items("kind")) == []

    with_store(tmp_path, fill)
    with sqlite3.connect(tmp_path / NAME) as damaged:
        damaged.execute("UPDATE batches SET changes = x'93c0ff'")
    damaged.close()
    with_store(tmp_path, look)
    assert "set aside" in caplog.text


def test_a_damaged_database_is_set_aside_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def fill(store: DiskStore) -> None:
        store.put("kind", "key", b"value")

    async def look(store: DiskStore) -> None:
        assert list(store.items("kind")) == []
        store.put("kind", "new", b"works")

    with_store(tmp_path, fill)
    (tmp_path / NAME).write_bytes(b"this was a database once" * 1_000)
    with_store(tmp_path, look)
    assert "set aside" in caplog.text
    assert (tmp_path / "damaged" / "1" / NAME).exists()


@pytest.mark.parametrize("damage", [b"", LARGE[:100], LARGE[:-1] + b"?"])
def test_a_damaged_content_is_set_aside_and_told_and_the_rest_is_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes
) -> None:
    async def fill(store: DiskStore) -> None:
        store.write("bad", 0, LARGE)
        await committed(store)
        store.write("good", 0, LARGE)

    async def look(store: DiskStore) -> None:
        assert store.read("bad", 0, 10) == b""
        assert store.size("bad") == 0
        assert store.read("good", 0, 10**6) == LARGE

    with_store(tmp_path, fill)
    first = min((tmp_path / FOLDER).iterdir(), key=lambda path: int(path.name.rpartition("-")[2]))
    first.write_bytes(damage)
    with_store(tmp_path, look)
    assert "the content of bad is damaged" in caplog.text


def test_leftovers_of_a_crash_are_removed(tmp_path: Path) -> None:
    with_store(tmp_path, nothing)
    (tmp_path / FOLDER / "0123-7").write_bytes(b"half of something")
    with_store(tmp_path, nothing)
    assert list((tmp_path / FOLDER).iterdir()) == []
    assert (tmp_path / LOCK).exists()


def test_a_full_store_refuses_what_is_new_and_goes_on(tmp_path: Path) -> None:
    async def use(store: DiskStore) -> None:
        store.put("kind", "key", b"x" * 600)
        store.write("content", 0, b"y" * 300)
        with pytest.raises(StoreFull, match="delete something first"):
            store.put("kind", "new", b"x" * 200)
        with pytest.raises(StoreFull, match="delete something first"):
            store.write("content", 300, b"y" * 200)
        store.put("kind", "key", b"z" * 600)
        assert store.read("content", 0, 3) == b"yyy"
        store.discard("content")
        store.put("kind", "new", b"x" * 200)
        await committed(store)

    with_store(tmp_path, use, DiskOptions(most_bytes=1_000))


def test_a_full_disk_refuses_what_is_new_and_what_fails_is_answered_when_it_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(store: DiskStore) -> None:
        told = list[int]()

        def fail(*_: object) -> dict[str, None]:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(Writer, "apply", fail)
        store.put("kind", "key", b"value")
        store.commit(lambda: told.append(1))
        while "cannot write" not in caplog.text:
            await asyncio.sleep(0.005)
        with pytest.raises(StoreFull, match="is full"):
            store.put("kind", "new", b"value")
        assert told == []
        monkeypatch.undo()
        while not told:
            await asyncio.sleep(0.005)
        store.put("kind", "new", b"value")

    with_store(tmp_path, use, DiskOptions(retry_s=0.02, reserve_bytes=0))


def test_a_node_that_starts_with_another_approach_is_told_of_what_it_stored_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(folders, "data_folder", lambda: tmp_path)

    async def start(approach: str) -> int:
        caplog.clear()
        store = folders.open_store(None, 1, approach, DiskOptions())
        assert isinstance(store, DiskStore)
        store.put("object", "x", b"1")
        await store.close()
        return sum("start it with --approach ls to use that" in one.getMessage() for one in caplog.records)

    assert [asyncio.run(start(approach)) for approach in ("ls", "dcs", "dcs", "ls")] == [0, 1, 0, 0]
