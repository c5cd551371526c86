"""What an application may give to a node, what it gets, and that whatever it gives wrongly is an `InputError`."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import thyme
from thyme.live.node.arguments import frame_of, span_s
from thyme.live.node.position import MovementDetector
from thyme.model.geometry import Point

QUICK = {"join": {"wait_s": 0.05}}
CELL = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.1, "settle_s": 0.1, "beacons": {"period_s": 0.1}}
SETTINGS: dict[str, dict[str, Any]] = {"ls": QUICK, "dcs": CELL, "es": {"servers": [1]}}
PATIENCE_S = 60.0

Play = Callable[[thyme.Node, thyme.Node], Awaitable[None]]


def play(what: Play, approach: str = "ls") -> None:
    async def run() -> None:
        given: dict[str, Any] = {"store": "memory", "approach": approach, "settings": SETTINGS[approach]}
        async with thyme.Node(1, **given) as one, thyme.Node(2, peers=[one.address], **given) as two:
            await one.device.joined.wait()
            await two.device.joined.wait()
            await what(one, two)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


async def pieces() -> AsyncIterator[bytes]:
    for _ in range(40):
        yield b"p" * 5_000
        yield b""


def fed() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(b"from a socket")
    reader.feed_eof()
    return reader


def test_bytes_texts_files_and_streams_of_any_kind_are_inserted(tmp_path: Path) -> None:
    (tmp_path / "film").write_bytes(b"f" * 200_000)

    async def run(one: thyme.Node, two: thyme.Node) -> None:
        given: dict[str, tuple[Any, bytes]] = {
            "bytes": (bytearray(b"abc"), b"abc"),
            "text": ("golo de cabeça", "golo de cabeça".encode()),
            "file": (tmp_path / "film", b"f" * 200_000),
            "stream": (io.BytesIO(b"s" * 200_000), b"s" * 200_000),
            "iterator": (pieces(), b"p" * 200_000),
            "reader": (fed(), b"from a socket"),
        }
        for name, (data, _) in given.items():
            await one.insert(name, data, ["goal"])
        found = await two.find("goal")
        assert [each.key.oid for each in found] == list(given)
        for each in found:
            assert await two.retrieve(each) == given[each.key.oid][1]

    play(run)


def test_what_cannot_be_meant_is_an_input_error_and_changes_nothing(tmp_path: Path) -> None:
    async def run(one: thyme.Node, two: thyme.Node) -> None:
        await one.insert("kick", b"x", ["goal"])
        do: Any = one
        shut = io.BytesIO()
        shut.close()
        for wrong, said in [
            (do.insert("a", b"", "goal"), r"give a list of tags, such as \['goal'\]"),
            (do.insert("a", b"", b"goal"), "give a list of tags"),
            (do.insert("a", b"", 5), "give a list of tags"),
            (do.insert("a", b"", [5]), "the tag 5 is of type int"),
            (do.insert(5, b"", ["goal"]), "the name of an object is 5"),
            (do.insert("a" * 256, b"", ["goal"]), "has 256 characters: at most 255"),
            (do.insert("a", ["list"], ["goal"]), "the content is of type list"),
            (do.insert("a", tmp_path / "none", ["goal"]), "cannot be read: No such file"),
            (do.insert("a", io.StringIO("text"), ["goal"]), "the stream gave str"),
            (do.insert("a", shut, ["goal"]), "the stream cannot be read"),
            (do.subscribe(5), "the query is 5; give a string"),
            (do.subscribe("goal", "past"), "give a TimeFrame"),
            (do.subscribe("goal", start="noon"), "start is 'noon'"),
            (do.subscribe("goal", last="ten minutes"), "expected for example 90s, 10m"),
            (do.subscribe("goal", last="1m", start=1.0), "but not both"),
            (do.retrieve(5), "5 is not an object"),
            (do.retrieve("kick"), "expected NAME@NODE"),
            (do.retrieve_to("kick@1", 5), "the path is 5"),
            (do.retrieve_to("kick@1", "/proc/none/kick"), "cannot be written"),
            (do.more("goal"), "is not a subscription"),
            (do.unsubscribe(None), "is not a subscription"),
            (do.delete(5), "the name of an object is 5"),
        ]:
            with pytest.raises(thyme.InputError, match=said):
                await wrong
        assert [each.key.oid for each in one.known()] == ["kick"]
        assert one.subscriptions() == []

    play(run)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"peers": "127.0.0.1:9001"}, "give a list of addresses"),
        ({"peers": 9001}, "not iterable"),
        ({"store": 5}, "store is 5; give a folder"),
        ({"sotre": "memory"}, "no option 'sotre'; did you mean store?"),
    ],
)
def test_wrong_options_are_input_errors(options: dict[str, Any], said: str) -> None:
    async def run() -> None:
        async with thyme.Node(1, **{"store": "memory", **options}):
            pytest.fail("it started")

    with pytest.raises(thyme.InputError, match=said):
        asyncio.run(run())


def test_past_matches_come_in_batches_and_a_block_ends_its_subscription() -> None:
    async def run(one: thyme.Node, two: thyme.Node) -> None:
        for i in range(15):
            await one.insert(f"photo{i}", b"x", ["goal"])
        async with await two.subscribe("goal", last="1m") as goals:
            for _ in range(10):
                await anext(goals)
            assert goals.remaining == 5
            assert await goals.more() == 0
            for _ in range(5):
                await anext(goals)
            assert two.subscriptions() == [goals]
        assert two.subscriptions() == []
        assert await anext(goals, None) is None
        assert await two.find("goal", end=datetime.now() - timedelta(hours=1)) == []
        assert len(await two.find("goal", start=datetime.now() - timedelta(hours=1))) == 15

    play(run)


def test_names_can_be_left_out_and_notices_say_what_they_are_about() -> None:
    async def run(one: thyme.Node, two: thyme.Node) -> None:
        goals = await two.subscribe("goal")
        stored = await one.insert("3-3!", tags=["goal", "final"], summary="a goal")
        notice = await anext(goals)
        assert (notice.key, notice.tags, notice.text) == (stored.key, ("final", "goal"), "a goal")
        assert await two.retrieve(notice) == b"3-3!"
        assert stored.key.oid != (await one.insert(b"4-3!", tags=["goal"])).key.oid

    play(run)


@pytest.mark.parametrize("approach", SETTINGS)
def test_repeating_an_insertion_succeeds_also_after_it_was_cancelled(approach: str, tmp_path: Path) -> None:
    large = bytes(range(256)) * 2_000
    (tmp_path / "film").write_bytes(large)

    async def run(one: thyme.Node, two: thyme.Node) -> None:
        goals = await one.subscribe("goal")
        contents: dict[str, Any] = {"small": b"x", "film": tmp_path / "film"}
        for name, content in contents.items():
            for wait in range(8):
                inserting = asyncio.ensure_future(two.insert(name, content, ["goal"]))
                for _ in range(wait):
                    await asyncio.sleep(0)
                inserting.cancel()
                await asyncio.gather(inserting, return_exceptions=True)
            first = await two.insert(name, content, ["goal"])
            assert await two.insert(name, content, ["goal"]) == first
            assert (await anext(goals)).key == first.key
        assert await one.retrieve("film@2") == large
        assert {str(each.key) for each in await one.find("goal")} == {"small@2", "film@2"}
        assert goals.waiting == 0, "nobody is notified twice"
        for other in ((b"y", ["goal"], b""), (b"x", ["final"], b""), (b"x", ["goal"], b"summary")):
            with pytest.raises(thyme.InputError, match="before, with other contents"):
                await two.insert("small", *other)
        await two.delete("small")
        with pytest.raises(thyme.InputError, match="deleted is not used again"):
            await two.insert("small", b"x", ["goal"])

    play(run, approach)


def test_two_tasks_that_insert_the_same_object_both_succeed() -> None:
    async def run(one: thyme.Node, _: thyme.Node) -> None:
        same, other = await asyncio.gather(*(one.insert("kick", b"x", ["goal"]) for _ in range(2)))
        assert same == other

    play(run)


def test_an_insertion_that_failed_succeeds_when_it_is_repeated() -> None:
    async def run() -> None:
        settings = {"servers": [1], "retry": {"timeout_s": 0.2, "retries": 0}}
        es: dict[str, Any] = {"approach": "es", "settings": settings, "store": "memory"}
        async with asyncio.timeout(PATIENCE_S), thyme.Node(2, **es) as client:
            with pytest.raises(thyme.OperationError):
                await client.insert("kick", b"x", ["goal"])
            assert client.known() == []
            async with thyme.Node(1, peers=[client.address], **es) as server:
                await server.device.joined.wait()
                stored = None
                while stored is None:
                    with suppress(thyme.OperationError):  # the route to the server has to be found first
                        stored = await client.insert("kick", b"x", ["goal"])
                assert [each.key.oid for each in await server.find("goal")] == ["kick"]

    asyncio.run(run())


@pytest.mark.parametrize("approach", SETTINGS)
def test_a_cancelled_subscription_leaves_nothing_behind(approach: str) -> None:
    async def run(one: thyme.Node, two: thyme.Node) -> None:
        def held(node: thyme.Node) -> int:
            return sum(count for name, count, _ in node.device.approach.stored() if "subscription" in name)

        before = held(one), held(two)
        for wait in range(12):
            subscribing = asyncio.ensure_future(two.subscribe("goal"))
            for _ in range(wait):
                await asyncio.sleep(0)
            subscribing.cancel()
            ends = await asyncio.gather(subscribing, return_exceptions=True)
            if isinstance(ends[0], thyme.Notifications):
                await ends[0].aclose()
        assert two.subscriptions() == []
        while (held(one), held(two)) != before:
            await asyncio.sleep(0.02)

    play(run, approach)


def test_frames_are_said_by_their_ends_or_as_the_last_while() -> None:
    assert frame_of(1_000.0) == thyme.TimeFrame.always()
    assert frame_of(1_000.0, last="10m") == thyme.TimeFrame(400.0, None)
    assert frame_of(1_000.0, last=timedelta(seconds=1), end=2_000) == thyme.TimeFrame(999.0, 2_000.0)
    assert frame_of(1_000.0, start=datetime.fromtimestamp(500.0)) == thyme.TimeFrame(500.0, None)
    assert (span_s("1h30m"), span_s("2d"), span_s("0.5s"), span_s(7)) == (5_400.0, 172_800.0, 0.5, 7.0)
    for wrong in ("", "10", "m", "10m!", 0, -1.0, True, None):
        with pytest.raises(thyme.InputError):
            span_s(wrong)


def test_a_script_inserts_finds_retrieves_and_iterates(tmp_path: Path) -> None:
    with thyme.SyncNode(1, store="memory", settings=QUICK) as node:
        node.insert("kick", "3-3!", ["goal"])
        matches = node.subscribe("goal", patience=0.5)
        assert [notice.metadata.key.oid for notice in matches] == ["kick"]
        assert (matches.remaining, matches.more(), matches.query) == (0, 0, "goal")
        assert node.retrieve_to("kick@1", tmp_path / "kick") == 4
        assert [each.key.oid for each in node.find("goal")] == ["kick"]
        node.unsubscribe(matches)
        node.delete("kick")
        assert (node.find("goal"), node.known(), node.peers()) == ([], [], {})
        with pytest.raises(thyme.InputError, match="give a list of tags"):
            node.insert("again", "", "goal")
    with pytest.raises(thyme.InputError, match="the node is closed"):
        node.known()
    with pytest.raises(thyme.InputError, match="there is no approach"):
        thyme.SyncNode(1, store="memory", approach="none")


class Stood:
    """A host that stands somewhere, and whose timers are wound by hand."""

    def __init__(self) -> None:
        self.here, self.on_its_way = Point(0.0, 0.0), False
        self.timers: list[Alarm] = []

    def position(self) -> Point:
        return self.here

    def moving(self) -> bool:
        return self.on_its_way

    def place(self, position: Point, *, moving: bool = False) -> None:
        self.here, self.on_its_way = position, moving

    def after(self, delay_s: float, action: Callable[[], None]) -> Alarm:
        self.timers.append(Alarm(action))
        return self.timers[-1]


class Alarm:
    def __init__(self, action: Callable[[], None]) -> None:
        self.action, self.cancelled = action, False

    def cancel(self) -> None:
        self.cancelled = True


def test_who_is_placed_elsewhere_is_on_the_way_until_it_stays() -> None:
    host, movement = Stood(), MovementDetector()
    movement.place(host, 1.0, 1.0)  # a receiver's whim
    assert (host.here, host.on_its_way) == (Point(1.0, 1.0), False)
    movement.place(host, 4, 0)
    movement.place(host, 8, 0)
    assert (host.here, host.on_its_way) == (Point(8.0, 0.0), True)
    assert [timer.cancelled for timer in host.timers] == [True, False]
    host.timers[-1].action()
    assert (host.here, host.on_its_way) == (Point(8.0, 0.0), False)
    for wrong in ("8", None, float("nan"), True):
        with pytest.raises(thyme.InputError, match="x_m is"):
            movement.place(host, wrong, 0.0)


def test_a_node_that_is_placed_elsewhere_is_in_another_cell() -> None:
    async def run() -> None:
        grid = {"grid": {"width_m": 80.0, "height_m": 40.0}, "join_wait_s": 0.05, "beacons": {"period_s": 0.1}}
        async with thyme.Node(1, store="memory", approach="dcs", settings=grid, position=Point(10.0, 10.0)) as node:
            await node.device.joined.wait()
            node.place(60.0, 10.0)
            assert node.device.host.position() == Point(60.0, 10.0)
            metadata = await node.insert("kick", "3-3!", ["goal"], replicate=False)
            assert [replica.node for replica in metadata.replicas] == [node.id]

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_an_object_expires_and_a_bad_expiry_is_refused() -> None:
    async def use(one: thyme.Node, two: thyme.Node) -> None:
        lasting = await one.insert("lasting", b"x", ["goal"], expires=timedelta(hours=2))
        assert lasting.expires_s == pytest.approx(lasting.published_s + 7200.0)
        assert await one.insert("lasting", b"x", ["goal"], expires="2h") == lasting
        for wrong in (0, -1, "soon", float("nan")):
            with pytest.raises(thyme.InputError):
                await one.insert("wrong", b"x", ["goal"], expires=wrong)
        brief = await one.insert("brief", b"x", ["goal"], expires=0.01)
        await asyncio.sleep(0.05)
        with pytest.raises(thyme.OperationError, match="expired"):
            await one.retrieve(brief)
        assert await one.retrieve(lasting) == b"x"

    play(use)
