"""Stages of a study: each has a dataset of its own, named by what went into it, and is skipped if that is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

import msgspec

from thyme.pipeline.runs.sweep import SweepProgress


class StageReport(msgspec.Struct, frozen=True):
    """What a stage is doing or has done."""

    name: str
    state: Literal["running", "done", "reused"]
    detail: str = ""
    seconds: float = 0.0


class Watcher(Protocol):
    """Receives the progress of a study."""

    def stage(self, report: StageReport) -> None: ...

    def sweep(self, progress: SweepProgress) -> None: ...


class NoWatcher:
    """A watcher that ignores progress."""

    def stage(self, report: StageReport) -> None:
        pass

    def sweep(self, progress: SweepProgress) -> None:
        pass


class Stages:
    """Runs stages one after the other, reports them to the watcher, and records how long each took."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.reports: list[StageReport] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[StageNotes]:
        notes = StageNotes(lambda detail: self._watcher.stage(StageReport(name, "running", detail)))
        self._watcher.stage(StageReport(name, "running"))
        started_s = time.monotonic()
        yield notes
        state: Literal["done", "reused"] = "done" if notes.worked else "reused"
        report = StageReport(name, state, notes.told(), time.monotonic() - started_s)
        self.reports.append(report)
        self._watcher.stage(report)

    @property
    def all_reused(self) -> bool:
        return all(report.state == "reused" for report in self.reports)


class StageNotes:
    """What a stage says about itself while it works."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.worked = False
        self.detail = ""
        self.damage: list[str] = []

    def told(self) -> str:
        """What the stage has done, and what it found damaged and made again."""
        if not self.damage:
            return self.detail
        more = f" and {len(self.damage) - 1} more" if len(self.damage) > 1 else ""
        return f"{self.detail}; damaged and made again: {self.damage[0]}{more}"

    def working(self, detail: str = "") -> None:
        """Something has to be computed, so the stage is not merely reused."""
        self.worked = True
        self._tell(detail)
