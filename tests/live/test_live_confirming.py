"""Thyme-DCS live: what a publisher was told to be kept is kept by another member of its cell, if there is one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from random import Random

import pytest
from taps import Tap

from thyme.live import Node

PATIENCE_S = 60.0
AREA = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.2, "settle_s": 0.2, "past_matches": 500}
PUBLISHER = """
import asyncio, sys
from thyme.live import Node

async def main():
    async with Node(1, store=sys.argv[2], approach="dcs", settings=eval(sys.argv[3]), peers=[sys.argv[1]]) as node:
        await node.device.joined.wait()
        while not node.device.approach.cell.others:
            await asyncio.sleep(0.05)
        async def insert(name):
            await node.insert(name, b"x", ["goal"])
            print(name, flush=True)
        for first in range(0, 100_000, 20):
            await asyncio.gather(*(insert(f"o{first + i}") for i in range(20)))

asyncio.run(main())
"""


def test_an_insertion_is_answered_when_another_member_has_it() -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, store="memory", approach="dcs", settings=AREA) as one,
            Node(2, store="memory", approach="dcs", settings=AREA, peers=[one.address]) as two,
        ):
            while not (one.device.approach.cell.others and two.device.approach.cell.others):  # type: ignore[attr-defined]
                await asyncio.sleep(0.05)
            tap = Tap(two.device.host.link, receives=False)
            inserting = asyncio.ensure_future(one.insert("photo", b"x", ["goal"]))
            await asyncio.sleep(0.3)
            assert not inserting.done(), "nobody else has it"
            tap.remove()
            metadata = await inserting
            assert two.device.approach.cell.holdings.index.get(metadata.key) == metadata  # type: ignore[attr-defined]
            assert two.device.approach.cell.holdings.has_object(metadata.key)  # type: ignore[attr-defined]

    asyncio.run(run())


def make_deaf(node: Node, chance: Random) -> None:
    """It does not hear a third of what it is sent, which is repeated after a while."""
    Tap(node.device.host.link).receives = lambda data, source: chance.random() > 1 / 3


async def killed(publisher: Process, after: int) -> list[str]:
    """What a publisher printed as kept, when it was killed after so many."""
    assert publisher.stdout is not None
    names = [(await publisher.stdout.readline()).decode().strip() for _ in range(after)]
    os.kill(publisher.pid, signal.SIGKILL)
    rest = (await publisher.stdout.read()).decode()
    await publisher.wait()
    return names + [line for line in rest.split("\n")[:-1] if line]


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_was_acknowledged_outlives_a_publisher_that_is_killed(tmp_path: Path, seed: int) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(2, store=tmp_path / "two", approach="dcs", settings=AREA) as two,
        ):
            await two.device.joined.wait()
            make_deaf(two, Random(seed))
            given = [two.address, str(tmp_path / "one"), repr(AREA)]
            publisher = await asyncio.create_subprocess_exec(sys.executable, "-c", PUBLISHER, *given, stdout=PIPE)
            names = await killed(publisher, Random(seed).randrange(30, 200))
            held = {metadata.key.oid for metadata in two.device.approach.cell.holdings.index.objects()}  # type: ignore[attr-defined]
            kept = {metadata.key.oid for metadata in two.device.approach.cell.holdings.objects()}  # type: ignore[attr-defined]
            assert set(names) <= held
            assert set(names) <= kept

    asyncio.run(run())
