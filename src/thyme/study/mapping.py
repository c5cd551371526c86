"""Playing the decision map (`map_plan` says which crowds, in which order): a sweep that goes on where it stopped.

Each batch of crowds is played as one plan of a study, and its rows go into the table when it is finished.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from thyme.approaches.decision_table import MEASURED, RANGED, CrowdKind, DecisionRow, read_table
from thyme.approaches.registry import APPROACHES
from thyme.pipeline.runs.simulations import sweep_runs
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.places import Place, write_file
from thyme.study.folder import RUNS
from thyme.study.map_plan import SEED, STEPS, Cell, Step, cells_of, definition_of, players
from thyme.study.metrics import provide_metrics
from thyme.study.plan import Plan, PlannedRun, StudyPoint, make_plan
from thyme.study.results import Results, Summary, tidy_cell
from thyme.study.shown_metrics import AIR_BYTES, ENERGY, LATE_NOTIFICATION, NOTIFICATION_LATENCY, RECALL, SUCCESS
from thyme.study.stages import StageNotes
from thyme.study.workload import provide_posts, provide_traces, run_specs

CROWDS_AT_ONCE, PEOPLE_AT_ONCE = 4, 200
"""So many crowds at most, and so many people in them, are measured together; a larger crowd singly."""
CROWD = "crowd"
ORIGIN = ("runs", "seed", "commit", "date")
"""Where a row comes from."""
_COLUMNS = (*CrowdKind.__struct_fields__, *DecisionRow.__struct_fields__[1:3], *RANGED, *ORIGIN)
_METRICS = dict(
    zip(
        MEASURED,
        (SUCCESS, RECALL, NOTIFICATION_LATENCY, LATE_NOTIFICATION, AIR_BYTES, ENERGY, "load.gini"),
        strict=True,
    )
)


def play_map(
    table: Place,
    out: Place,
    commit: str,
    today: Callable[[], str],
    steps: Sequence[Step] = STEPS,
    master: str = "",
    tell: Callable[[str], None] = lambda words: None,
) -> None:
    """Play what the table does not have yet, step after step; each finished crowd adds its rows to it."""
    session = LazySession("thyme study map", master)
    text = table.read_text() if table.exists() else ""
    try:
        for step in steps:
            size = max(1, min(CROWDS_AT_ONCE, PEOPLE_AT_ONCE // step.people))
            remaining = cells_of(step)
            while cells := list(islice(remaining, size)):
                known = list(read_table(text))
                wanted = {cell: _missing(cell, known) for cell in cells}
                plans = {cell: make_plan(definition_of(cell, names)) for cell, names in wanted.items() if names}
                if plans:
                    results = _play(together(list(plans.values())), out, session)
                    text += rows_of(list(plans), results, (str(SEED), commit, today()), heading=not text)
                    write_file(table, text.encode())
                    tell(f"{step.people} people: {', '.join(step.changes)}, {len(plans)} crowds played")
    finally:
        session.close()


def _missing(cell: Cell, known: Sequence[DecisionRow]) -> list[str]:
    there = {line.approach for line in known if (line.kind, line.workload) == cell}
    return [name for name in players(cell, known) if name not in there]


def together(plans: Sequence[Plan]) -> Plan:
    """Plans of the same posts as one; each keeps its number in the values of its points."""
    points: list[StudyPoint] = []
    runs: list[PlannedRun] = []
    for number, plan in enumerate(plans):
        runs += [msgspec.structs.replace(run, point=len(points) + run.point) for run in plan.runs]
        points += [msgspec.structs.replace(point, values={CROWD: number}) for point in plan.points]
    return msgspec.structs.replace(plans[0], points=tuple(points), runs=tuple(runs))


def _play(plan: Plan, out: Place, session: LazySession) -> Results:
    notes = StageNotes(lambda detail: None)
    traces = provide_traces(plan, provide_posts(plan, out, session, notes), out, session, notes)
    specs = run_specs(plan, traces)
    outcomes = sweep_runs(lambda: session.spark, specs, out / RUNS)
    return provide_metrics(plan, specs, outcomes, traces, out, session, notes)


def rows_of(cells: Sequence[Cell], results: Results, origin: tuple[str, ...], heading: bool = False) -> str:
    """Rows of the table, for each approach of which a run came to its end."""
    sink = io.StringIO()
    writer = csv.DictWriter(sink, _COLUMNS, lineterminator="\n")
    if heading:
        writer.writeheader()
    titles = {approach.title: name for name, approach in APPROACHES.items()}
    minutes = results.plan.runs[0].scenario.time.until_s / 60.0
    for number, point in enumerate(results.points):
        kind, workload = cells[point.values[CROWD]]
        found = {name: results.get(number, metric) for name, metric in _METRICS.items()}
        played = found["success"]
        if played is None:
            continue
        per_minute = {"air_bytes": 1.0 / kind.people / minutes, "joules": 1.0 / minutes}
        row: dict[str, object] = {name: tidy_cell(value) for name, value in msgspec.structs.asdict(kind).items()}
        row |= {"workload": workload, "approach": titles[point.approach]}
        for name, summary in found.items():
            row |= _ranged(name, summary, per_minute.get(name, 1.0))
        writer.writerow(row | dict(zip(ORIGIN, (played.runs, *origin), strict=True)))
    return sink.getvalue()


def _ranged(name: str, summary: Summary | None, factor: float) -> dict[str, str]:
    if summary is None:
        return {}
    low, high = (summary.mean if end is None else end for end in (summary.low, summary.high))
    ends = {"": summary.mean, "_low": low, "_high": high}
    return {f"{name}{end}": f"{value * factor:.4g}" for end, value in ends.items()}
