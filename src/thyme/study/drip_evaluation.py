"""DRIP's evaluation as a whole: a sweep of its points, the tables, the figures and the claims, in one folder.

Runs are played by Spark as those of any study, kept under their identity, and not played again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.pipeline.lazy_session import LazySession
from thyme.pipeline.runs import EVENTS_FILE, RunSpec, pack_trace
from thyme.pipeline.sweep import SweepProgress, reuse, sweep
from thyme.study.drip_claims import DripClaim, judge_drip
from thyme.study.drip_figures import analysis_csv, analysis_table, drip_figures, points_csv
from thyme.study.drip_points import DURATION_S, FIGURES, DripMeasure, DripPoint, drip_points, measure, seeded

RUNS = 10
"""The paper reports averages and does not say of how many runs."""


def run_spec(point: DripPoint, seed: int) -> RunSpec:
    """One run of a point, ready for a sweep."""
    scenario, operations = seeded(point, seed)
    return RunSpec(scenario, pack_trace(operations))


def run_evaluation(
    out: Path,
    repetitions: int = RUNS,
    figures: Iterable[str] = FIGURES,
    duration_s: float = DURATION_S,
    master: str = "local[*]",
    watch: Callable[[SweepProgress], None] = lambda progress: None,
) -> list[DripClaim]:
    """Play what was not played before; write the tables and the figures; give the claims."""
    if repetitions < 1:
        raise InputError(f"repetitions is {repetitions}; expected at least 1")
    points = drip_points(figures, duration_s)
    unique = list({point.key: point for point in points}.values())
    table = [(point, seed) for seed in range(1, repetitions + 1) for point in unique]
    specs = [run_spec(point, seed) for point, seed in table]
    outcomes = reuse(specs, out / "runs")
    if outcomes is None:
        session = LazySession("thyme drip", master)
        try:
            outcomes = sweep(session.spark, specs, out / "runs", watch)
        finally:
            session.close()
    found: dict[bytes, list[DripMeasure]] = {}
    for (point, seed), spec, outcome in zip(table, specs, outcomes, strict=True):
        if outcome.ok:
            events = pq.read_table(out / "runs" / outcome.run / EVENTS_FILE)
            found.setdefault(point.key, []).append(measure(events, list(spec.trace.unpack()), point.x, seed))
    return write_evaluation(points, found, out)


def write_evaluation(points: list[DripPoint], found: dict[bytes, list[DripMeasure]], out: Path) -> list[DripClaim]:
    """The tables and the figures of whatever was run; gives the claims that can be judged."""
    (out / "figures").mkdir(parents=True, exist_ok=True)
    (out / "drip.csv").write_text(points_csv(points, found), "utf-8")
    (out / "drip_analysis.csv").write_text(analysis_csv(analysis_table(points, found)), "utf-8")
    for picture in drip_figures(points, found):
        (out / "figures" / f"{picture.name}.png").write_bytes(picture.png)
        (out / "figures" / f"{picture.name}.svg").write_bytes(picture.svg)
    return list(judge_drip(points, found))
