"""A large object between two processes: by live nodes of Thyme-LS, with their disks.

The nodes compare every chunk with its digest, keep it on the disk, and copy it to a file. The memory is that of the
process that retrieves. Beside it is bare UDP (`bare`).
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import psutil

from benchmarks.live.bare import write_random
from benchmarks.live.contest.nodes import QUICK, TAG
from thyme.live import Node
from thyme.live.loop import run


class Transferred(msgspec.Struct, frozen=True):
    size_bytes: int
    wall_s: float
    cpu_s: float
    """Of the process that retrieves."""
    grown_bytes: int
    """How much larger that process was at its largest."""


def give_object(pipe: Connection) -> None:
    """A process with a node that inserts a file of the requested number of random bytes."""

    async def serve(folder: Path) -> None:
        loop = asyncio.get_running_loop()
        async with Node(1, store=folder / "store", settings=QUICK) as node:
            await node.device.joined.wait()
            pipe.send(node.address)
            file = folder / "file"
            size_bytes = await loop.run_in_executor(None, pipe.recv)
            await asyncio.to_thread(write_random, file, size_bytes)
            await node.insert("file", file, [TAG])
            await loop.run_in_executor(None, pipe.recv)

    with tempfile.TemporaryDirectory() as folder:
        run(serve(Path(folder)))


def take_object(pipe: Connection, size_bytes: int) -> Transferred:
    """Retrieve that object to a file."""

    async def play(folder: Path) -> Transferred:
        async with Node(2, store=folder / "store", settings=QUICK, peers=[pipe.recv()]) as node:
            await node.device.joined.wait()
            stream = await node.subscribe(TAG)
            pipe.send(size_bytes)
            metadata = (await anext(stream)).metadata
            process, before = psutil.Process(), psutil.Process().memory_info().rss
            largest = [before]

            def look(have_bytes: int, of_bytes: int) -> None:
                largest[0] = max(largest[0], process.memory_info().rss)

            began_s, cpu_s = time.perf_counter(), time.process_time()
            await node.retrieve_to(metadata, folder / "file", look)
            took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
            pipe.send("enough")
            return Transferred(size_bytes, took_s, cpu_s, largest[0] - before)

    with tempfile.TemporaryDirectory() as folder:
        return run(play(Path(folder)))
