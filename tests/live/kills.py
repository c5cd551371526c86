"""Kill live nodes with SIGKILL at any instant, again and again, and see what is left of what they acknowledged.

    python tests/live/kills.py --approach ls --nodes 1 --kills 100
    python tests/live/kills.py --approach dcs --nodes 3 --kills 50 --one

Nodes insert and delete as fast as they are answered, small objects and large ones; all are killed at once, or with
`--one` a single one while the others go on, started again on their stores, and so on. In the end each store is looked
into, and, with several nodes, a newcomer without a store subscribes to the past and retrieves some.
`tests/live/test_live_kills.py` plays a few. A node is a process that is forked from one that has imported everything,
so that most of the time is lived and not started up; what it says goes to a file, which a kill leaves as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from socket import AF_INET, SOCK_DGRAM, socket
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from thyme.live import Node, OperationError
from thyme.live.store.disk import DiskStore
from thyme.model.objects import Metadata

TAG = "goal"
WIDE = {"grid": {"width_m": 80.0, "height_m": 40.0}, "beacons": {"period_s": 0.2, "expiry_s": 2.0}}
SETTINGS: dict[str, dict[str, Any]] = {
    "ls": {"join": {"wait_s": 0.05, "delay_s": 0.02}, "past_matches": 100_000},
    "dcs": {**WIDE, "join_wait_s": 0.3, "settle_s": 0.2, "repair_s": 0.5, "page_s": 0.1, "past_matches": 1_000},
}
PLACES = [(10.0, 20.0), (20.0, 20.0), (60.0, 20.0), (70.0, 20.0)]
START_S = 60.0
SEARCH_S = 120.0
LARGE_BYTES = 40_000
TRIED = 40
LOOK_S = 0.005
"""Between two looks whether a node is up."""
SERVE = -1
"""A life in which nothing is inserted."""
APPROACH_MODULES = ["thyme.approaches.ls.protocol", "thyme.approaches.dcs.protocol"]
"""What a node imports when it knows its approach."""
_processes = get_context("forkserver")
_processes.set_forkserver_preload(["__main__", __name__, "pytest", *APPROACH_MODULES, "encodings.idna"])


class Tally(msgspec.Struct):
    kills: int = 0
    acknowledged: int = 0
    deleted: int = 0
    lost: int = 0
    half_visible: int = 0
    back_again: int = 0
    """Objects whose deletion was acknowledged and that are there."""
    unseen: int = 0
    """Acknowledged objects of which the newcomer was not told, …"""
    unasked: int = 0
    """… of which the newcomer knew and had not asked for more when its time was over …"""
    unread: int = 0
    """… and those whose content it did not get, of up to 40 that it tried."""


def say(*words: object) -> None:
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


def content_of(name: str) -> bytes:
    """Every fifth is large enough for a file of its own."""
    seed = sha256(name.encode()).digest()
    return seed * (LARGE_BYTES // len(seed)) if seed[0] % 5 == 0 else seed


def options_of(approach: str, index: int, ports: list[int]) -> dict[str, Any]:
    others = [f"127.0.0.1:{port}" for i, port in enumerate(ports) if i != index]
    place = {"position": PLACES[index]} if approach == "dcs" else {}
    return {"approach": approach, "settings": SETTINGS[approach], "peers": others, **place}


def be_a_node(approach: str, index: int, ports: list[int], folder: str, life: int, said: str) -> None:
    """A process of its own: what it says goes to a file."""
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), sys.stdout.fileno())
    asyncio.run(insert_until_killed(approach, index, ports, folder, life))


async def insert_until_killed(approach: str, index: int, ports: list[int], folder: str, life: int) -> None:
    """What the process of a node does; it says what was acknowledged."""
    listen = f"127.0.0.1:{ports[index]}"
    async with Node(index + 1, listen=listen, store=folder, **options_of(approach, index, ports)) as node:
        await node.device.joined.wait()
        say("up")
        for k in range(1_000_000 if life != SERVE else 0):
            name = f"{life}-{index}-{k}"
            try:
                await node.insert(name, content_of(name), [TAG])
                say("inserted", name)
                if k % 4 == 3:
                    name = f"{life}-{index}-{k - 2}"
                    say("deleting", name)
                    await node.delete(name)
                    say("deleted", name)
            except OperationError as error:
                say("failed", name, str(error).replace(" ", "_"))
            await asyncio.sleep(0.001)
        await asyncio.Event().wait()


class Born(NamedTuple):
    """A node that was started."""

    process: BaseProcess
    said: Path

    async def up(self) -> None:
        """Wait until it has joined."""
        async with asyncio.timeout(START_S):
            while not self.said.exists() or not self.said.stat().st_size:
                assert self.process.is_alive(), "the node has ended by itself"
                await asyncio.sleep(LOOK_S)


class Killing:
    def __init__(self, approach: str, nodes: int, folder: Path, seed: int, *, one: bool = False) -> None:
        self.approach, self.nodes, self.folder, self.one = approach, nodes, folder, one
        self.random = Random(seed)
        self.ports = free_ports(nodes)
        self.said: list[list[str]] = []
        self._born = 0
        self.tally = Tally()

    async def play(self, kills: int) -> Tally:
        if self.one:
            await self._live_on(kills)
        else:
            for life in range(kills):
                await self._live(life)
        await self._look_into_stores()
        if self.nodes > 1:
            await self._ask_as_a_newcomer()
        return self.tally

    def live_names(self) -> set[str]:
        """Acknowledged, and nobody began to delete them."""
        return {n for word, n, *_ in self.said if word == "inserted"} - {n for w, n, *_ in self.said if w == "deleting"}

    def _start(self, life: int) -> list[Born]:
        return [self._start_one(index, life) for index in range(self.nodes)]

    def _start_one(self, index: int, life: int) -> Born:
        self._born += 1
        said = self.folder / f"said-{self._born}"
        given = (self.approach, index, self.ports, str(self.folder / str(index)), life, str(said))
        process = _processes.Process(target=be_a_node, args=given, daemon=True)
        process.start()
        return Born(process, said)

    async def _live(self, life: int) -> None:
        running = self._start(life)
        try:
            for born in running:
                await born.up()
            await asyncio.sleep(self.random.uniform(0.0, 0.4))
        finally:
            for born in running:
                born.process.kill()
        for born in running:
            self._bury(born)
            self.tally.kills += 1

    async def _live_on(self, kills: int) -> None:
        """One after the other is killed and started again, while the others go on."""
        running = self._start(0)
        try:
            for born in running:
                await born.up()
            for life in range(1, kills + 1):
                await asyncio.sleep(self.random.uniform(0.0, 0.4))
                index = self.random.randrange(self.nodes)
                running[index].process.kill()
                self._bury(running[index])
                self.tally.kills += 1
                running[index] = self._start_one(index, life)
                await running[index].up()
        finally:
            for born in running:
                born.process.kill()
        for born in running:
            self._bury(born)

    def _bury(self, born: Born) -> None:
        """Note what a killed process had said."""
        born.process.join()
        lines = born.said.read_text().split("\n")
        self.said += [line.split() for line in lines[1:-1]]  # the first one says `up`, the last one is torn or empty

    async def _look_into_stores(self) -> None:
        tally, found = self.tally, set[str]()
        for index in range(self.nodes):
            about = {"node": str(index + 1), "approach": self.approach}
            store = DiskStore(self.folder / str(index), about)
            for key, value in store.items("content"):
                name = key.rpartition("@")[0]
                whole = store.read(key, 0, store.size(key)) == content_of(name)
                tally.half_visible += not whole or store.size(key) != msgspec.msgpack.decode(value)
                found.add(name)
            if self.approach == "ls":
                objects = {msgspec.msgpack.decode(v, type=Metadata).key.oid for _, v in store.items("object")}
                contents = {key.rpartition("@")[0] for key, _ in store.items("content")}
                tally.half_visible += len(objects ^ contents)
            await store.close()
        gone = {name for word, name, *_ in self.said if word == "deleted"}
        tally.acknowledged = len(self.live_names() | gone)
        tally.deleted = len(gone)
        tally.lost = len(self.live_names() - found)
        if self.approach == "ls":
            tally.back_again = len(gone & found)

    async def _ask_as_a_newcomer(self) -> None:
        """All nodes are up again, and do nothing but serve: members of a cell compare what they hold in quiet."""
        running = self._start(SERVE)
        told: dict[str, Metadata] = {}
        wanted = self.live_names()
        try:
            peers = options_of(self.approach, self.nodes, [*self.ports, 0])
            async with Node(99, store="memory", greet_patience_s=10.0, **peers) as node:
                await node.device.joined.wait()
                node.on_notice = lambda notice: told.__setitem__(notice.metadata.key.oid, notice.metadata)
                stream = await node.subscribe(TAG)
                give_up_s = time.monotonic() + SEARCH_S
                while not wanted <= set(told) and time.monotonic() < give_up_s:
                    await asyncio.sleep(0.1)
                    if node.remaining(stream.key.sid) > 0:
                        await node.more(stream.key.sid)
                self.tally.unseen = len(wanted - set(told))
                self.tally.unasked = node.remaining(stream.key.sid)
                for name in self.random.sample(sorted(wanted & set(told)), min(TRIED, len(wanted & set(told)))):
                    try:
                        self.tally.unread += await node.retrieve(told[name]) != content_of(name)
                    except OperationError:
                        self.tally.unread += 1
        finally:
            for born in running:
                born.process.kill()
                born.process.join()


def free_ports(number: int) -> list[int]:
    sockets = [socket(AF_INET, SOCK_DGRAM) for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill live nodes and count what was lost.")
    parser.add_argument("--approach", choices=sorted(SETTINGS), default="ls")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 2, 3))
    parser.add_argument("--kills", type=int, default=10, help="how often nodes are killed")
    parser.add_argument("--one", action="store_true", help="a single node each time, while the others go on")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        killing = Killing(given.approach, given.nodes, Path(folder), given.seed, one=given.one)
        tally = asyncio.run(killing.play(given.kills))
    say(given.approach, given.nodes, "one" if given.one else "all", msgspec.json.encode(tally).decode())


if __name__ == "__main__":
    main()
