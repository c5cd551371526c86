"""The use case of the papers' devices (Thyme FGCS §10.2): a crowd in two cells whose users work in a closed loop.

First all nodes idle, to measure the cost of running; then publishers and subscribers, drawn by the seed, use their
devices; then one node fetches objects of growing size from the other cell; last, the owner of an object is killed, and
the object is still fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec

from thyme.approaches.user import BY_HAND
from thyme.live.emulation.area import AirOptions, EmulatedArea
from thyme.live.emulation.closed_loop import LoopOptions, Role
from thyme.live.emulation.meter import Account
from thyme.live.emulation.orders import Did, FetchOrder, Issue, Loop, Metered, ReadMeter, Rest, Share
from thyme.live.emulation.stage import Stage, StageOptions
from thyme.live.link.link import LinkOptions
from thyme.live.link.paths import PathOptions
from thyme.live.loop import run
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind

CELL_M = 40.0
MARGIN_M = 5.0
TAIL_S = 0.1
"""How long a radio is awake after a frame."""
WIFI_BYTES = 1_400
"""Datagrams of Wi-Fi's size, though all nodes are on this machine."""
LOOK_S = 0.05
ANSWER_S = 60.0
"""How long sharing or fetching one object may take."""
QUIET_S = 20.0
"""Timeout for operations under way when users stop."""
Holds = Callable[[], bool]
LARGE, LAST = "large", "last"
ONCE_BYTES, SEVERAL = 1_000_000, 5
"""Objects from this size on are fetched once, smaller ones several times: one loss doubles their time."""
CHURN_NODES = 4
"""With fewer, a cell could be empty."""


class UseCaseOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: int
    air: AirOptions
    seconds: float = 20.0
    """Of the closed loop."""
    idle_s: float = 8.0
    pause_s: float = 1.0
    tags: tuple[str, ...] = ("goal", "crowd", "portugal", "france")
    """Two for each cell."""
    sizes: tuple[int, ...] = ()
    seed: int = 1


class FetchResult(msgspec.Struct, frozen=True):
    size_bytes: int
    latency_s: float
    failure: str = ""


class UseCaseResult(msgspec.Struct, frozen=True):
    """Measurements besides the logs."""

    begin_s: float
    end_s: float
    """Of the closed loop, by the crowd's time."""
    roles: dict[int, Role]
    idle: dict[int, Account]
    used: dict[int, Account]
    fetched: tuple[FetchResult, ...]
    orphaned: FetchResult | None
    """The object whose publisher had been killed."""
    air_late_s: float
    """By how much a datagram was late on average because this machine was busy, …"""
    air_busy: float
    """… and how much of the time of the closed loop the channel was in use."""


def play_use_case(options: UseCaseOptions, folder: Path) -> tuple[UseCaseResult, list[Path]]:
    """Play it to its end; with the logs of the members."""
    return run(_play(options, folder))


async def _play(options: UseCaseOptions, folder: Path) -> tuple[UseCaseResult, list[Path]]:
    case = UseCase(options, folder)
    return await case.play(), case.stage.logs()


class UseCase:
    def __init__(self, options: UseCaseOptions, folder: Path) -> None:
        if options.nodes < 2:
            raise InputError(f"a crowd of {options.nodes}; two cells need at least 2 nodes")
        self._options = options
        self._random = Random(f"{options.seed}/use case")
        self.roles = self._drawn_roles()
        settings = {"grid": {"width_m": 2 * CELL_M, "height_m": CELL_M, "cell_m": CELL_M}}
        paths = PathOptions(datagram_bytes=WIFI_BYTES, loopback_bytes=WIFI_BYTES)
        stage = StageOptions("dcs", settings, options.seed, BY_HAND, link=LinkOptions(paths=paths), tail_s=TAIL_S)
        self.stage = Stage(EmulatedArea(options.air, self._places(), options.seed), stage, folder)
        self.stage.answered = self._answered
        self._accounts: dict[int, Account] = {}
        self._done: dict[str, Did] = {}

    async def play(self) -> UseCaseResult:
        options, stage = self._options, self.stage
        nodes = range(options.nodes)
        try:
            await stage.open()
            await self._accounts_of_all()
            await asyncio.sleep(options.idle_s)
            idle = await self._accounts_of_all()
            begin_s, datagrams, late_s, busy_s = stage.now(), stage.air.datagrams, stage.air.late_s, self._busy_s
            for node in nodes:
                stage.order(node, Loop(LoopOptions(self.roles[node], options.tags, pause_s=options.pause_s)))
            await asyncio.sleep(options.seconds)
            end_s, busy_s = stage.now(), self._busy_s - busy_s
            for node in nodes:
                stage.order(node, Rest())
            await self._wait_for_rest()
            used = await self._accounts_of_all()
            late_s = (stage.air.late_s - late_s) / max(1, stage.air.datagrams - datagrams)
            fetched = await self._fetch_all()
            orphaned = await self._fetch_orphan() if options.nodes >= CHURN_NODES else None
        finally:
            for node in nodes:  # nothing is asked of them any more, and goodbyes take long
                stage.kill(node)
            await stage.close()
        return UseCaseResult(
            begin_s, end_s, self.roles, idle, used, fetched, orphaned, late_s, busy_s / (end_s - begin_s)
        )

    @property
    def _busy_s(self) -> float:
        return self.stage.air.medium.busy_s

    def _drawn_roles(self) -> dict[int, Role]:
        """Half publish, half subscribe; of each cell the first ones do different things."""
        half = self._options.nodes // 2
        rest: list[Role] = ["publisher", "subscriber"] * half
        rest = rest[: self._options.nodes - 2]
        self._random.shuffle(rest)
        return dict(enumerate(["publisher", "subscriber", *rest]))

    def _places(self) -> list[Point]:
        """By turns in the two cells."""
        draw = self._random.uniform
        return [
            Point(
                (node % 2) * CELL_M + draw(MARGIN_M, CELL_M - MARGIN_M),
                draw(MARGIN_M, CELL_M - MARGIN_M),
            )
            for node in range(self._options.nodes)
        ]

    def _answered(self, node: int, answer: Metered | Did) -> None:
        match answer:
            case Metered():
                self._accounts[node] = answer.account
            case Did():
                self._done[answer.oid] = answer

    async def _accounts_of_all(self) -> dict[int, Account]:
        """The meters' counters since the last reading."""
        self._accounts = {}
        for node in range(self._options.nodes):
            self.stage.order(node, ReadMeter())
        await self._until(lambda: len(self._accounts) == self._options.nodes, QUIET_S, "the meters")
        return self._accounts

    async def _wait_for_rest(self) -> None:
        asked_s = self.stage.now()
        while any(member.state is not None and member.state.busy for member in self.stage.members):
            if self.stage.now() - asked_s > QUIET_S:
                return
            await asyncio.sleep(LOOK_S)

    async def _fetch_all(self) -> tuple[FetchResult, ...]:
        if not self._options.sizes:
            return ()
        await self._subscribe()
        fetched = []
        wanted = [(size, copy) for size in self._options.sizes for copy in range(1 if size >= ONCE_BYTES else SEVERAL)]
        for size_bytes, copy in wanted:
            oid = f"image{size_bytes}-{copy}"
            failure = (await self._ordered(0, Share(oid, LARGE, size_bytes, replicate=False))).failure
            did = await self._ordered(1, FetchOrder(oid)) if not failure else Did(oid, 0.0, failure)
            fetched.append(FetchResult(size_bytes, did.latency_s, did.failure))
        return tuple(fetched)

    async def _fetch_orphan(self) -> FetchResult:
        if not self._options.sizes:
            await self._subscribe()
        size_bytes = LoopOptions().size_bytes
        await self._ordered(0, Share(LAST, LARGE, size_bytes, replicate=True))
        await asyncio.sleep(1.0)
        self.stage.kill(0)
        did = await self._ordered(1, FetchOrder(LAST))
        return FetchResult(size_bytes, did.latency_s, did.failure)

    async def _subscribe(self) -> None:
        """The second node, in the other cell, will be notified of what the first one shares."""
        operation = Operation(0, 0.0, NodeId(1), OperationKind.SUBSCRIBE, sid=1_000_000, query=LARGE)
        self.stage.order(1, Issue(operation))
        await asyncio.sleep(1.0)

    async def _ordered(self, node: int, order: Share | FetchOrder) -> Did:
        self._done.pop(order.oid, None)
        self.stage.order(node, order)
        try:
            await self._until(lambda: order.oid in self._done, ANSWER_S, order.oid)
        except InputError:
            return Did(order.oid, ANSWER_S, "not within its time")
        return self._done[order.oid]

    async def _until(self, holds: Holds, patience_s: float, what: str) -> None:
        asked_s = self.stage.now()
        while not holds():
            if self.stage.now() - asked_s > patience_s:
                raise InputError(f"{what}: no answer within {patience_s:g} s; this machine is too busy for the crowd")
            await asyncio.sleep(LOOK_S)
