"""The stage: starts the members of an emulated crowd, hands them their operations, and kills, moves and cuts them.

Each member is a process. Killing one is SIGKILL, with no goodbye; reviving starts it anew on the store that it left. A
crowd has two sockets for each pair of nodes, more open files than a process is usually allowed.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from thyme.approaches.user import UserOptions
from thyme.live.emulation.area import EmulatedArea
from thyme.live.emulation.orders import (
    Did,
    Issue,
    LeaveOrder,
    Life,
    Listens,
    Meet,
    MemberState,
    Metered,
    Order,
    Stand,
    line,
    read_said,
)
from thyme.live.emulation.pair_sockets import Air
from thyme.live.link.link import LinkOptions
from thyme.live.node.device import DeviceOptions
from thyme.live.store.room import DiskOptions
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.operations import Operation, RetrievalPolicy

PER_MEMBER = 4
"""Pipes to and from a member, and what it is started with."""
SPARE = 100
"""For everything else: the map, the event loop, libraries."""


def allow_crowd(nodes: int) -> None:
    """Let this process have the files of a crowd; InputError if the system does not."""
    allow_open_files(nodes * (nodes - 1) + PER_MEMBER * nodes + SPARE)


def allow_open_files(wanted: int) -> None:
    if sys.platform == "win32":  # where there is no such limit
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise InputError(f"{wanted:,} open files are needed and {hard:,} allowed (ulimit -Hn); start fewer nodes")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


MEMBER = "thyme.live.emulation.member"
LOGS, STORES, SAID = "logs", "stores", "members.txt"
START_TOGETHER = 4
"""Processes that start at once: all of a machine's cores are busy with a few."""
START_S, JOIN_S, LEAVE_S = 60.0, 120.0, 30.0
LOOK_S = 0.1
LINE_BYTES = 1_000_000

WALK_MPS = 1.4
"""Walking speed."""
WALK_EVERY_S = 0.5
"""Between two steps of theirs."""


class StageOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    approach: str = "dcs"
    settings: dict[str, Any] = {}
    seed: int = 1
    users: UserOptions = UserOptions(RetrievalPolicy(probability=0.3))
    link: LinkOptions = LinkOptions()
    tail_s: float = 0.0
    """With a meter on every device: how long a radio is awake after a frame."""


class MemberProcess:
    """One process, as the stage sees it."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.state: MemberState | None = None
        self.listening = asyncio.Event()
        self.lives = 0

    @property
    def on(self) -> bool:
        return self.process is not None and self.process.returncode is None


class Stage:
    """A crowd of processes in an area. Enter it to have it run; leave it, and all members have left."""

    def __init__(self, area: EmulatedArea, options: StageOptions, folder: Path) -> None:
        self.area = area
        self.options = options
        self._folder = folder
        self.members = [MemberProcess() for _ in area.places]
        self.air = Air(area)
        self.epoch_s = time.time()
        self._starting = asyncio.Semaphore(START_TOGETHER)
        self._reading: set[asyncio.Task[None]] = set()
        self._walking: dict[int, Point] = {}
        self._random = Random(f"{options.seed}/stage")
        self.answered: Callable[[int, Metered | Did], None] | None = None
        """Called with members' answers to orders."""
        (folder / LOGS).mkdir(parents=True)

    def now(self) -> float:
        """The crowd's time."""
        return time.time() - self.epoch_s

    async def open(self) -> None:
        """Start all members, and wait until all have joined."""
        allow_crowd(len(self.members))
        self.air.open()
        await asyncio.gather(*(self.start(node) for node in range(len(self.members))))
        give_up_s = time.monotonic() + JOIN_S
        while not all(member.state is not None and member.state.joined for member in self.members if member.on):
            if time.monotonic() > give_up_s:
                raise InputError(
                    f"not all members joined within {JOIN_S:g} s; start fewer nodes, or use a less busy machine"
                )
            await asyncio.sleep(LOOK_S)

    async def close(self) -> None:
        """Let all leave together, as they would at the end of an event."""
        running = [member.process for member in self.members if member.on and member.process is not None]
        for node, member in enumerate(self.members):
            if member.on:
                self.order(node, LeaveOrder())
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*(process.wait() for process in running))
        for process in running:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*(process.wait() for process in running), *self._reading, return_exceptions=True)
        self.air.close()

    async def start(self, node: int) -> None:
        """Switch a member on; it finds the store that an earlier life left."""
        member = self.members[node]
        if member.on:
            raise InputError(f"node {node} is already running")
        async with self._starting:
            member.listening.clear()
            member.state, member.lives = None, member.lives + 1
            with (self._folder / SAID).open("ab") as said:
                member.process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", MEMBER),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=said,
                    start_new_session=True,  # Ctrl-C is for the stage, which lets members leave
                    limit=LINE_BYTES,
                )
            self._write(member, self._life(node, member.lives))
            task = asyncio.ensure_future(self._read(node, member, member.process))
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)
            try:
                async with asyncio.timeout(START_S):
                    await member.listening.wait()
            except TimeoutError:
                raise InputError(f"node {node} did not start within {START_S:g} s") from None
        self.order(node, Meet(tuple(self.air.peers_of(node))))

    def order(self, node: int, order: Order) -> None:
        """Send an order to a member; one that is off does not receive it."""
        if self.members[node].on:
            self._write(self.members[node], order)

    def kill(self, node: int) -> None:
        """End a process at once, without a goodbye."""
        member = self.members[node]
        if member.on and member.process is not None:
            member.process.kill()
            self.air.settle(node, None)

    def move(self, node: int, where: Point, *, moving: bool = False) -> None:
        self.area.place(node, where)
        self.order(node, Stand(self.area.places[node], moving))

    def walk(self, nodes: Iterable[int]) -> None:
        """These walk from one place to another from now on."""
        for node in nodes:
            self._walking[node] = self._somewhere()

    async def walk_on(self) -> None:
        """Keep the walkers walking."""
        step_m = WALK_MPS * WALK_EVERY_S
        while True:
            await asyncio.sleep(WALK_EVERY_S)
            for node, goal in self._walking.items():
                here = self.area.places[node]
                left_m = here.distance_m(goal)
                if left_m <= step_m:
                    self._walking[node] = self._somewhere()
                    self.move(node, goal, moving=True)
                    continue
                share = step_m / left_m
                x_m, y_m = here.x_m + (goal.x_m - here.x_m) * share, here.y_m + (goal.y_m - here.y_m) * share
                self.move(node, Point(x_m, y_m), moving=True)

    async def play(self, operations: Iterable[Operation]) -> None:
        """Hand each operation to its member when its time has come. One whose member is off is not issued."""
        for operation in operations:
            await asyncio.sleep(max(0.0, operation.at_s - self.now()))
            self.order(operation.node, Issue(operation))

    def logs(self) -> list[Path]:
        return sorted((self._folder / LOGS).glob("*.jsonl"))

    def _somewhere(self) -> Point:
        options, random = self.area.options, self._random
        return Point(random.uniform(0.0, options.width_m), random.uniform(0.0, options.height_m))

    def _life(self, node: int, lives: int) -> Life:
        options = self.options
        device = DeviceOptions(
            node,
            only_peers=True,
            approach=options.approach,
            settings=options.settings,
            seed=options.seed * 1_000 + lives,
            position=self.area.places[node],
            log=str(self._folder / LOGS / f"{node}.jsonl"),
            link=options.link,
            disk=DiskOptions(durability="batched"),
            leave_s=LEAVE_S / 3.0,
        )
        store = str(self._folder / STORES / str(node))
        return Life(device, store, self.epoch_s, options.users, options.seed, options.tail_s)

    async def _read(self, node: int, member: MemberProcess, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for text in process.stdout:
            match read_said(text):
                case Listens(host, port):
                    self.air.settle(node, (host, port))
                    member.listening.set()
                case MemberState() as state:
                    member.state = state
                case Metered() | Did() as answer:
                    if self.answered is not None:
                        self.answered(node, answer)
        await process.wait()
        self.air.settle(node, None)

    def _write(self, member: MemberProcess, what: Any) -> None:
        assert member.process is not None
        assert member.process.stdin is not None
        with suppress(OSError, RuntimeError):  # it has just ended
            member.process.stdin.write(line(what))
