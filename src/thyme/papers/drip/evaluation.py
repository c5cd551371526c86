"""DRIP's evaluation as a whole: a sweep of its points, the tables, the figures and the claims, in one folder.

Spark runs what is missing; finished runs are stored under their identity and not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from thyme.papers.drip.claims import judge_drip
from thyme.papers.drip.figures import analysis_csv, analysis_table, drip_figures, points_csv
from thyme.papers.drip.points import PASSINGS, DripMeasure, DripPoint, drip_points, measure, seeded
from thyme.papers.evaluated import Evaluated, Measurement, measurements_at
from thyme.papers.point_runs import play_points
from thyme.pipeline.runs.sweep import OnProgress, ignore_progress
from thyme.study.report.tables import FailedRun


def run_evaluation(
    out: Path,
    repetitions: int,
    figures: Iterable[str],
    duration_s: float,
    master: str,
    watch: OnProgress = ignore_progress,
    passing: str = PASSINGS[0],
    radio: str = "disc",
    detectors: float = 1.0,
    events_per_ability: float = 0.0,
) -> Evaluated:
    """Run what is missing, write the tables, and return the measurements."""
    points = drip_points(figures, duration_s, passing, radio, detectors, events_per_ability)
    seeds = range(1, repetitions + 1)
    runs, found, failed = play_points("drip", points, seeds, seeded, measure, out, master, watch)
    return write_evaluation(points, found, out, runs, failed)


def write_evaluation(
    points: list[DripPoint],
    found: dict[bytes, list[DripMeasure]],
    out: Path,
    runs: int,
    failed: Sequence[FailedRun] = (),
) -> Evaluated:
    """The paper's tables of whatever was run, in `out`; gives them as metrics, with figures and claims."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "drip.csv").write_text(points_csv(points, found), "utf-8")
    (out / "drip_analysis.csv").write_text(analysis_csv(analysis_table(points, found)), "utf-8")
    return Evaluated(
        claims=tuple(judge_drip(points, found)),
        measured=tuple(one for point in points for one in _measured(point, found.get(point.key, ()))),
        pictures=tuple(drip_figures(points, found)),
        runs=runs,
        failed=tuple(failed),
    )


def _measured(point: DripPoint, runs: Sequence[DripMeasure]) -> list[Measurement]:
    settings = point.scenario.settings
    place = {
        "figure": point.figure, "series": point.series, "brokers": point.x,
        "likely_brokers": settings["likely_brokers"], "copies": settings["copies"],
    }  # fmt: skip
    readers: dict[str, Callable[[DripMeasure], float]] = {
        "coverage": lambda run: run.coverage,
        "delay_s": lambda run: run.delay_s,
        "delivery": lambda run: run.delivery,
        "frames": lambda run: run.frames,
        "first_broker_s": lambda run: run.step_s,
    }
    return measurements_at(place, {metric: [read(run) for run in runs] for metric, read in readers.items()})
