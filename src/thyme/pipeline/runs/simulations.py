"""Simulations swept on Spark: each run leaves a folder with its events, written where it was played if that place sees
the folder. Short runs share a job, and the runs of a job share its traces."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from thyme.pipeline.manifest import KeptFile
from thyme.pipeline.runs.run import (
    EVENTS_FILE,
    Played,
    RunSpec,
    damage_of_run,
    keep_run,
    play,
    run_identity,
    run_seconds,
)
from thyme.pipeline.runs.sweep import OnProgress, RunOutcome, ignore_progress, sweep
from thyme.pipeline.spark.dataset import hashed
from thyme.places import Place, Remote, place_of, whole_place
from thyme.sim.scenario import Scenario

RUNS_PER_JOB = 64
"""A job takes Spark about a tenth of a second, which is more than a tiny run does."""


def sweep_runs(
    spark: Callable[[], SparkSession],
    specs: Sequence[RunSpec],
    folder: Place,
    watch: OnProgress = ignore_progress,
    tell: Callable[[str], None] = lambda damage: None,
) -> list[RunOutcome]:
    """Play every run that has no whole output in `folder` yet; one outcome for each spec, in their order. `tell` hears
    of outputs that are damaged."""
    tasks = [_Simulation(run_identity(spec), spec) for spec in specs]
    folders = _RunFolders(folder, {task.run: task.spec for task in tasks}, tell, hashed(folder, spark))
    with marked(folder) as mark:
        there = KeepRunThere(str(whole_place(folder)), mark)
        return sweep(spark, tasks, play_packed, folders, RUNS_PER_JOB, watch, there)


def play_packed(run: str, data: bytes) -> bytes:
    """A task of the sweep, played."""
    own, trace = msgspec.msgpack.decode(data, type=tuple[bytes, bytes])
    scenario = msgspec.msgpack.decode(own, type=_PackedScenario).scenario
    return msgspec.msgpack.encode(play(run, bytes(scenario), trace))


class KeepRunThere(msgspec.Struct, frozen=True):
    """Keeps a run's events from where it was played, if the sweep's folder is seen there, which is known by a mark in
    it, or if that is in a store."""

    folder: str
    mark: str

    def __call__(self, run: str, data: bytes, found: bytes, seconds: float) -> bool:
        folder = place_of(self.folder)
        if isinstance(folder, Path) and not (folder / self.mark).is_file():
            return False
        scenario, _ = msgspec.msgpack.decode(data, type=tuple[bytes, msgspec.Raw])
        task = msgspec.msgpack.decode(scenario, type=_Packed)
        played = msgspec.structs.replace(msgspec.msgpack.decode(found, type=Played), seconds=seconds)
        keep_run(folder, task.scenario, task.trace, played)
        return True


@contextmanager
def marked(folder: Place) -> Iterator[str]:
    """A file in the folder by which workers know that it is the same one."""
    if isinstance(folder, Remote):
        yield ""
        return
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / f".sweep-{uuid.uuid4().hex}"
    mark.touch()
    try:
        yield mark.name
    finally:
        mark.unlink(missing_ok=True)


class _PackedScenario(msgspec.Struct, frozen=True):
    scenario: msgspec.Raw


class _Packed(msgspec.Struct, frozen=True):
    """What a run is played from, besides the operations of its trace."""

    scenario: Scenario
    trace: str


class _Simulation(msgspec.Struct, frozen=True):
    """A task; the operations of its trace travel once for all runs of a job."""

    run: str
    spec: RunSpec

    @property
    def title(self) -> str:
        scenario = self.spec.scenario
        return ", ".join(word for word in (scenario.approach, scenario.name, f"{scenario.nodes} nodes") if word)

    @property
    def weight(self) -> int:
        return self.spec.weight

    def pack(self) -> bytes:
        return msgspec.msgpack.encode(_Packed(self.spec.scenario, self.spec.trace.identity))

    @property
    def shares(self) -> str:
        return self.spec.trace.identity

    def carry(self) -> bytes:
        return self.spec.trace.carry()


class _RunFolders:
    """Runs are kept as `runs.run` says; `described` are files of earlier ones, where tasks have hashed them."""

    def __init__(
        self, folder: Place, specs: dict[str, RunSpec], tell: Callable[[str], None], described: dict[str, KeptFile]
    ) -> None:
        self._folder = folder
        self._specs = specs
        self._tell = tell
        self._described = described

    def seconds(self, run: str) -> float | None:
        damage = damage_of_run(self._folder, run, self._described.pop(f"{run}/{EVENTS_FILE}", None))
        if damage:
            self._tell(f"run {run}: {damage}")
        return run_seconds(self._folder, run) if damage == "" else None

    def keep(self, run: str, found: bytes, seconds: float) -> None:
        played = msgspec.msgpack.decode(found, type=Played)
        spec = self._specs[run]
        keep_run(self._folder, spec.scenario, spec.trace.identity, msgspec.structs.replace(played, seconds=seconds))
