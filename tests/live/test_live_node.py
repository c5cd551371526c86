"""Live nodes for an application: operations to await, notifications to iterate over, records in a log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from memory_log import MemoryLog

from thyme.approaches.ls.protocol import LIVE_JITTER_S, LocalStorage
from thyme.live import Node, OperationError, ReaderTooSlow
from thyme.live.node.logs.log import FileLog, read_log
from thyme.live.node.notifications import MAX_WAITING_NOTIFICATIONS, Notice, Notifications
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.geometry import Point
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.records import Counted, Joined, TrafficKind
from thyme.wire.message import Message

PATIENCE_S = 60.0
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}


def scene(play: Callable[[Node, Node], Awaitable[None]]) -> None:
    """Two nodes that hear each other."""

    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, settings=QUICK) as one,
            Node(2, peers=[one.address], settings=QUICK) as two,
        ):
            await one.device.joined.wait()
            await two.device.joined.wait()
            await play(one, two)

    asyncio.run(run())


def test_a_large_object_arrives_as_it_was_inserted() -> None:
    content = bytes(range(256)) * 400

    async def play(one: Node, two: Node) -> None:
        stream = await two.subscribe("photo & !replay", TimeFrame.future(two.device.host.now()))
        await one.insert("again", b"x", ["photo", "replay"])
        await one.insert("large", content, ["Photo"], b"small picture")
        notice = await anext(stream)
        assert notice.metadata.key == ObjectKey("large", NodeId(1))
        assert notice.metadata.summary == b"small picture"
        assert 0.0 <= notice.delay_s < PATIENCE_S
        assert await two.retrieve(notice.metadata.key) == content

    scene(play)


def test_a_subscription_is_answered_almost_at_once_unless_settings_say_otherwise() -> None:
    async def run() -> None:
        patient = {**QUICK, "answers": {"jitter_s": 0.1}}
        again = {**QUICK, "answers": {"retries": 1}}
        async with (
            Node(1, settings=QUICK, store="memory") as one,
            Node(2, settings=patient, store="memory") as two,
            Node(3, settings=again, store="memory") as three,
        ):
            found = [cast(LocalStorage, node.device.approach).options.answers for node in (one, two, three)]
        assert [options.jitter_s for options in found] == [LIVE_JITTER_S, 0.1, LIVE_JITTER_S]
        assert [options.retries for options in found] == [3, 3, 1]

    asyncio.run(run())


def test_a_server_shares_between_live_nodes_as_well() -> None:
    async def run() -> None:
        settings = {"servers": [9]}
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(9, approach="es", settings=settings) as server,
            Node(1, approach="es", settings=settings, peers=[server.address], only_peers=True) as one,
            Node(2, approach="es", settings=settings, peers=[server.address], only_peers=True) as two,
        ):
            stream = await two.subscribe("photo")
            await one.insert("photo", b"from the server", ["photo"])
            notice = await anext(stream)
            assert await two.retrieve(notice.metadata) == b"from the server"

    asyncio.run(run())


def test_cells_store_for_live_nodes_as_well() -> None:
    async def run() -> None:
        quick = {
            "grid": {"width_m": 80.0, "height_m": 40.0},
            "beacons": {"period_s": 0.1, "expiry_s": 2.0},
            "join_wait_s": 0.3,
            "settle_s": 0.1,
        }
        places = [Point(10.0, 20.0), Point(20.0, 20.0), Point(60.0, 20.0)]
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, approach="dcs", settings=quick, position=places[0]) as one,
            Node(2, approach="dcs", settings=quick, position=places[1], peers=[one.address]) as two,
            Node(3, approach="dcs", settings=quick, position=places[2], peers=[one.address, two.address]) as three,
        ):
            for node in (one, two, three):
                await node.device.joined.wait()
            for tag in ("goal", "photo", "final", "rain"):
                stream = await three.subscribe(tag)
                await one.insert(f"of {tag}", tag.encode(), [tag])
                notice = await anext(stream)
                assert await three.retrieve(notice.metadata) == tag.encode()
            stores = [node.device.approach for node in (one, two, three)]
            kept = [{name: count for name, count, _ in store.stored()}["objects"] for store in stores]
            assert kept[:2] == [4, 4], "both members of the owner's cell keep its objects"

    asyncio.run(run())


def test_the_largest_parts_that_are_accepted_fit_a_frame() -> None:
    async def run() -> None:
        settings = {**QUICK, "contents": {"part_bytes": 50_000}}
        content = bytes(range(256)) * 800
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, settings=settings) as one,
            Node(2, peers=[one.address], settings=settings) as two,
        ):
            stream = await two.subscribe("photo")
            await one.insert("n" * 200, content, ["photo"], b"s" * 2_000)
            assert await two.retrieve((await anext(stream)).metadata) == content

    asyncio.run(run())


def test_the_past_comes_in_batches() -> None:
    async def play(one: Node, two: Node) -> None:
        for i in range(13):
            await one.insert(f"photo-{i}", b"x", ["photo"])
        stream = await two.subscribe("photo")
        first = [(await anext(stream)).metadata.key.oid for _ in range(10)]
        assert first == [f"photo-{i}" for i in range(12, 2, -1)]
        while two.remaining(stream.key.sid) == 0:
            await asyncio.sleep(0)
        assert await two.more(stream.key.sid) == 0
        assert {(await anext(stream)).metadata.key.oid for _ in range(3)} == {"photo-0", "photo-1", "photo-2"}

    scene(play)


def test_after_unsubscribing_the_stream_ends_and_after_deleting_nothing_is_found() -> None:
    async def play(one: Node, two: Node) -> None:
        await one.insert("photo", b"x", ["photo"])
        stream = await two.subscribe("photo")
        notice = await anext(stream)
        await two.unsubscribe(stream.key.sid)
        assert [each async for each in stream] == []
        await one.delete("photo")
        with pytest.raises(OperationError, match="retrieve failed: deleted by its owner"):
            await two.retrieve(notice.metadata)
        assert (await two.subscribe("photo")).key.sid == stream.key.sid + 1, "a number is never used twice"

    scene(play)


def test_wrong_use_is_refused_and_changes_nothing() -> None:
    async def play(one: Node, two: Node) -> None:
        with pytest.raises(InputError, match="no tags"):
            await one.insert("photo", b"x", [])
        with pytest.raises(InputError, match="tags is the string 'goal'; give a list"):
            await one.insert("photo", b"x", "goal")
        with pytest.raises(InputError, match="the content is of type NoneType; give bytes or a string"):
            await one.insert("photo", None, ["goal"])  # type: ignore[arg-type]
        with pytest.raises(InputError, match="the summary is of type int"):
            await one.insert("photo", b"x", ["goal"], 33)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="query"):
            await one.subscribe("photo & (")
        with pytest.raises(InputError, match="was not notified"):
            await one.retrieve(ObjectKey("nothing", NodeId(2)))
        with pytest.raises(InputError, match="no subscription 5"):
            await one.unsubscribe(5)
        assert one.known() == []
        assert one.subscriptions() == []
        assert not one.user.busy

    scene(play)


def test_operations_under_way_fail_when_the_node_leaves() -> None:
    async def run() -> None:
        log = MemoryLog()
        node = Node(1, settings=QUICK, log_to=log)
        elsewhere = Metadata(ObjectKey("photo", NodeId(9)), ("photo",), b"", 0.0, 5)
        async with asyncio.timeout(PATIENCE_S):
            async with node:
                retrieving = asyncio.create_task(node.retrieve(elsewhere))
                while not node.user.busy:
                    await asyncio.sleep(0)
            with pytest.raises(OperationError, match="node left"):
                await retrieving
        with pytest.raises(InputError, match="not running"):
            await node.insert("photo", b"x", ["photo"])
        kinds = [row.row.kind for row in log.rows if row.row.kind in ("issued", "failed", "left")]
        assert kinds == ["issued", "failed", "left"]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"approach": "none"}, "no approach 'none'"),
        ({"listen": "127.0.0.1"}, "expected host:port"),
        ({"peers": ["127.0.0.1:0"]}, "expected 1 to 65535"),
        ({"nonsense": 1}, "no option 'nonsense'; expected one of store, namespace"),
        ({"settings": {"past_matches": "many"}}, "past_matches"),
        ({"settings": {"contents": {"part_bytes": 60_000}}}, "part_bytes.*50000"),
        ({"settings": {"contents": {"window": 0}}}, "window"),
        ({"settings": {"join": {"reply_bytes": 0}}}, "reply_bytes"),
        ({"approach": "dcs", "settings": {"contents": {"part_bytes": 60_000}}}, "part_bytes.*50000"),
        ({"link": {"peers": {"most": 0}}}, "most"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], message: str) -> None:
    async def run() -> None:
        async with Node(1, **options):
            pass

    with pytest.raises(InputError, match=message):
        asyncio.run(run())


def test_a_stream_that_is_read_too_slowly_keeps_the_newest_and_says_so() -> None:
    async def run() -> None:
        key = SubscriptionKey(0, NodeId(1))
        stream = Notifications(key, "photo", Node(1, store="memory"))
        for i in range(MAX_WAITING_NOTIFICATIONS + 3):
            stream.put(Notice(key, Metadata(ObjectKey(str(i), NodeId(1)), ("photo",), b"", 0.0, 0), 0.0))
        with pytest.raises(ReaderTooSlow, match="3 items were dropped"):
            await anext(stream)
        assert (await anext(stream)).key.oid == "3"

    asyncio.run(run())


def test_an_application_that_fails_to_take_one_notice_gets_the_others() -> None:
    async def run() -> None:
        heard: list[str] = []

        def hear(notice: Notice) -> None:
            heard.append(notice.metadata.key.oid)
            if notice.metadata.key.oid == "b":
                raise ValueError("not this one")

        async with asyncio.timeout(PATIENCE_S), Node(1, store="memory", settings=QUICK) as node:
            node.on_notice = hear
            await node.subscribe("photo")
            for oid in "abc":
                await node.insert(oid, b"x", ["photo"])
            while len(heard) < 3:
                await asyncio.sleep(0.01)
            assert heard == ["a", "b", "c"]

    asyncio.run(run())


def test_a_killed_node_leaves_a_log_that_reads_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "node.jsonl"
    killed = FileLog(path)
    killed.record(1.0, NodeId(3), Joined(0.5))
    left = path.read_bytes()  # what a kill leaves, without the traffic that was not yet written
    killed.close(1.5)
    path.write_bytes(left + b'{"at_s": 2.0, "no')
    assert read_log(path).column("kind").to_pylist() == ["joined"]
    again = FileLog(path)
    again.record(3.0, NodeId(3), Counted(TrafficKind.SENT, "Beacon", 2, 40))
    again.record(3.5, NodeId(3), Counted(TrafficKind.SENT, "Beacon", 1, 20))
    again.close(4.0)
    rows = read_log(path).to_pylist()
    assert [(row["at_s"], row["kind"], row["count"], row["size_bytes"]) for row in rows] == [
        (1.0, "joined", 1, 0),
        (4.0, "sent", 3, 60),
    ]


def test_a_parquet_log_holds_the_same_as_json_lines(tmp_path: Path) -> None:
    for path in (tmp_path / "node.jsonl", tmp_path / "node.parquet"):
        log = FileLog(path)
        log.record(1.0, NodeId(3), Joined(0.5))
        log.record(2.0, NodeId(3), Counted(TrafficKind.DROPPED, "datagram", reason="too short"))
        log.close(4.0)
    assert read_log(tmp_path / "node.parquet").equals(read_log(tmp_path / "node.jsonl"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node.jsonl", "node.parquet"]
    with pytest.raises(InputError, match="exists already"):
        FileLog(tmp_path / "node.parquet")


def test_a_node_that_could_not_start_leaves_no_log(tmp_path: Path) -> None:
    async def run() -> None:
        async with Node(1) as one, Node(2, listen=one.address, log=str(tmp_path / "two.parquet")):
            pass

    with pytest.raises(InputError, match="in use"):
        asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_ends_the_log_and_not_the_node(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "node.jsonl"
    path.symlink_to("/dev/full")
    log = FileLog(path)
    log.record(1.0, NodeId(3), Joined(0.5))
    log.record(2.0, NodeId(3), Joined(0.5))
    log.close(3.0)
    assert "No space left on device" in caplog.text
    assert len(caplog.records) == 1


def test_a_log_line_that_is_no_event_is_named(tmp_path: Path) -> None:
    path = tmp_path / "node.jsonl"
    path.write_text('{"at_s": 1.0}\nnonsense\n')
    with pytest.raises(InputError, match="line 2"):
        read_log(path)


def test_an_internal_error_while_a_message_is_handled_is_logged_once_and_the_node_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, store="memory", settings=QUICK) as one,
            Node(2, store="memory", peers=[one.address], settings=QUICK) as two,
        ):
            handle, failed = one.device.host.receive, 0

            def fail_twice(sender: NodeId, message: Message) -> None:
                nonlocal failed
                if failed < 2:
                    failed += 1
                    raise KeyError("a defect")
                assert handle is not None
                handle(sender, message)

            one.device.host.receive = fail_twice
            goals = await one.subscribe("goal")
            while failed < 2:
                await two.insert(f"photo{failed}", b"x", ["goal"])
                await two.find("nothing", wait_s=0.05)
            await two.insert("later", b"x", ["goal"])
            while (await anext(goals)).metadata.key.oid != "later":
                continue

    asyncio.run(run())
    errors = [record for record in caplog.records if "could not handle" in record.getMessage()]
    assert errors
    assert errors[0].levelname == "ERROR"
    assert "a defect" in caplog.text
