"""How long something took, in wall time and in CPU time of all processes that did it, and how much memory they held.

Spark works in a Java process and in Python workers, all descendants of this one, so figures are summed over them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

Result = TypeVar("Result")


class Effort(msgspec.Struct, frozen=True):
    """`peak_mb` sums each process's own highest resident memory during the work (since its start, where the system
    does not let that mark be reset)."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def measure(work: Callable[[], Result]) -> tuple[Result, Effort]:
    """The result of the work and what it took. Needs Linux's /proc; elsewhere CPU and memory are NaN."""
    _reset_peaks()
    wall_s, cpu_s = time.perf_counter(), _cpu_s()
    result = work()
    return result, Effort(time.perf_counter() - wall_s, _cpu_s() - cpu_s, _peak_mb())


def _family() -> list[Path]:
    """This process and its living descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        fields = _stat(entry)
        if fields:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    family, waiting = [], [os.getpid()]
    while waiting:
        one = waiting.pop()
        family.append(Path("/proc") / str(one))
        waiting.extend(children.get(one, []))
    return family


def _stat(process: Path) -> list[str]:
    """The fields of a process's state after its name; empty if it has ended."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def _cpu_s() -> float:
    """CPU time of the family, with that of its members' children that have ended."""
    if not Path("/proc/self/stat").exists():
        return float("nan")
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(sum(map(int, fields[11:15])) / ticks for one in _family() if (fields := _stat(one)))


def _reset_peaks() -> None:
    """Ask the system to forget how much memory the family has held so far."""
    for process in _family() if Path("/proc/self/clear_refs").exists() else ():
        with suppress(OSError):
            (process / "clear_refs").write_text("5")


def _peak_mb() -> float:
    if not Path("/proc/self/status").exists():
        return float("nan")
    total_kb = 0
    for process in _family():
        try:
            lines = (process / "status").read_text().splitlines()
        except OSError:
            continue
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return total_kb / 1024.0
