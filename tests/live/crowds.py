"""A crowd in one process: several live nodes over real UDP sockets, whose users play the operations of a trace.

Who hears whom is an adjacency list. All nodes share one clock that shows the trace's time, faster than time if
wanted. A patient crowd carries out one operation after the other: when the time of one has come, it still waits
until the last has ended and no packet is on its way, and the clock stands still meanwhile, so that the outcome does
not depend on how busy the machine is. The users are those of the simulator, and react as they do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

import msgspec
from memory_log import MemoryLog

from thyme.approaches.user import Numbers, User, UserOptions
from thyme.live.link.addresses import address_text
from thyme.live.node.clock import Clock
from thyme.live.node.device import Device, DeviceOptions
from thyme.live.node.host import ORIGIN
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import LogRecord

Adjacency = Mapping[int, Sequence[int]]


class HeldClock(Clock):
    """Shows the time of a trace, may run faster than time, and can be held until the next operation."""

    def __init__(self, speed: float) -> None:
        super().__init__(0.0, common=True)
        self._began_s = self._loop.time()
        self._shown_s, self._limit_s = 0.0, inf
        self.speed = speed

    def now(self) -> float:
        return min(self._shown_s + (self._loop.time() - self._began_s) * self.speed, self._limit_s)

    def ticks(self) -> tuple[Callable[[], float], float]:
        return self.now, 0.0

    def hold_at(self, limit_s: float) -> None:
        """Show no later time than this until told otherwise; never goes back."""
        self._shown_s, self._began_s = self.now(), self._loop.time()
        self._limit_s = max(limit_s, self._shown_s)

    def after(self, delay_s: float, action: Callable[[], None]) -> asyncio.Handle:
        return super().after(delay_s / self.speed, action)


class CrowdOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    approach: str = "ls"
    settings: dict[str, Any] = {}
    seed: int = 1
    speed: float = 1.0
    """Seconds of the trace per second."""
    patient: bool = False
    until_s: float = 0.0
    """How long the trace's time goes on; at least to the last operation."""
    users: UserOptions = UserOptions()
    quiet_checks: int = 5
    """The network is quiet when nothing but control was sent or heard between this many looks, …"""
    quiet_look_s: float = 0.02
    """… which are this far apart: longer than the approaches wait at random before they pass something on."""
    patience_s: float = 60.0
    """How long to wait for the crowd to join, or for quiet, before giving up."""


class CrowdError(RuntimeError):
    """The crowd did not get as far as it should have in the time it had."""


class Crowd:
    """Nodes 0 to n − 1, each with a socket of its own."""

    def __init__(
        self,
        neighbours: Adjacency,
        options: CrowdOptions | None = None,
        places: Mapping[int, Point] | None = None,
    ) -> None:
        """`places` says where nodes stand, for an approach that asks."""
        self._options = options or CrowdOptions()
        self._places = places or {}
        self._neighbours = {node: tuple(heard) for node, heard in neighbours.items()}
        for node, heard in self._neighbours.items():
            for other in heard:
                if node not in self._neighbours.get(other, ()):
                    raise InputError(f"node {node} hears node {other}, but node {other} does not hear node {node}")
        self.log = MemoryLog()
        self._devices: dict[int, Device] = {}
        self._users: dict[int, User] = {}

    async def play(self, operations: Iterable[Operation]) -> MemoryLog:
        """Bring the crowd up, play the trace, let it settle, and take it down; what happened, in the log."""
        trace = sorted(operations, key=lambda each: (each.at_s, each.operation))
        for operation in trace:
            if operation.node not in self._neighbours:
                raise InputError(f"operation {operation.operation} is by node {operation.node}, who is not there")
        clock = HeldClock(self._options.speed)
        if trace:
            clock.hold_at(trace[0].at_s)
        try:
            await self._come_up(clock)
            for i, operation in enumerate(trace):
                await self._reach(clock, operation.at_s)
                self._users[operation.node].issue(operation)
                if i + 1 < len(trace):
                    clock.hold_at(trace[i + 1].at_s)
            end_s = max([self._options.until_s, *(each.at_s for each in trace)])
            clock.hold_at(inf)
            await self._reach(clock, end_s)
            await self._settle()
        finally:
            await self._go_down(clock)
        return self.log

    async def _come_up(self, clock: HeldClock) -> None:
        options = self._options
        numbers = Numbers()
        for number in self._neighbours:
            device = self._device(number, clock)
            self._devices[number] = device
            await device.open()
            user = self._users[number] = User(NodeId(number), device.host, options.users, numbers, options.seed)
            user.take(device.approach)
        for number, heard in self._neighbours.items():
            await self._devices[number].connect([address_text(self._devices[other].address) for other in heard])
        joining = asyncio.gather(*(device.join() for device in self._devices.values()))
        joined = asyncio.gather(*(device.joined.wait() for device in self._devices.values()))
        try:
            await asyncio.wait_for(asyncio.gather(joining, joined), options.patience_s)
        except TimeoutError:
            raise CrowdError(f"not all nodes joined within {options.patience_s} s") from None

    def _device(self, number: int, clock: HeldClock) -> Device:
        options = self._options
        given = DeviceOptions(
            number,
            approach=options.approach,
            settings=options.settings,
            seed=options.seed,
            position=self._places.get(number, ORIGIN),
            only_peers=True,
        )
        return Device(given, clock=clock, log=_Shared(self.log))

    async def _reach(self, clock: HeldClock, at_s: float) -> None:
        """Wait until the clock shows `at_s`; a patient crowd then waits for quiet as well."""
        while (left_s := at_s - clock.now()) > 0.0:
            await asyncio.sleep(left_s / clock.speed)
        if self._options.patient:
            await self._settle()

    async def _settle(self) -> None:
        """Wait until no operation is under way and nothing is on its way."""
        options = self._options
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + options.patience_s
        still, last = 0, -1
        while still < options.quiet_checks:
            if loop.time() > give_up_s:
                raise CrowdError(f"the crowd did not become quiet within {options.patience_s} s")
            await asyncio.sleep(options.quiet_look_s)
            hosts = [device.host for device in self._devices.values()]
            activity = sum(host.activity for host in hosts)
            sending = any(host.link.unacknowledged for host in hosts)
            busy = sending or any(user.busy for user in self._users.values())
            still = 0 if busy or activity != last else still + 1
            last = activity

    async def _go_down(self, clock: HeldClock) -> None:
        for number, device in self._devices.items():
            if number in self._users:
                self._users[number].lose()
                await device.close("end")
            else:
                await device.host.close()  # it could not be opened
        self.log.close(clock.now())


class _Shared:
    """The crowd's log as one node's: it is closed by the crowd, not by each node."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        self._log.record(at_s, node, event)

    def close(self, at_s: float) -> None:
        """The others may still be writing."""
