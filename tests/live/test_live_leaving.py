"""Leaving: what a node held for others is theirs when it has left, or it says what could not be handed over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from thyme.live import Node
from thyme.model.geometry import Point

PATIENCE_S = 120.0
VENUE = {
    "grid": {"width_m": 80.0, "height_m": 40.0},
    "beacons": {"period_s": 0.2, "expiry_s": 2.0},
    "join_wait_s": 0.3,
    "settle_s": 0.1,
    "retry": {"pending": 20, "timeout_s": 0.5},
}
HERE, THERE = Point(10.0, 20.0), Point(60.0, 20.0)


def node(number: int, place: Point, peers: tuple[str, ...] = (), **options: Any) -> Node:
    return Node(
        number, store="memory", approach="dcs", settings=VENUE, position=place, peers=peers, operations=5, **options
    )


async def filled(one: Node, two: Node, number: int) -> str:
    """A tag whose home is the cell of `one`, with that many objects under it."""
    await one.device.joined.wait()
    await two.device.joined.wait()
    grid = one.device.approach.cell.grid  # type: ignore[attr-defined]
    tag = next(tag for tag in (f"tag{i}" for i in range(99)) if grid.cell_for(tag) == grid.cell_of(HERE))
    await asyncio.gather(*(two.insert(f"o{i}", b"content", [tag], b"s" * 500) for i in range(number)))
    return tag


def test_more_than_may_be_under_way_at_once_is_handed_over_by_who_leaves() -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), node(2, THERE) as two:
            one = await node(1, HERE, (two.address,)).__aenter__()
            tag = await filled(one, two, 80)
            await one.close()
            stream = await two.subscribe(tag)
            told: set[str] = set()
            while len(told) < 80:
                told.add((await asyncio.wait_for(anext(stream), 20.0)).metadata.key.oid)
                if len(told) % 10 == 0 and two.remaining(stream.key.sid) > 0:
                    await two.more(stream.key.sid)

    asyncio.run(run())


def test_who_leaves_an_empty_place_says_what_nobody_took_over(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), node(2, THERE) as two:
            one = await node(1, HERE, (two.address,), leave_s=0.5).__aenter__()
            await filled(one, two, 20)
            two.device.host.receive = None
            await one.close()

    asyncio.run(run())
    assert "could not hand over everything that it held" in caplog.text


def test_who_leaves_alone_does_not_warn_of_a_wait(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), node(1, HERE) as one:
            await one.device.joined.wait()
            for i in range(8):
                await one.insert(f"o{i}", b"content", [f"tag{i}"])

    asyncio.run(run())
    assert "could not hand over" not in caplog.text
