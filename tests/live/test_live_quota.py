"""A store of limited size and age: whose contents go first, what never goes, and what the user is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from thyme.approaches.eviction import Evictable, Rank
from thyme.host import StoreFull
from thyme.live import Node, OperationError
from thyme.live.node.quota import Quota
from thyme.live.store.disk import DiskStore
from thyme.live.store.room import DiskOptions
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.model.quantities import bytes_of, seconds_of

PATIENCE_S = 60.0
CELL = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.3, "settle_s": 0.2, "repair_s": 0.5}
CONTENT = bytes(range(250)) * 40
MOST_BYTES = 100_000


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await scene()

    asyncio.run(run())


async def until(true: Callable[[], Any]) -> None:
    while not true():
        await asyncio.sleep(0.02)


class Kept:
    """What an approach keeps for others, in a store: 1,000 bytes each."""

    def __init__(self, store: DiskStore) -> None:
        self.store = store
        self.here: dict[str, Evictable] = {}

    def put(self, name: str, rank: Rank, since_s: float | None) -> None:
        self.store.write(name, 0, bytes(1_000))
        self.here[name] = Evictable(
            ObjectKey(name.partition("@")[0], NodeId(2)), rank, 1_000, since_s, partial(self.drop, name)
        )

    def drop(self, name: str) -> None:
        self.store.discard(name)
        del self.here[name]

    def evictable(self) -> list[Evictable]:
        return list(self.here.values())


def quota_of(kept: Kept, options: DiskOptions, used: str = "") -> Quota:
    host = SimpleNamespace(node=1, now=lambda: 100.0, record=lambda event: None, after=lambda delay_s, action: None)
    return Quota(options, kept.store.room, cast(Any, host), cast(Any, kept), lambda key: key.oid == used)


RANKED = [
    ("sole", Rank.SOLE, 1.0),
    ("told", Rank.DELIVERED, None),
    ("young", Rank.FOR_OTHERS, 60.0),
    ("old", Rank.FOR_OTHERS, 50.0),
    ("replica", Rank.REPLICA, 70.0),
    ("draft", Rank.DRAFT, 90.0),
]


def test_what_is_dearest_goes_last_and_of_others_sole_copies_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        options = DiskOptions(most_bytes=10_000, headroom=0.0, reserve_bytes=0)
        kept = Kept(DiskStore(tmp_path, {}, options))
        for name, rank, since_s in RANKED:
            kept.put(name, rank, since_s)
        quota, went = quota_of(kept, options), []
        for size_bytes in (5_000, 6_000, 7_000, 8_000, 9_000, 9_500):
            before = set(kept.here)
            quota.make_room(size_bytes)
            went.append(before - set(kept.here))
        assert went == [{"draft"}, {"replica"}, {"old"}, {"young"}, {"told"}, set()]
        kept.store.write("mine", 0, bytes(9_000))
        with pytest.raises(StoreFull, match="has no room for 1 more; delete something first"):
            kept.store.write("more", 0, b"x")
        await kept.store.close()

    play(scene)
    assert "removed contents of 1000 bytes: 1 half-retrieved (made room)" in caplog.text


def test_little_room_is_made_room_of_before_it_is_none_and_what_is_in_use_stays(tmp_path: Path) -> None:
    async def scene() -> None:
        options = DiskOptions(most_bytes=20_000, headroom=0.1, reserve_bytes=0)
        kept = Kept(DiskStore(tmp_path, {}, options))
        quota_of(kept, options, used="c0").begin()
        for i in range(100):
            kept.put(f"c{i}", Rank.FOR_OTHERS, float(i))
            await asyncio.sleep(0)
            assert kept.store.room.held_bytes <= 20_000
        assert kept.store.room.held_bytes <= 18_000
        assert list(kept.here) == ["c0", *(f"c{i}" for i in range(101 - len(kept.here), 100))]
        await kept.store.close()

    play(scene)


def test_what_is_too_old_goes_and_that_includes_sole_copies(tmp_path: Path) -> None:
    async def scene() -> None:
        options = DiskOptions(most_age_s=45.0, reserve_bytes=0)
        kept = Kept(DiskStore(tmp_path, {}, options))
        for name, rank, since_s in RANKED:
            kept.put(name, rank, since_s)
        quota_of(kept, options).begin()
        assert set(kept.here) == {"told", "young", "replica", "draft"}
        await kept.store.close()

    play(scene)


def cell_options(folder: Path, number: int, **disk: Any) -> dict[str, Any]:
    place = {"position": (10.0 * number, 20.0), "store": folder / str(number)}
    return {"approach": "dcs", "settings": CELL, "disk": {"reserve_bytes": 0, **disk}, **place}


async def both_see_each_other(one: Node, two: Node) -> None:
    for node in (one, two):
        await node.device.joined.wait()
    await until(lambda: all(node.device.approach.cell.others for node in (one, two)))  # type: ignore[attr-defined]


def test_a_member_of_a_cell_makes_room_and_what_it_let_go_of_is_still_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = cell_options(tmp_path, 2, most_bytes=MOST_BYTES)

    def here(node: Node) -> list[str]:
        names = [f"o{i}@1" for i in range(15)]
        return [name for name in names if node.device.host.store.size(name)]

    async def scene() -> None:
        async with Node(1, **cell_options(tmp_path, 1)) as one:
            async with Node(2, peers=[one.address], **small) as two:
                await both_see_each_other(one, two)
                mine = await two.insert("mine", CONTENT, ["goal"])
                stream = await two.subscribe("goal")
                seen: set[str] = set()
                for i in range(15):
                    await one.insert(f"o{i}", CONTENT, ["goal"])
                    seen.update(here(two))
                found: dict[str, Metadata] = {}
                while len(found) < 16:
                    metadata = (await anext(stream)).metadata
                    found[metadata.key.oid] = metadata
                newest = {"o12@1", "o13@1", "o14@1"}
                await until(lambda: newest <= set(here(two)))
                seen.update(here(two))
                store = cast(DiskStore, two.device.host.store)
                assert store.room.held_bytes <= MOST_BYTES
                assert await two.retrieve(mine) == CONTENT
                assert await two.retrieve(found["o0"]) == CONTENT, "its owner has it"
                assert store.room.held_bytes <= MOST_BYTES
                let_go = seen - set(here(two))
                await asyncio.sleep(3 * CELL["repair_s"])  # type: ignore[operator]
                assert not let_go & set(here(two)), "members do not send a member again what it let go of"
                assert newest <= set(here(two)), "what was refused and comes again pushes out nothing newer"
            assert len(here(one)) == 15

    play(scene)
    assert "kept for others (its author's share is used)" in caplog.text


def test_one_author_cannot_fill_a_store_and_this_nodes_own_data_finds_room(tmp_path: Path) -> None:
    async def scene() -> None:
        options = DiskOptions(most_bytes=10_000, headroom=0.0, reserve_bytes=0)
        store = DiskStore(tmp_path, {"node": "1"}, options)
        store.write("good@3", 0, bytes(1_000))
        for i in range(60):
            store.put("held", f"{i:x}@2", bytes(100))
        with pytest.raises(StoreFull, match=r"node 2 has used its share of the store in .*, 6000 bytes"):
            store.put("held", "one more@2", bytes(100))
        assert store.room.held_of["2"] == 6_000
        store.write("better@3", 0, bytes(2_000))
        with pytest.raises(StoreFull, match="has no room for 500 more"):
            store.write("another@4", 0, bytes(500))
        store.write("mine@1", 0, bytes(900))
        store.put("notified", "7", bytes(90))
        store.remove("held", "0@2")
        store.discard("good@3")
        assert (store.room.held_of["2"], store.room.held_of["3"]) == (5_900, 2_000)
        await store.close()
        again = DiskStore(tmp_path, {"node": "1"}, options)
        assert (again.room.held_of["2"], again.room.held_bytes) == (5_900, 5_900 + 2_000 + 990)
        await again.close()

    play(scene)


def test_an_older_object_that_comes_again_pushes_out_no_newer_one_of_its_author(tmp_path: Path) -> None:
    async def scene() -> None:
        options = DiskOptions(most_bytes=10_000, headroom=0.0, reserve_bytes=0)
        kept = Kept(DiskStore(tmp_path, {"node": "1"}, options))
        quota_of(kept, options).begin()
        for at_s in range(10, 16):
            kept.put(f"c{at_s}@2", Rank.FOR_OTHERS, float(at_s))
        for late_s, stays in ((9.0, True), (12.5, False)):
            for _ in range(3):
                with suppress(StoreFull):
                    kept.store.write("late@2", 0, bytes(1_000), since_s=late_s)
                await asyncio.sleep(0)
            assert ("c10@2" in kept.here) == stays
            assert [f"c{at_s}@2" in kept.here for at_s in range(13, 16)] == [True] * 3
        await kept.store.close()

    play(scene)


def test_a_member_that_floods_the_cell_displaces_nobody_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    small = cell_options(tmp_path, 2, most_bytes=100_000)

    async def scene() -> None:
        async with (
            Node(1, **cell_options(tmp_path, 1)) as honest,
            Node(2, peers=[honest.address], **small) as victim,
            Node(3, peers=[honest.address, victim.address], **cell_options(tmp_path, 3)) as flooder,
        ):
            await both_see_each_other(honest, victim)
            await flooder.device.joined.wait()
            good = await honest.insert("good", CONTENT, ["good"])
            await until(lambda: victim.device.host.store.size("good@1") > 0)
            ends = await asyncio.gather(
                *(flooder.insert(f"x{i}", bytes(100), ["x"], b"s" * 300) for i in range(400)), return_exceptions=True
            )
            assert any(not isinstance(end, BaseException) for end in ends)
            room = cast(DiskStore, victim.device.host.store).room
            assert room.held_of["3"] <= room.share_bytes
            assert victim.device.host.store.size("good@1") == good.size_bytes, "an honest member's content stays"
            mine = await victim.insert("mine", CONTENT[:5_000], ["mine"])
            assert await victim.retrieve(mine) == CONTENT[:5_000]

    play(scene)
    assert "refuses new objects of node 3, which has used its share" in caplog.text


def test_a_node_full_of_its_own_objects_refuses_more_with_a_clear_word_and_goes_on(tmp_path: Path) -> None:
    async def scene() -> None:
        disk = {"most_bytes": 30_000, "reserve_bytes": 0}
        async with Node(1, store=tmp_path, settings={"join": {"wait_s": 0.1}}, disk=disk) as node:
            await node.device.joined.wait()
            first = await node.insert("one", CONTENT, ["goal"])
            await node.insert("two", CONTENT, ["goal"])
            with pytest.raises(InputError, match=r"of 30000 bytes and has no room for 10000 more; delete something"):
                await node.insert("three", CONTENT, ["goal"])
            assert await node.retrieve(first) == CONTENT
            await node.delete("two")
            await node.insert("four", CONTENT, ["goal"])

    play(scene)


def test_a_full_server_refuses_with_its_reason_and_keeps_what_it_has(tmp_path: Path) -> None:
    async def scene() -> None:
        es: dict[str, Any] = {"approach": "es", "settings": {"servers": [1]}}
        disk = {"most_bytes": 25_000, "reserve_bytes": 0}
        async with (
            Node(1, store=tmp_path, disk=disk, **es) as server,
            Node(2, store="memory", peers=[server.address], **es) as client,
        ):
            await client.device.joined.wait()
            small = CONTENT[:1_000]
            kept: list[Metadata] = []

            async def fill() -> None:
                while len(kept) < 30:
                    kept.append(await client.insert(f"o{len(kept)}", small, ["goal"]))

            with pytest.raises(OperationError, match="refused"):
                await fill()
            assert len(kept) > 10
            for metadata in kept:
                assert await client.retrieve(metadata) == small

    play(scene)


def test_quantities_are_read_as_people_write_them() -> None:
    assert [bytes_of(text, "--x") for text in ("0", "1500", "500MB", "1.5 gb")] == [0, 1500, 500_000_000, 1_500_000_000]
    assert [seconds_of(text, "--x") for text in ("90", "90s", "2h", "7d")] == [90.0, 90.0, 7_200.0, 604_800.0]
    for text in ("", "much", "5 parsecs", "-1", "1e9"):
        with pytest.raises(InputError, match=r"--x .*: expected a size such as"):
            bytes_of(text, "--x")
