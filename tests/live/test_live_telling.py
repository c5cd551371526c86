"""Live nodes that tell what happens, and those who follow them."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from thyme.live import Node
from thyme.live.link.addresses import address_text
from thyme.live.node.logs.log_server import SharedLog, SharedLogOptions
from thyme.live.node.logs.spools import FollowedNodes, FollowingOptions
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import Joined, Left

PATIENCE_S = 60.0
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}


def spooled(folder: Path) -> list[bytes]:
    return [line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_bytes().splitlines()]


async def until_over(following: FollowedNodes) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not following.over:
            await asyncio.sleep(0.01)
    following.close()


def test_a_watcher_hears_the_past_and_the_present_as_they_are_logged(tmp_path: Path) -> None:
    spool, log = tmp_path / "spool", tmp_path / "one.jsonl"
    spool.mkdir()

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            async with Node(1, settings=QUICK, log=str(log), tell="127.0.0.1:0") as one:
                await one.device.joined.wait()
                assert one.device.told is not None
                await one.insert("before", b"x", ["goal"])
                following = await asyncio.to_thread(FollowedNodes, [address_text(one.device.told.address)], spool)
                await asyncio.to_thread(following.catch_up)
                assert len(spooled(spool)) == following.nodes[0].greeting.past > 0
                await one.insert("after", b"x", ["goal"])
                assert not following.over
            await until_over(following)

    asyncio.run(run())
    assert spooled(spool) == log.read_bytes().splitlines()


def test_only_the_newest_lines_are_kept_for_those_who_come_later(tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        told = SharedLog(7, SharedLogOptions(kept_lines=3))
        await told.open("127.0.0.1:0")
        for number in range(10):
            told.record(float(number), NodeId(7), Joined(1.0))
        following = await asyncio.to_thread(FollowedNodes, [address_text(told.address)], tmp_path)
        await told.end()
        await asyncio.to_thread(following.close)
        return following.nodes[0].greeting.past, following.nodes[0].greeting.forgotten

    assert asyncio.run(run()) == (3, 7)
    assert [b'"at_s":%d.0' % at in line for at, line in zip((7, 8, 9), spooled(tmp_path), strict=True)] == [True] * 3


def test_a_watcher_that_does_not_read_is_let_go() -> None:
    async def run() -> int:
        told = SharedLog(1, SharedLogOptions(kept_lines=10, unread_bytes=100_000))
        await told.open("127.0.0.1:0")
        with socket.create_connection(told.address):
            while not told.watchers:
                await asyncio.sleep(0.01)
            for _ in range(5_000):
                told.record(1.0, NodeId(1), Left("x" * 10_000))
                await asyncio.sleep(0)
                if not told.watchers:
                    break
        await told.end()
        return told.watchers

    assert asyncio.run(run()) == 0


def test_one_watcher_too_many_is_told_so(tmp_path: Path) -> None:
    async def run() -> str:
        told = SharedLog(1, SharedLogOptions(watchers=0))
        await told.open("127.0.0.1:0")
        with pytest.raises(InputError) as refused:
            await asyncio.to_thread(FollowedNodes, [address_text(told.address)], tmp_path)
        await told.end()
        return str(refused.value)

    assert "too many watchers" in asyncio.run(run())


def test_a_spool_never_holds_more_than_two_files_of_its_size(tmp_path: Path) -> None:
    async def run() -> None:
        told = SharedLog(1)
        await told.open("127.0.0.1:0")
        following = await asyncio.to_thread(
            FollowedNodes, [address_text(told.address)], tmp_path, FollowingOptions(spool_bytes=2_000)
        )
        for number in range(200):
            told.record(float(number), NodeId(1), Joined(1.0))
            await asyncio.sleep(0.001)
        await told.end()
        await until_over(following)

    asyncio.run(run())
    kept = spooled(tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.jsonl")) <= 4_000
    assert any(b'"at_s":199.0' in line for line in kept)


def test_whoever_tells_no_events_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = address_text(server.getsockname())
        with pytest.raises(InputError, match="serves no events"):
            FollowedNodes([address], tmp_path, FollowingOptions(patience_s=0.2))
    (tmp_path / "00").rmdir()
    with pytest.raises(InputError, match="no node sends its events there"):
        FollowedNodes([address], tmp_path)


def test_a_port_that_is_taken_is_refused() -> None:
    async def run(address: str) -> None:
        await SharedLog(1).open(address)

    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(InputError, match="cannot listen there"):
        asyncio.run(run(address_text(server.getsockname())))
