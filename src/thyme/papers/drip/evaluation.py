"""DRIP's evaluation as a whole: a sweep of its points, the tables, the figures and the claims, in one folder.

Spark runs what is missing; finished runs are stored under their identity and not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from thyme.model.settings.bounds import AtLeastOne, NotNegative, Positive
from thyme.papers.drip.claims import judge_drip
from thyme.papers.drip.figures import analysis_csv, analysis_table, drip_figures, points_csv
from thyme.papers.drip.points import DURATION_S, DripMeasure, DripPoint, drip_points, measure, seeded
from thyme.papers.evaluated import Evaluated, Measurement, PaperEvaluation, measurements_at
from thyme.papers.point_runs import play_points
from thyme.pipeline.runs.sweep import OnProgress
from thyme.study.report.tables import FailedRun


class DripEvaluation(PaperEvaluation, frozen=True):
    repetitions: AtLeastOne = 10
    """The paper reports averages and does not say of how many runs."""
    figures: Annotated[tuple[Literal["3a", "3b", "4"], ...], msgspec.Meta(min_length=1)] = ("3a", "3b", "4")
    duration_s: Positive = DURATION_S
    passing: Literal["interested", "copies"] = "interested"
    radio: Literal["disc", "wifi"] = "disc"
    detectors: Positive = 1.0
    events_per_ability: NotNegative = 0.0

    def run(self, out: Path, master: str, watch: OnProgress) -> Evaluated:
        points = drip_points(
            self.figures, self.duration_s, self.passing, self.radio, self.detectors, self.events_per_ability
        )
        seeds = range(1, self.repetitions + 1)
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
