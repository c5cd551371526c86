"""SocialCast's evaluation as a whole: a sweep of its points, the table, the figures and the claims, in one folder.

Runs are played by Spark as those of any study, kept under their identity, and not played again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.pipeline.lazy_session import LazySession
from thyme.pipeline.runs import EVENTS_FILE, RunSpec, pack_trace
from thyme.pipeline.sweep import SweepProgress, reuse, sweep
from thyme.study.socialcast_claims import SocialClaim, judge_socialcast
from thyme.study.socialcast_figures import points_csv, socialcast_figures
from thyme.study.socialcast_points import SocialMeasure, SocialPoint, measure, socialcast_points
from thyme.study.socialcast_workload import communities_of, social_operations

PAPER_RUNS = 20
ALL_FIGURES = ("3", "4", "5", "6", "7", "8", "9", "10")


def run_spec(point: SocialPoint, seed: int) -> RunSpec:
    """One run of a point, ready for a sweep."""
    scenario = msgspec.structs.replace(point.scenario, seed=seed)
    return RunSpec(scenario, pack_trace(social_operations(communities_of(scenario), point.workload, scenario.run_seed)))


def run_evaluation(
    out: Path,
    repetitions: int = PAPER_RUNS,
    figures: Iterable[str] = ALL_FIGURES,
    master: str = "local[*]",
    watch: Callable[[SweepProgress], None] = lambda progress: None,
) -> list[SocialClaim]:
    """Play what was not played before; write `socialcast.csv` and the figures; give the claims."""
    if repetitions < 1:
        raise InputError(f"repetitions is {repetitions}; expected at least 1")
    points = socialcast_points(figures)
    unique = list({point.key: point for point in points}.values())
    table = [(point, seed) for seed in range(1, repetitions + 1) for point in unique]
    specs = [run_spec(point, seed) for point, seed in table]
    outcomes = reuse(specs, out / "runs")
    if outcomes is None:
        session = LazySession("thyme socialcast", master)
        try:
            outcomes = sweep(session.spark, specs, out / "runs", watch)
        finally:
            session.close()
    found: dict[bytes, list[SocialMeasure]] = {}
    for (point, seed), spec, outcome in zip(table, specs, outcomes, strict=True):
        if outcome.ok:
            events = pq.read_table(out / "runs" / outcome.run / EVENTS_FILE)
            found.setdefault(point.key, []).append(measure(events, spec.trace.unpack(), seed))
    return write_evaluation(points, found, out)


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
