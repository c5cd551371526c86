"""Disks of simulated devices: those of the simulator, which can also be slow, full or failing.

As on a device (`live.store`), a full disk refuses new contents and accepts records, a failing one refuses both, and
what was accepted is written when it works again. Until then nothing that depends on it is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thyme.host import StoreFull
from thyme.sim.disk import DiskSection, SimulatedDisk

RETRY_S = 1.0
"""How long a write that failed waits before it is tried again."""


class FaultyDisk(SimulatedDisk):
    def __init__(
        self, clock: Callable[[], float], after: Callable[[float, Callable[[], None]], object], commit_s: float
    ) -> None:
        super().__init__(after, DiskSection(commit_s))
        self._clock = clock
        self._usual = self._section
        self._gathered_s = self._under_way_s = 0.0
        """When the first change of a batch was made."""
        self.full = self.failing = False

    def put(self, kind: str, key: str, value: bytes) -> None:
        if self.failing and self.get(kind, key) is None:
            raise StoreFull("the simulated disk is failing")
        super().put(kind, key, value)

    def write(
        self,
        key: str,
        offset: int,
        part: bytes,
        written: Callable[[], None] | None = None,
        *,
        since_s: float | None = None,
    ) -> None:
        if self.full or self.failing:
            raise StoreFull("the simulated disk is full")
        super().write(key, offset, part, written, since_s=since_s)

    def slow_down(self, commit_s: float) -> None:
        self._section = DiskSection(commit_s)

    def mend(self) -> None:
        self.full = self.failing = False
        self._section = self._usual

    def unwritten_since(self) -> float:
        """What was stored since then would be undone by a crash now."""
        if self._under_way is not None:
            return self._under_way_s
        return self._gathered_s if self._gathered.changes else self._clock()

    def records(self) -> int:
        return sum(1 for kind in self.kinds() for _ in self.items(kind))

    def _begin(self) -> None:
        if self.failing:
            self._later(RETRY_S, self._begin)
        else:
            self._under_way_s = self._gathered_s
            super()._begin()

    def _change(self, what: str, given: tuple[Any, ...], *, awaited: bool = True) -> None:
        if not self._gathered.changes:
            self._gathered_s = self._clock()
        super()._change(what, given, awaited=awaited)
