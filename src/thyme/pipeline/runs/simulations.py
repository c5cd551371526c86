"""Simulations swept on Spark: each run is a job of its own, and leaves a folder with its events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from thyme.pipeline.runs.run import Played, RunSpec, damage_of_run, keep_run, play, run_identity, run_seconds
from thyme.pipeline.runs.sweep import RunOutcome, Watch, sweep, unwatched


def sweep_runs(
    spark: Callable[[], SparkSession],
    specs: Sequence[RunSpec],
    folder: Path,
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda damage: None,
) -> list[RunOutcome]:
    """Play every run that has no whole output in `folder` yet; one outcome for each spec, in their order. `tell` hears
    of outputs that are damaged."""
    tasks = [_Simulation(run_identity(spec), spec) for spec in specs]
    folders = _RunFolders(folder, {task.run: task.spec for task in tasks}, tell)
    return sweep(spark, tasks, play_packed, folders, watch=watch)


def play_packed(run: str, data: bytes) -> bytes:
    """A task of the sweep, played."""
    scenario, trace = msgspec.msgpack.decode(data, type=tuple[bytes, bytes])
    return msgspec.msgpack.encode(play(run, scenario, trace))


class _Simulation(msgspec.Struct, frozen=True):
    """A task. Its trace is packed when its turn comes, since a sweep may have thousands."""

    run: str
    spec: RunSpec

    @property
    def weight(self) -> int:
        return self.spec.weight

    def pack(self) -> bytes:
        return msgspec.msgpack.encode((msgspec.msgpack.encode(self.spec.scenario), self.spec.trace.data))


class _RunFolders:
    """Runs are kept as `runs.run` says."""

    def __init__(self, folder: Path, specs: dict[str, RunSpec], tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._specs = specs
        self._tell = tell

    def seconds(self, run: str) -> float | None:
        damage = damage_of_run(self._folder, run)
        if damage:
            self._tell(f"run {run}: {damage}")
        return run_seconds(self._folder, run) if damage == "" else None

    def keep(self, run: str, found: bytes, seconds: float) -> None:
        played = msgspec.msgpack.decode(found, type=Played)
        keep_run(self._folder, self._specs[run], msgspec.structs.replace(played, seconds=seconds))
