"""Runs of an evaluation's points: played by Spark as those of any study, kept under their identity, and read again.

Points of several figures may have the same runs (the same key); those are run once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.model.operations import Operation
from thyme.pipeline.runs.carried import pack_trace
from thyme.pipeline.runs.run import EVENTS_FILE, RunSpec
from thyme.pipeline.runs.simulations import sweep_runs
from thyme.pipeline.runs.sweep import OnProgress
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.sim.scenario import Scenario
from thyme.study.folder import RUNS
from thyme.study.report.tables import FailedRun


class EvaluationPoint(Protocol):
    @property
    def figure(self) -> str: ...
    @property
    def series(self) -> str: ...
    @property
    def x(self) -> float: ...
    @property
    def key(self) -> bytes:
        """Equal for points that have the same runs."""


AnyPoint = TypeVar("AnyPoint", bound=EvaluationPoint)
Measure = TypeVar("Measure")


def play_points(
    name: str,
    points: Sequence[AnyPoint],
    seeds: range,
    seeded: Callable[[AnyPoint, int], tuple[Scenario, Sequence[Operation]]],
    measure: Callable[[pa.Table, Sequence[Operation], AnyPoint, int], Measure],
    out: Path,
    master: str,
    watch: OnProgress,
) -> tuple[int, dict[bytes, list[Measure]], list[FailedRun]]:
    """Returns the number of runs, measurements by the points' keys, and the failed runs. `seeded` returns the scenario
    and the trace of a run."""
    if not seeds:
        raise InputError(f"repetitions is {len(seeds)}; expected at least 1")
    unique = list({point.key: point for point in points}.values())
    table = [(point, seed) for seed in seeds for point in unique]
    specs = [RunSpec(scenario, pack_trace(operations)) for scenario, operations in starmap(seeded, table)]
    session = LazySession(f"thyme {name}", master)
    try:
        outcomes = sweep_runs(session.need, specs, out / RUNS, watch)
    finally:
        session.close()
    found: dict[bytes, list[Measure]] = {}
    failed = []
    for (point, seed), spec, outcome in zip(table, specs, outcomes, strict=True):
        if outcome.ok:
            events = pq.read_table(out / RUNS / outcome.run / EVENTS_FILE)
            found.setdefault(point.key, []).append(measure(events, spec.trace.unpack(), point, seed))
        else:
            what = f"figure {point.figure}, {point.series}, x {point.x:g}, seed {seed}"
            failed.append(FailedRun(outcome.run, what, outcome.attempts, outcome.error))
    return len(table), found, failed
