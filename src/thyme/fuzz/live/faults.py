"""Faults: what may happen to simulated devices and to the network between them.

Each is a record that says when it begins, which device it concerns and how long it lasts; `begin` arranges it and its
end. A fault ends by itself at the latest when the active phase of its history does.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Protocol

import msgspec

from thyme.fuzz.live.devices import VirtualDevice
from thyme.fuzz.live.intruder import Intruder
from thyme.fuzz.live.machines import Machines, Weather
from thyme.model.geometry import Point

PEERS_WAIT_S = 15.0
"""A peer that is silent for longer counts as gone."""
STEP_S = 1.0
"""Between two positions of a device that is carried."""


class FaultTarget(Protocol):
    """What faults happen to."""

    machines: Machines
    devices: list[VirtualDevice]

    def say(self, text: str) -> None: ...
    def reach(self, state: str) -> None:
        """Count a state of interest."""

    def start(self, device: VirtualDevice) -> None: ...
    def leave(self, device: VirtualDevice, until_s: float) -> None:
        """Its user stops the node, and starts it again."""

    def lose(self, device: VirtualDevice, *, store: bool) -> None:
        """The device crashed; `store`: what was on its disk is gone, too."""


class Fault(msgspec.Struct, frozen=True, tag=str.lower):
    at_s: float
    node: int = 0
    lasts_s: float = 0.0

    def begin(self, crowd: FaultTarget) -> None:
        """Of a device that runs."""
        raise NotImplementedError

    def _later(self, crowd: FaultTarget, action: partial[None]) -> None:
        crowd.machines.at(crowd.machines.now_s + self.lasts_s, action)


class Kill(Fault, frozen=True):
    """A crash: what was not durable is lost. It is started again at the end."""

    wiped: bool = False
    """Whether it comes back with an empty disk."""

    def begin(self, crowd: FaultTarget) -> None:
        device = crowd.devices[self.node]
        crowd.lose(device, store=self.wiped)
        self._later(crowd, partial(crowd.start, device))


class Leave(Fault, frozen=True):
    """The node is stopped: it hands over what it keeps for others. It is started again at the end."""

    def begin(self, crowd: FaultTarget) -> None:
        crowd.leave(crowd.devices[self.node], crowd.machines.now_s + self.lasts_s)


class Pause(Fault, frozen=True):
    """The process stops, and its clocks go on."""

    def begin(self, crowd: FaultTarget) -> None:
        machine = crowd.devices[self.node].running()
        machine.held += 1
        if self.lasts_s > PEERS_WAIT_S:
            crowd.reach("pause for longer than peers wait")
        self._later(crowd, partial(machine.release))


class Slow(Fault, frozen=True):
    """The machine is overloaded: its event loop stands still again and again."""

    stall_s: float = 0.5
    run_s: float = 0.05

    def begin(self, crowd: FaultTarget) -> None:
        machines, machine = crowd.machines, crowd.devices[self.node].running()
        end_s = machines.now_s + self.lasts_s

        def stall() -> None:
            if machines.now_s < end_s and not machine.dead:
                machine.held += 1
                machines.at(min(end_s, machines.now_s + self.stall_s), resume)

        def resume() -> None:
            machine.release()
            machines.at(machines.now_s + self.run_s, stall)

        stall()


class Suspend(Fault, frozen=True):
    """The device sleeps: its monotonic clock stops."""

    def begin(self, crowd: FaultTarget) -> None:
        machine = crowd.devices[self.node].running()
        if not machine.suspended:
            crowd.machines.suspend(machine, self.lasts_s)
            if self.lasts_s > PEERS_WAIT_S:
                crowd.reach("suspend for longer than peers wait")


class SetClock(Fault, frozen=True):
    """Somebody sets the device's wall clock."""

    to_s: float = 0.0

    def begin(self, crowd: FaultTarget) -> None:
        device = crowd.devices[self.node]
        device.wrong_s = device.running().wrong_s = self.to_s


class Move(Fault, frozen=True):
    """The device gets other addresses."""

    def begin(self, crowd: FaultTarget) -> None:
        device = crowd.devices[self.node]
        if device.everywhere:
            device.moves += 1
            device.running().hosts = device.hosts


class Walk(Fault, frozen=True):
    """The device is carried to another place."""

    to_m: tuple[float, float] = (0.0, 0.0)

    def begin(self, crowd: FaultTarget) -> None:
        machines, device = crowd.machines, crowd.devices[self.node]
        start, start_s = device.place, machines.now_s
        x_m, y_m = self.to_m

        def step() -> None:
            share = min(1.0, (machines.now_s - start_s + STEP_S) / (self.lasts_s + STEP_S))
            device.carry_to(Point(start.x_m + share * (x_m - start.x_m), start.y_m + share * (y_m - start.y_m)))
            if share < 1.0:
                machines.at(machines.now_s + STEP_S, step)

        step()


class Unplug(Fault, frozen=True):
    """The device's interface goes down, and up again."""

    def begin(self, crowd: FaultTarget) -> None:
        machine = crowd.devices[self.node].running()
        machine.unplugged += 1
        self._later(crowd, partial(machine.plug))


class BadDisk(Fault, frozen=True):
    """The device's disk is slow, full or failing."""

    how: str = "full"
    commit_s: float = 0.0
    """If it is slow: how long it takes."""

    def begin(self, crowd: FaultTarget) -> None:
        disk = crowd.devices[self.node].disk
        crowd.reach(f"{self.how} disk")
        match self.how:
            case "slow":
                disk.slow_down(self.commit_s)
            case "full":
                disk.full = True
            case _:
                disk.failing = True
        self._later(crowd, partial(disk.mend))


class Partition(Fault, frozen=True):
    """The devices below `node` are cut off from the others."""

    def begin(self, crowd: FaultTarget) -> None:
        machines = crowd.machines
        machines.parts = parts = {str(index): 1 for index in range(self.node)}

        def merge() -> None:
            if machines.parts is parts:
                machines.parts = {}
                crowd.say("the network is in one part")
                crowd.reach("merge")

        self._later(crowd, partial(merge))


class Storm(Fault, frozen=True):
    """The network loses, repeats, delays and reorders datagrams, or carries no multicast."""

    weather: Weather = Weather()

    def begin(self, crowd: FaultTarget) -> None:
        machines, weather = crowd.machines, self.weather
        machines.weather = weather

        def end() -> None:
            if machines.weather is weather:
                machines.weather = machines.calm

        self._later(crowd, partial(end))


class Intrude(Fault, frozen=True):
    """Somebody on the same network records datagrams, and sends them again, altered, as of an older version, or sends
    noise, in the name of any address."""

    per_s: float = 20.0

    def begin(self, crowd: FaultTarget) -> None:
        Intruder(crowd.machines, Random(f"intruder/{self.at_s}"), self.per_s, self.lasts_s).begin()


AnyFault = (
    Kill | Leave | Pause | Slow | Suspend | SetClock | Move | Walk | Unplug | BadDisk | Partition | Storm | Intrude
)
OF_THE_NETWORK = (Partition, Storm, Intrude)
"""These need no device that runs."""
DRAWN = (Kill, Kill, Pause, Slow, Suspend, SetClock, Move, Unplug, BadDisk, Partition, Storm, Storm, Intrude)


def draw_fault(draw: Random, nodes: int, last_s: float) -> AnyFault:
    """One that ends by `last_s`."""
    at_s, node = draw.uniform(5.0, last_s - 5.0), draw.randrange(nodes)
    lasts_s = min(draw.choice((1.0, 4.0, 12.0, 20.0, 40.0)), last_s - at_s)
    kind = draw.choice(DRAWN)
    if kind is Kill:
        return Kill(at_s, node, lasts_s, draw.random() < 0.25)
    if kind is Slow:
        return Slow(at_s, node, lasts_s, draw.choice((0.1, 0.5, 2.0)), draw.choice((0.02, 0.2)))
    if kind is SetClock:
        return SetClock(at_s, node, 0.0, draw.choice((-60.0, -2.0, 2.0, 60.0)))
    if kind is BadDisk:
        return BadDisk(at_s, node, lasts_s, draw.choice(("slow", "full", "failing")), draw.choice((0.2, 1.0, 3.0)))
    if kind is Partition:
        return Partition(at_s, draw.randint(1, nodes - 1), lasts_s)
    if kind is Intrude:
        return Intrude(at_s, 0, lasts_s, draw.choice((5.0, 50.0)))
    if kind is Storm:
        jitter_s, loss = draw.choice((0.002, 0.05)), draw.choice((0.0, 0.02, 0.1, 0.3))
        weather = Weather(0.002, jitter_s, loss, draw.choice((0.0, 0.1)), draw.random() < 0.7)
        return Storm(at_s, 0, lasts_s, weather)
    return kind(at_s, node, lasts_s)
