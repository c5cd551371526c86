"""How long something took, in wall time and in CPU time of all processes that did it, and how much memory they held.

Spark works in a Java process and in Python workers, all descendants of this one, so figures are summed over them. A
worker that ends takes its figures along (its parent does not wait for it, so nobody inherits them); therefore the
family is looked at every half second, and what was seen last of each process counts.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

Result = TypeVar("Result")
LOOK_EVERY_S = 0.5


class Effort(msgspec.Struct, frozen=True):
    """`peak_mb` sums each process's own highest resident memory during the work (since its start, where the system
    does not let that mark be reset)."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def measure(work: Callable[[], Result]) -> tuple[Result, Effort]:
    """The result of the work and what it took. Needs Linux's /proc; elsewhere CPU and memory are NaN."""
    _reset_peaks()
    family = _Family()
    before_s, started_s = family.cpu_s(), time.perf_counter()
    with family.watched():
        result = work()
    wall_s = time.perf_counter() - started_s
    family.look()
    return result, Effort(wall_s, family.cpu_s() - before_s, family.peak_mb())


class _Life(NamedTuple):
    """A process: numbers are used again, but not at the same instant."""

    number: int
    started: int


class _Family:
    """This process and its descendants, as they were last seen."""

    def __init__(self) -> None:
        self._cpu_s: dict[_Life, float] = {}
        self._peak_mb: dict[_Life, float] = {}
        self.look()

    def look(self) -> None:
        ticks = os.sysconf("SC_CLK_TCK")
        for process, fields in _members().items():
            life = _Life(process, int(fields[19]))
            self._cpu_s[life] = (int(fields[11]) + int(fields[12])) / ticks
            peak_mb = _peak_mb(process)
            if peak_mb is not None:
                self._peak_mb[life] = peak_mb

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
        return sum(self._cpu_s.values()) if self._cpu_s else float("nan")

    def peak_mb(self) -> float:
        return sum(self._peak_mb.values()) if self._peak_mb else float("nan")


def _members() -> dict[int, list[str]]:
    """The fields of the state, after its name, of this process and of its living descendants."""
    everybody = {int(entry.name): fields for entry in Path("/proc").glob("[0-9]*") if (fields := _stat(entry))}
    children: dict[int, list[int]] = {}
    for process, fields in everybody.items():
        children.setdefault(int(fields[1]), []).append(process)
    found, waiting = {}, [os.getpid()]
    while waiting:
        one = waiting.pop()
        if one in everybody:
            found[one] = everybody[one]
            waiting.extend(children.get(one, []))
    return found


def _stat(process: Path) -> list[str]:
    """Empty if the process has ended."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def _peak_mb(process: int) -> float | None:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    peaks_kb = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return peaks_kb[0] / 1024.0 if peaks_kb else None


def _reset_peaks() -> None:
    """Ask the system to forget how much memory the family has held so far."""
    for process in _members():
        with suppress(OSError):
            Path(f"/proc/{process}/clear_refs").write_text("5")
