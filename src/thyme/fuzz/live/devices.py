"""People's devices, through all restarts: the disk, the clock and the addresses that stay, and the node that comes and
goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from thyme.fuzz.live.disks import FaultyDisk, FileDisk
from thyme.fuzz.live.machines import Machine, Machines
from thyme.live import Node
from thyme.model.geometry import Point


class VirtualDevice:
    def __init__(
        self,
        machines: Machines,
        index: int,
        place: Point,
        families: str,
        commit_s: float,
        *,
        everywhere: bool,
        folder: Path | None = None,
    ) -> None:
        """With a `folder`, its store is in files there."""
        self.index = index
        self.place = place
        self.everywhere = everywhere
        """Whether it listens to all its addresses, or to that of IPv4."""
        self.wrong_s = 0.0
        """Offset of its clock from the correct time."""
        self.moves = 0
        self.machine: Machine | None = None
        self.node: Node | None = None
        """The node while it takes part."""
        self.waiting: list[Callable[[], None]] = []
        """What its application wants to do as soon as it takes part."""
        self._families, self._commit_s = families, commit_s
        self._folder, self._disks = folder, 0
        self._machines = machines
        self.disk = self._new_disk()

    @property
    def hosts(self) -> tuple[str, ...]:
        network, number = divmod(self.index + 1, 250)
        known = {"4": f"10.{network}.{self.moves}.{number}", "6": f"fd00::{self.moves}:{self.index + 1}"}
        return tuple(known[family] for family in self._families)

    @property
    def on(self) -> bool:
        return self.machine is not None and not self.machine.dead

    def running(self) -> Machine:
        """Its machine; only of one that is on."""
        assert self.machine is not None
        return self.machine

    def crash(self, *, wiped: bool) -> None:
        self._machines.kill(self.running())
        self.node = None
        self.waiting.clear()
        self.disk.crash()
        if wiped:
            self.disk = self._new_disk()

    def carry_to(self, place: Point) -> None:
        """Somebody who walks has it along; the node, if it runs, is told where it is."""
        self.place = place
        if self.node is not None and self.running().runs:
            self.node.place(place.x_m, place.y_m)

    def _new_disk(self) -> FaultyDisk | FileDisk:
        def clock() -> float:
            return self._machines.now_s

        if self._folder is None:
            return FaultyDisk(clock, self._after, self._commit_s)
        self._disks += 1
        return FileDisk(self._folder / f"{self.index}-{self._disks}", clock, self._after, self._commit_s)

    def _after(self, delay_s: float, action: Callable[[], None]) -> None:
        """The disk's thread tells the event loop."""
        machine = self.running()

        def tell() -> None:
            if not machine.dead:
                machine.do(action)

        self._machines.at(self._machines.now_s + delay_s, tell)
