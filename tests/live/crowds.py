"""A crowd on a virtual clock: live nodes that receive each other's datagrams as an adjacency list says, and users who
play the operations of a trace.

The clock shows the trace's time. The nodes join before the first operation; the users are those of the simulator, and
react as they do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from memory_log import MemoryLog

from thyme.approaches.user import Numbers, User, UserOptions
from thyme.fuzz.live.machines import Machine, Machines
from thyme.live.link.addresses import address_text
from thyme.live.node.clock import Clock
from thyme.live.node.device import Device, DeviceOptions
from thyme.live.node.host import ORIGIN
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import LogRecord

LEAVING_S = 60.0
"""How long all nodes together may take to leave."""


class Crowd(msgspec.Struct, frozen=True):
    """Nodes 0 to n − 1, each with an address of its own."""

    neighbours: Mapping[int, Sequence[int]]
    approach: str
    settings: dict[str, Any]
    places: Mapping[int, Point] = {}
    """Where nodes stand, for an approach that asks."""
    seed: int = 1

    def play(self, operations: Iterable[Operation], until_s: float) -> list[dict[str, Any]]:
        """The events of all nodes, from switching on to leaving after `until_s`."""
        machines, log = Machines(self.seed), MemoryLog()
        machine = machines.start("crowd", ("127.0.0.1",))
        playing = machine.begin(self._play(machine, sorted(operations, key=lambda one: one.at_s), until_s, log))
        machines.run(until_s + LEAVING_S)
        assert playing.done()
        playing.result()
        assert machine.loop.failures == []
        machines.close()
        return log.events()

    async def _play(self, machine: Machine, trace: Sequence[Operation], until_s: float, log: MemoryLog) -> None:
        clock, numbers = Clock(0.0, common=True, device=machine.wall), Numbers()
        devices = {number: self._device(number, machine, clock, log) for number in self.neighbours}
        users = {}
        for number, device in devices.items():
            await device.open()
            users[number] = User(NodeId(number), device.host, UserOptions(), numbers, self.seed)
            users[number].take(device.approach)
        for number, heard in self.neighbours.items():
            await devices[number].connect([address_text(devices[other].address) for other in heard])
        await asyncio.gather(*(device.join() for device in devices.values()))
        await asyncio.gather(*(device.joined.wait() for device in devices.values()))
        assert clock.now() < trace[0].at_s
        for operation in trace:
            await asyncio.sleep(operation.at_s - clock.now())
            users[operation.node].issue(operation)
        await asyncio.sleep(until_s - clock.now())
        for number, device in devices.items():
            users[number].lose()
            await device.close("end")
        log.close(clock.now())

    def _device(self, number: int, machine: Machine, clock: Clock, log: MemoryLog) -> Device:
        options = DeviceOptions(
            number,
            approach=self.approach,
            settings=self.settings,
            seed=self.seed,
            position=self.places.get(number, ORIGIN),
            only_peers=True,
        )
        return Device(options, clock=clock, log=_Shared(log), network=machine)


class _Shared:
    """The crowd's log as one node's: it is closed by the crowd, not by each node."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        self._log.record(at_s, node, event)

    def close(self, at_s: float) -> None:
        """The others may still be writing."""
