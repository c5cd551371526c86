"""Wall time, CPU time and memory of some work, over all its processes.

Spark works in a Java process and in Python workers, all descendants of this one, so figures are summed over them. The
CPU time of a worker that ends is lost (its parent does not wait for it); therefore the process tree is sampled every
half second, and the last sample of each process counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil

ResultT = TypeVar("ResultT")
LOOK_EVERY_S = 0.5


class Effort(msgspec.Struct, frozen=True):
    """`peak_mb` sums each process's own highest resident memory during the work (since its start, where the system
    does not let that mark be reset; the highest that was seen, where it keeps none)."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def measure(work: Callable[[], ResultT]) -> tuple[ResultT, Effort]:
    """The result of the work and what it took."""
    _reset_peaks()
    family = _Family()
    before_s, started_s = family.cpu_s(), time.perf_counter()
    with family.watched():
        result = work()
    wall_s = time.perf_counter() - started_s
    family.look()
    return result, Effort(wall_s, family.cpu_s() - before_s, family.peak_mb())


class _Family:
    """This process and its descendants, as they were last seen; numbers that are used again are other processes."""

    def __init__(self) -> None:
        self._cpu_s: dict[psutil.Process, float] = {}
        self._peak_mb: dict[psutil.Process, float] = {}
        self.look()

    def look(self) -> None:
        for process in _members():
            with suppress(psutil.Error, OSError):
                times = process.cpu_times()
                self._cpu_s[process] = times.user + times.system
                self._peak_mb[process] = max(self._peak_mb.get(process, 0.0), _peak_mb(process))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look again and again while this lasts."""
        over = threading.Event()

        def go_on_looking() -> None:
            while not over.wait(LOOK_EVERY_S):
                self.look()

        watcher = threading.Thread(target=go_on_looking, name="effort", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())

    def peak_mb(self) -> float:
        return sum(self._peak_mb.values())


def _members() -> list[psutil.Process]:
    """This process and its living descendants."""
    this = psutil.Process()
    return [this, *this.children(recursive=True)]


def _peak_mb(process: psutil.Process) -> float:
    """The highest resident memory where the system keeps that mark (psutil does not read it), else that of now."""
    marks = Path(f"/proc/{process.pid}/status")
    if marks.is_file():
        for line in marks.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024.0
    return float(process.memory_info().rss) / 2**20


def _reset_peaks() -> None:
    """Ask the system to forget how much memory the family has held so far."""
    for process in _members():
        with suppress(OSError):
            Path(f"/proc/{process.pid}/clear_refs").write_text("5")
