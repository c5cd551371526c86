"""Live nodes as contenders. A payload is the summary of an object, so it comes with the notification.

Thyme-LS: the publisher keeps its objects. Thyme-DCS: two adjacent cells, and the tag belongs to the publisher's cell;
if the publisher dies, a keeper in the same cell has its objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.live.contest.contender import Ability, Contender, OnConnected, OnPayload, Publisher, Server
from benchmarks.live.processes import in_process
from thyme.approaches.dcs.options import GridOptions
from thyme.live import Node
from thyme.live.failures import OperationError
from thyme.live.loop import run
from thyme.live.node.notifications import AT_ONCE, Notifications
from thyme.model.geometry import Point
from thyme.routing.cells.grid import Grid

QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}
WIDTH_M, HEIGHT_M = 80.0, 40.0
AREA = {"grid": {"width_m": WIDTH_M, "height_m": HEIGHT_M}, "join_wait_s": 0.3, "settle_s": 0.2}
HERE, BESIDE, THERE = Point(20.0, 20.0), Point(25.0, 20.0), Point(60.0, 20.0)
TAG = "goal"
PUBLISHER, SUBSCRIBER, KEEPER = 1, 2, 3
ROUND_S = 0.02
LEAVE_S = 0.1
"""A leaving node has nobody to hand over to, and need not search."""
ACQUAINTED_S = 2.0
"""By then nodes have received each other's beacons, so joining is not measured."""
UNSIGNED = ", unsigned"
DEAD = ", publisher dead"
"""What a name ends with."""


class Nodes(Contender):
    """Two nodes."""

    abilities = Ability.TELL | Ability.PAST | Ability.DISK

    def __init__(self, approach: str, *, signed: bool = True, dies: bool = False) -> None:
        self._approach = approach
        self._signed = signed
        self.dies = dies
        self.name = f"Thyme-{approach.upper()}"
        if dies:
            self.abilities = Ability.PAST
            self.name += DEAD
        elif not signed:
            self.name += UNSIGNED

    @contextmanager
    def serve(self, folder: Path) -> Iterator[Server]:
        if not self.dies:
            yield Server()
            return
        with in_process(keep, self._approach, self._signed) as pipe:
            yield Server(pipe.recv())
            pipe.send("enough")

    @asynccontextmanager
    async def publishing(self, server: Server, folder: Path | None) -> AsyncIterator[Publisher]:
        names = iter(range(10**9))
        store = "memory" if folder is None or self.dies else str(folder / "store")
        async with self._node(PUBLISHER, HERE, server.address, store) as node:
            tag = self._tag()
            at_once = self._approach == "ls" and store == "memory"  # no other node has to answer

            async def insert(payload: bytes) -> None:
                await node.insert(f"o{next(names)}", b"x", [tag], payload)

            async def publish(payloads: Sequence[bytes]) -> None:
                if at_once or len(payloads) == 1:
                    for payload in payloads:
                        await insert(payload)
                else:
                    await asyncio.gather(*map(insert, payloads))

            yield Publisher(publish, server.address or node.address)

    @asynccontextmanager
    async def listening(self, address: str, told: OnPayload) -> AsyncIterator[None]:
        async with self._node(SUBSCRIBER, THERE, address) as node:
            node.on_notice = lambda notice: told(notice.metadata.summary)
            await node.subscribe(self._tag())
            yield

    @asynccontextmanager
    async def searching(self, address: str, told: OnPayload, begins: OnConnected) -> AsyncIterator[None]:
        async with self._node(SUBSCRIBER, THERE, address) as node:
            begins()
            stream = await node.subscribe(self._tag())
            hearing = asyncio.ensure_future(_page(stream, told))
            yield
            hearing.cancel()

    @asynccontextmanager
    async def _node(self, number: int, at: Point, peer: str, store: str = "memory") -> AsyncIterator[Node]:
        settings = AREA if self._approach == "dcs" else QUICK
        options: dict[str, Any] = {"approach": self._approach, "settings": settings, "signed": self._signed}
        options["leave_s"] = LEAVE_S
        peers = [peer] if peer else []
        async with Node(number, store=store, peers=peers, position=at, **options) as node:
            await node.device.joined.wait()
            if self._approach == "dcs":
                await asyncio.sleep(ACQUAINTED_S)
            yield node

    def _tag(self) -> str:
        """One of the publisher's cell."""
        if self._approach != "dcs":
            return TAG
        grid = Grid(WIDTH_M, HEIGHT_M, GridOptions().cell_m)
        return next(tag for tag in map(f"{TAG}{{}}".format, range(100)) if grid.cell_for(tag) == grid.cell_of(HERE))


async def _hear(stream: Notifications, told: OnPayload) -> None:
    async for notice in stream:
        told(notice.metadata.summary)


async def _page(stream: Notifications, told: OnPayload) -> None:
    """Of the past, all: what is there now, and then whatever is left."""
    hearing = asyncio.ensure_future(_hear(stream, told))
    try:
        while True:
            if stream.remaining:
                with suppress(OperationError):  # a dead node was asked; the next one asks another
                    await stream.more(AT_ONCE)
            else:
                await asyncio.sleep(ROUND_S)
    finally:
        hearing.cancel()


def keep(pipe: Connection, approach: str, signed: bool) -> None:
    """A process with the node that has what the publisher published, when that is gone."""

    async def serve() -> None:
        async with Nodes(approach, signed=signed)._node(KEEPER, BESIDE, "") as node:
            pipe.send(node.address)
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    run(serve())
