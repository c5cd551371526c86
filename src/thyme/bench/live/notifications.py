"""Two live nodes of Thyme-LS in two processes: one inserts, the other is notified.

The clock that both read is the machine's, so the one who is notified knows how long each notification took.
"""

from __future__ import annotations

import asyncio
import time
from multiprocessing.connection import Connection

import msgspec

from thyme.live import Node
from thyme.live.loop import run

QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}
TAG = "goal"
GAP_S = 0.002
"""Between two inserts whose latency counts: none waits for another."""
END_WAIT_S = 30.0
"""How long the last notifications are waited for."""


class Told(msgspec.Struct):
    """What reached the subscriber."""

    took_s: list[float]
    last_s: float
    """On the machine's clock."""


def be_notified(pipe: Connection) -> None:
    """A process that subscribes, and tells after each round what it was told of."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        async with Node(2, store="memory", settings=QUICK, peers=[await loop.run_in_executor(None, pipe.recv)]) as node:
            await node.device.joined.wait()
            stream = await node.subscribe(TAG)
            pipe.send("subscribed")
            while number := await loop.run_in_executor(None, pipe.recv):
                told = Told([], 0.0)
                try:
                    async with asyncio.timeout(END_WAIT_S) as patience:
                        while len(told.took_s) < number:
                            notice = await anext(stream)
                            told.last_s = time.monotonic()
                            told.took_s.append(told.last_s - float(notice.metadata.summary))
                            patience.reschedule(loop.time() + END_WAIT_S)
                except TimeoutError:
                    pass
                pipe.send(told)

    run(serve())


class Round(msgspec.Struct, frozen=True):
    """A number of inserts, and what became of them."""

    inserted: int
    notified: int
    wall_s: float
    """From the first insert to the last notification."""
    took_s: list[float]
    cpu_s: float
    """Of the process that inserts."""


def insert(pipe: Connection, with_gaps: int, in_a_loop: int) -> tuple[Round, Round]:
    """A round of single inserts and one of as many as there can be."""

    async def play() -> tuple[Round, Round]:
        loop = asyncio.get_running_loop()
        async with Node(1, store="memory", settings=QUICK) as node:
            await node.device.joined.wait()
            pipe.send(node.address)
            await loop.run_in_executor(None, pipe.recv)
            single = await _round(node, pipe, "single", with_gaps, GAP_S)
            many = await _round(node, pipe, "loop", in_a_loop, 0.0)
            pipe.send(0)
            return single, many

    return run(play())


async def _round(node: Node, pipe: Connection, name: str, number: int, gap_s: float) -> Round:
    pipe.send(number)
    began_s, cpu_s = time.monotonic(), time.process_time()
    for i in range(number):
        await node.insert(f"{name}-{i}", b"x", [TAG], repr(time.monotonic()).encode())
        if gap_s:
            await asyncio.sleep(gap_s)
    told: Told = await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
    took_s = sorted(told.took_s)
    return Round(number, len(took_s), told.last_s - began_s, took_s, time.process_time() - cpu_s)
