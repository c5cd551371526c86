"""Disks of simulated devices, which can be slow, full or failing: those of the simulator, and a device's own store
(`live.store`) in files.

A full disk refuses new contents and accepts records, a failing one refuses both (the store in files accepts them until
it notices), and what was accepted is written when it works again. Until then nothing that depends on it is answered.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import msgspec

from thyme.host import Store, StoreFull
from thyme.live.store.disk import DiskStore
from thyme.live.store.room import DiskOptions
from thyme.live.store.writing import Written
from thyme.sim.disk import DiskSection, SimulatedDisk

RETRY_S = 1.0
"""How long a write that failed waits before it is tried again."""
After = Callable[[float, Callable[[], None]], object]
"""Runs a callback later, unless the device crashes before."""


class FaultyDisk(SimulatedDisk):
    def __init__(self, clock: Callable[[], float], after: After, commit_s: float) -> None:
        super().__init__(after, DiskSection(commit_s))
        self._clock = clock
        self._usual = self._section
        self._gathered_s = self._under_way_s = 0.0
        """When the first change of a batch was made."""
        self.full = self.failing = False

    def opened(self) -> Store:
        """The store of a node that starts."""
        return self

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


class FileDisk(Executor):
    """A folder with the store of a device. It stands for the store's thread: a batch that a crash meets is lost."""

    def __init__(self, folder: Path, clock: Callable[[], float], after: After, commit_s: float) -> None:
        self._folder = folder
        self._clock, self._after = clock, after
        self._usual_s = self._commit_s = commit_s
        self._store: DiskStore | None = None
        self._batch: object = None
        self._begun_s = self._before_s = 0.0
        """When the last batch began to be written, and the one before."""
        self.full = self.failing = False

    def opened(self) -> Store:
        options = DiskOptions(reserve_bytes=1, spare_bytes=0, retry_s=RETRY_S)
        self._store = DiskStore(self._folder, {}, options, thread=self)
        return self._store

    def submit(self, write: Callable[..., Any], /, *given: Any, **_: Any) -> Future[Any]:
        if given[0] is not self._batch:  # else one that failed is tried again
            self._batch, self._before_s, self._begun_s = given[0], self._begun_s, self._clock()
        future: Future[Written] = Future()

        def done() -> None:
            if self.failing:
                future.set_exception(OSError(errno.EIO, "the simulated disk is failing"))
                return
            try:
                written: Written = write(*given)
            except Exception as error:
                future.set_exception(error)
                return
            future.set_result(msgspec.structs.replace(written, free_bytes=0) if self.full else written)

        self._after(self._commit_s, done)
        return future

    def slow_down(self, commit_s: float) -> None:
        self._commit_s = commit_s

    def mend(self) -> None:
        self.full = self.failing = False
        self._commit_s = self._usual_s

    def unwritten_since(self) -> float:
        """A batch has what was changed since the one before began to be written."""
        if self._store is None or self._store.settled:
            return self._clock()
        return self._before_s

    def records(self) -> int:
        return 0 if self._store is None else self._store.records()

    def items(self, kind: str) -> Iterator[tuple[str, bytes]]:
        return iter(()) if self._store is None else self._store.items(kind)

    def crash(self) -> None:
        if self._store is not None:
            self._store.release()
            self._store = None
