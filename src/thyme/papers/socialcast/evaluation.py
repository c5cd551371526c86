"""SocialCast's evaluation as a whole: a sweep of its points, the table, the figures and the claims, in one folder.

Runs are played by Spark, kept under their identity, and not played again. They are those of the compiled twin unless
the approach's classes are asked for; both give the same, the latter in some twenty times the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.papers.evaluated import Evaluated, Measurement, measurements_at
from thyme.papers.socialcast.claims import judge_socialcast
from thyme.papers.socialcast.figures import points_csv, socialcast_figures
from thyme.papers.socialcast.points import (
    Reading,
    SocialMeasure,
    SocialPoint,
    measure,
    measure_compiled,
    socialcast_points,
)
from thyme.papers.socialcast.sweep import sweep_social
from thyme.papers.socialcast.workload import communities_of, social_operations
from thyme.pipeline.runs.carried import PackedTrace, pack_trace
from thyme.pipeline.runs.run import EVENTS_FILE, RunSpec
from thyme.pipeline.runs.simulations import sweep_runs
from thyme.pipeline.runs.sweep import RunOutcome, SweepProgress
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.sim.scenario import Scenario
from thyme.study.folder import RUNS
from thyme.study.report.report import FailedRun
from thyme.world.mobility.community import Community

Engine = Literal["compiled", "classes"]
Watch = Callable[[SweepProgress], None]


class _Traces:
    """Traces by what decides them: finding the communities of a network takes a while, and points share networks."""

    def __init__(self) -> None:
        self._communities: dict[bytes, list[int]] = {}
        self._packed: dict[bytes, PackedTrace] = {}

    def of(self, point: SocialPoint, scenario: Scenario) -> PackedTrace:
        movement = scenario.movement
        ties = movement.caves if isinstance(movement, Community) else movement
        network = msgspec.json.encode((scenario.nodes, scenario.place_seed, ties))
        if network not in self._communities:
            self._communities[network] = communities_of(scenario)
        key = network + msgspec.json.encode((scenario.run_seed, point.workload))
        if key not in self._packed:
            operations = social_operations(self._communities[network], point.workload, scenario.run_seed)
            self._packed[key] = pack_trace(operations)
        return self._packed[key]


def run_specs(table: Iterable[tuple[SocialPoint, int]]) -> list[RunSpec]:
    """One run for each point and seed, ready for a sweep."""
    traces = _Traces()
    scenarios = [(point, msgspec.structs.replace(point.scenario, seed=seed)) for point, seed in table]
    return [RunSpec(scenario, traces.of(point, scenario)) for point, scenario in scenarios]


def run_evaluation(
    out: Path,
    repetitions: int,
    figures: Iterable[str],
    engine: Engine,
    reading: Reading,
    master: str,
    first_seed: int = 1,
    watch: Watch = lambda progress: None,
) -> Evaluated:
    """Play what was not played before; write `socialcast.csv`; give what was measured."""
    if repetitions < 1:
        raise InputError(f"repetitions is {repetitions}; expected at least 1")
    if engine not in ("compiled", "classes"):
        raise InputError(f"engine is {engine!r}; expected compiled or classes")
    points = socialcast_points(tuple(figures), reading)
    unique = list({point.key: point for point in points}.values())
    table = [(point, seed) for seed in range(first_seed, first_seed + repetitions) for point in unique]
    session = LazySession("thyme socialcast", master)
    play = _with_classes if engine == "classes" else _compiled
    try:
        measures = play(session, table, out, watch)
    finally:
        session.close()
    found: dict[bytes, list[SocialMeasure]] = {}
    failed: list[FailedRun] = []
    for (point, seed), measured in zip(table, measures, strict=True):
        if isinstance(measured, SocialMeasure):
            found.setdefault(point.key, []).append(measured)
        else:
            what = f"figure {point.figure}, {point.series}, x {point.x:g}, seed {seed}"
            failed.append(FailedRun(measured.run, what, measured.attempts, measured.error))
    return write_evaluation(points, found, out, len(table), failed)


def _compiled(
    session: LazySession, table: Sequence[tuple[SocialPoint, int]], out: Path, watch: Watch
) -> list[SocialMeasure | RunOutcome]:
    specs = run_specs(table)
    runs = sweep_social(session.need, specs, out / RUNS, watch)
    return [
        run if isinstance(run, RunOutcome) else measure_compiled(run, spec.trace.unpack(), seed)
        for (_, seed), spec, run in zip(table, specs, runs, strict=True)
    ]


def _with_classes(
    session: LazySession, table: Sequence[tuple[SocialPoint, int]], out: Path, watch: Watch
) -> list[SocialMeasure | RunOutcome]:
    specs = run_specs(table)
    outcomes = sweep_runs(session.need, specs, out / RUNS, watch)
    return [
        measure(pq.read_table(out / RUNS / outcome.run / EVENTS_FILE), spec.trace.unpack(), seed)
        if outcome.ok
        else outcome
        for (_, seed), spec, outcome in zip(table, specs, outcomes, strict=True)
    ]


def write_evaluation(
    points: list[SocialPoint],
    found: dict[bytes, list[SocialMeasure]],
    out: Path,
    runs: int,
    failed: Sequence[FailedRun] = (),
) -> Evaluated:
    """The paper's table of whatever was run, in `out`; gives the same as metrics, with figures and claims."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "socialcast.csv").write_text(points_csv(points, found), "utf-8")
    return Evaluated(
        claims=tuple(judge_socialcast(points, found)),
        measured=tuple(one for point in points for one in _measured(point, found.get(point.key, ()))),
        pictures=tuple(socialcast_figures(points, found)),
        runs=runs,
        failed=tuple(failed),
    )


def _measured(point: SocialPoint, runs: Sequence[SocialMeasure]) -> list[Measurement]:
    readers: dict[str, Callable[[SocialMeasure], float]] = {
        "delivery": lambda run: run.delivery,
        "traffic.messages": lambda run: run.traffic,
        "latency_s": lambda run: run.latency_s,
        "hops.mean": lambda run: _mean(run.hops),
        "hops.max": lambda run: max(run.hops, default=0),
        "buffer.mean": lambda run: _mean(run.buffered),
        "buffer.below_5.share": lambda run: _mean([size < 5 for size in run.buffered]),
    }
    place = {"figure": point.figure, "series": point.series, "x": point.x}
    return measurements_at(place, {metric: [read(run) for run in runs] for metric, read in readers.items()})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
