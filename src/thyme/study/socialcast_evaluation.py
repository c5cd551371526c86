"""SocialCast's evaluation as a whole: a sweep of its points, the table, the figures and the claims, in one folder.

Runs are played by Spark, kept under their identity, and not played again. They are compiled runs (`sim.dtn_social`)
unless the approach's classes are asked for; both give the same, the latter in some twenty times the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.pipeline.lazy_session import LazySession
from thyme.pipeline.runs import EVENTS_FILE, PackedTrace, RunSpec, pack_trace
from thyme.pipeline.social_sweep import sweep_social
from thyme.pipeline.sweep import SweepProgress, reuse, sweep
from thyme.sim.scenario import Scenario
from thyme.study.socialcast_claims import SocialClaim, judge_socialcast
from thyme.study.socialcast_figures import points_csv, socialcast_figures
from thyme.study.socialcast_points import SocialMeasure, SocialPoint, measure, measure_compiled, socialcast_points
from thyme.study.socialcast_workload import communities_of, social_operations

PAPER_RUNS = 20
ALL_FIGURES = ("3", "4", "5", "6", "7", "8", "9", "10")
Engine = Literal["compiled", "classes"]
Watch = Callable[[SweepProgress], None]


class _Traces:
    """Traces by what decides them: finding the communities of a network takes a while, and points share networks."""

    def __init__(self) -> None:
        self._communities: dict[bytes, list[int]] = {}
        self._packed: dict[bytes, PackedTrace] = {}

    def of(self, point: SocialPoint, scenario: Scenario) -> PackedTrace:
        movement = msgspec.json.encode(scenario.movement.community.get("caves"))
        network = msgspec.json.encode((scenario.nodes, scenario.place_seed)) + movement
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
    repetitions: int = PAPER_RUNS,
    figures: Iterable[str] = ALL_FIGURES,
    master: str = "local[*]",
    watch: Watch = lambda progress: None,
    engine: Engine = "compiled",
    memory_ids: int = 100,
) -> list[SocialClaim]:
    """Play what was not played before; write `socialcast.csv` and the figures; give the claims."""
    if repetitions < 1:
        raise InputError(f"repetitions is {repetitions}; expected at least 1")
    if engine not in ("compiled", "classes"):
        raise InputError(f"engine is {engine!r}; expected compiled or classes")
    points = socialcast_points(tuple(figures), memory_ids)
    unique = list({point.key: point for point in points}.values())
    table = [(point, seed) for seed in range(1, repetitions + 1) for point in unique]
    session = LazySession("thyme socialcast", master)
    play = _with_classes if engine == "classes" else _compiled
    try:
        measures = play(session, table, out, watch)
    finally:
        session.close()
    found: dict[bytes, list[SocialMeasure]] = {}
    for (point, _), measured in zip(table, measures, strict=True):
        if measured is not None:
            found.setdefault(point.key, []).append(measured)
    return write_evaluation(points, found, out)


def _compiled(
    session: LazySession, table: Sequence[tuple[SocialPoint, int]], out: Path, watch: Watch
) -> list[SocialMeasure | None]:
    specs = run_specs(table)
    runs, errors = sweep_social(lambda: session.spark, specs, out / "runs", watch)
    if errors:
        (out / "errors.txt").write_text("\n".join(errors) + "\n", "utf-8")
    return [
        None if run is None else measure_compiled(run.found, spec.trace.unpack(), seed)
        for (_, seed), spec, run in zip(table, specs, runs, strict=True)
    ]


def _with_classes(
    session: LazySession, table: Sequence[tuple[SocialPoint, int]], out: Path, watch: Watch
) -> list[SocialMeasure | None]:
    specs = run_specs(table)
    outcomes = reuse(specs, out / "runs")
    if outcomes is None:
        outcomes = sweep(session.spark, specs, out / "runs", watch)
    return [
        measure(pq.read_table(out / "runs" / outcome.run / EVENTS_FILE), spec.trace.unpack(), seed)
        if outcome.ok
        else None
        for (_, seed), spec, outcome in zip(table, specs, outcomes, strict=True)
    ]


def write_evaluation(
    points: list[SocialPoint], found: dict[bytes, list[SocialMeasure]], out: Path
) -> list[SocialClaim]:
    """The table and the figures of whatever was run; gives the claims that can be judged."""
    (out / "figures").mkdir(parents=True, exist_ok=True)
    (out / "socialcast.csv").write_text(points_csv(points, found), "utf-8")
    for picture in socialcast_figures(points, found):
        (out / "figures" / f"{picture.name}.png").write_bytes(picture.png)
        (out / "figures" / f"{picture.name}.svg").write_bytes(picture.svg)
    return list(judge_socialcast(points, found))
