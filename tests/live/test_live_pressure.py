"""Back-pressure: whoever awaits operations in a plain loop is slowed down, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from memory_log import MemoryLog

from thyme.live import Node
from thyme.live.link.link import LinkOptions
from thyme.live.link.unicasts import UnicastOptions
from thyme.model.records import TrafficKind

PATIENCE_S = 60.0
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}


def scene(
    play: Callable[[Node, Node], Awaitable[None]], link: LinkOptions | None = None, store: str | None = "memory"
) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, store=store, settings=QUICK, link=link or LinkOptions()) as one,
            Node(2, store=store, peers=[one.address], settings=QUICK) as two,
        ):
            await one.device.joined.wait()
            await two.device.joined.wait()
            await play(one, two)

    asyncio.run(run())


async def insert_and_expect_all(one: Node, two: Node, number: int, at_once: int = 1) -> None:
    stream = await two.subscribe("goal")
    for first in range(0, number, at_once):
        await asyncio.gather(*(one.insert(f"o{i}", b"x", ["goal"]) for i in range(first, first + at_once)))
    told = {(await anext(stream)).metadata.key.oid for _ in range(number)}
    assert told == {f"o{i}" for i in range(number)}


def test_everything_inserted_in_a_plain_loop_is_notified() -> None:
    scene(lambda one, two: insert_and_expect_all(one, two, 300))


def test_everything_inserted_in_a_plain_loop_is_notified_when_it_goes_to_a_disk_as_well() -> None:
    scene(lambda one, two: insert_and_expect_all(one, two, 200), store=None)


def test_more_operations_at_once_than_may_be_under_way_wait_for_their_turn() -> None:
    scene(lambda one, two: insert_and_expect_all(one, two, 1_500, at_once=1_500))


def test_a_window_that_is_full_delays_and_breaks_no_link() -> None:
    narrow = LinkOptions(unicasts=UnicastOptions(window=2, room=3, together=1))

    async def play(one: Node, two: Node) -> None:
        log = one.device.host.log = MemoryLog()
        await insert_and_expect_all(one, two, 200)
        lost = (TrafficKind.DROPPED.value, TrafficKind.GIVEN_UP.value)
        assert [row.row.reason for row in log.rows if row.row.kind in lost] == []

    scene(play, narrow)
