"""From the runs of a study to its metrics: the truth of each run, the metrics of each run, and those of each point.

Without churn, the truth follows from the trace and is the same for all approaches; with churn, it follows from the
operations that were issued in the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from thyme.pipeline.identity import code_identity, identity_of
from thyme.pipeline.metrics.writing import PlayedRuns, write_expected, write_point_metrics, write_run_metrics
from thyme.pipeline.runs.run import RunSpec
from thyme.pipeline.runs.sweep import RunOutcome
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.places import Place
from thyme.study.folder import EXPECTED, METRICS, RUNS
from thyme.study.plan import Plan, PlannedRun
from thyme.study.results import Results, Summary
from thyme.study.shown_metrics import DECIDING
from thyme.study.stages import StageNotes
from thyme.study.workload import PlayedTrace
from thyme.world.churn import NoChurn


def provide_metrics(
    plan: Plan,
    specs: Sequence[RunSpec],
    outcomes: Sequence[RunOutcome],
    traces: Sequence[PlayedTrace],
    out: Place,
    session: LazySession,
    notes: StageNotes,
) -> Results:
    """What the runs of each point gave, by point and metric."""
    rows = zip(plan.runs, specs, outcomes, strict=True)
    played = [(run.point, spec, outcome.run) for run, spec, outcome in rows if outcome.ok]
    if not played:
        notes.detail = "no run to measure"
        return Results(plan, {})
    code = code_identity(write_run_metrics.__module__)
    paths = {trace.stored.identity: trace.stored.place for trace in traces}
    expected = out / EXPECTED / identity_of(sorted(paths), code)
    if not dataset.kept(expected, notes.damage.append, session.need):
        notes.working(f"expected of {len(paths)} traces")
        write_expected(session.spark, paths, expected)
    identity = identity_of([(point, run) for point, _, run in played], code)
    of_runs, of_points = out / METRICS / identity / "runs", out / METRICS / identity / "points"
    if not dataset.kept(of_points, notes.damage.append, session.need):
        notes.working(f"of {len(played)} runs")
        if not dataset.kept(of_runs, notes.damage.append, session.need):
            write_run_metrics(session.spark, out / RUNS, _played_runs(played, paths), expected, of_runs)
        write_point_metrics(session.spark, of_runs, [(run, point) for point, _, run in played], of_points)
    summaries = _read(of_points)
    points, metrics = {point for point, _ in summaries}, {metric for _, metric in summaries}
    notes.detail = f"{len(metrics)} metrics at {len(points)} points"
    places = {outcome.run: run for run, outcome in zip(plan.runs, outcomes, strict=True)}
    return Results(plan, summaries, _read_runs(of_runs, places))


def _played_runs(played: Iterable[tuple[int, RunSpec, str]], paths: dict[str, Place]) -> PlayedRuns:
    listed = {run: spec for _, spec, run in played}
    return PlayedRuns(
        runs=tuple(listed),
        traces=tuple(spec.trace.identity for spec in listed.values()),
        nodes=tuple(spec.scenario.nodes for spec in listed.values()),
        churn=tuple(not isinstance(spec.scenario.churn, NoChurn) for spec in listed.values()),
        paths=paths,
    )


def _read(path: Place) -> dict[tuple[int, str], Summary]:
    table = dataset.read_table(path)
    return {
        (row["point"], row["metric"]): Summary(row["mean"], row["deviation"], row["low"], row["high"], row["runs"])
        for row in table.sort_by([("point", "ascending"), ("metric", "ascending")]).to_pylist()
    }


def _read_runs(path: Place, places: Mapping[str, PlannedRun]) -> dict[tuple[int, str], dict[tuple[int, int], float]]:
    """What each run gave of the metrics that decide, by point and metric, then by topology and repetition."""
    found: dict[tuple[int, str], dict[tuple[int, int], float]] = {}
    for row in dataset.read_table(path, filters=[("metric", "in", DECIDING)]).to_pylist():
        run = places[row["run"]]
        of_point = found.setdefault((run.point, row["metric"]), {})
        of_point[(run.scenario.topology, run.scenario.repetition)] = row["value"]
    return found
