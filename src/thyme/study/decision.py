"""The decision map: made from a study of all six approaches, written to a page, and applied to another study's crowd.

The map itself and the rule that reads it belong to the approaches (`thyme.approaches.deciding`), so that a device can
use it too; this module rewrites it from the results of the preset `six`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import msgspec

from thyme.approaches.deciding import CrowdKind, Decision, Line, Needs, Workload, decide, fits, table
from thyme.approaches.registry import APPROACHES, find_approach
from thyme.model.errors import InputError
from thyme.sim.scenario import Scenario, crowd_of
from thyme.study.plan import Plan, PlannedRun
from thyme.study.results import tidy_cell
from thyme.study.wording import duration, listed, round_share, size
from thyme.world.churn import Crash, Leave

ORIGIN = ("seed", "commit", "date")
"""Where the map comes from, on every line of it."""


def kind_of(run: PlannedRun) -> CrowdKind | None:
    """The crowd of a planned run as a kind of crowd on the map; None if its layout or movement is unknown."""
    if run.trace.file:
        return None
    rates = run.trace.options.rates
    return crowd_of(run.scenario, (rates.subscriptions_first_per_hour + rates.subscriptions_rest_per_hour) / 2.0)


def table_text(plan: Plan, metrics: str, commit: str, date: str) -> str:
    """The map from a study's `metrics.csv`, as `decision.csv` has it."""
    means: dict[tuple[str, ...], dict[str, float]] = {}
    columns = ["approach", *plan.definition.grid]
    for row in csv.DictReader(metrics.splitlines()):
        means.setdefault(tuple(row[name] for name in columns), {})[row["metric"]] = float(row["mean"])
    names = {choice.title: choice.name for choice in plan.definition.approaches}
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([*CrowdKind.__struct_fields__, *Line.__struct_fields__[1:], *ORIGIN])
    told = set()
    for run in plan.runs:
        point = plan.points[run.point]
        key = tuple(tidy_cell(value) for value in point.columns().values())
        kind = kind_of(run)
        if key in told or kind is None:
            continue
        told.add(key)
        if key not in means:
            raise InputError(f"the study has no result for {point}; play it to its end first")
        workload: Workload = "all" if run.trace.options.rates.always_share else "future"
        line = _line(kind, workload, names[point.approach], means[key], run.scenario)
        cells = [*msgspec.structs.astuple(kind), *msgspec.structs.astuple(line)[1:]]
        writer.writerow([*map(_cell, cells), plan.definition.seed, commit, date])
    return sink.getvalue()


def _line(kind: CrowdKind, workload: Workload, approach: str, means: Mapping[str, float], scenario: Scenario) -> Line:
    minutes = scenario.time.until_s / 60.0
    return Line(
        kind,
        workload,
        approach,
        means["all.success"] if workload == "all" else _success_without_deletes(means),
        means["recall"],
        means.get("notification.latency_s.p50"),
        means.get("notification.latency_s.p95"),
        means["phy_sent.bytes"] / scenario.nodes / minutes,
        means["energy.node_joules.mean"] / minutes,
        means["load.gini"],
    )


def _success_without_deletes(means: Mapping[str, float]) -> float:
    """The success rate without deletes: the map does not require them, so an approach may refuse them."""
    deletes = means.get("delete.issued", 0.0)
    succeeded = means["all.success"] * means["all.issued"] - means.get("delete.success", 0.0) * deletes
    return succeeded / (means["all.issued"] - deletes)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def crowd_words(kind: CrowdKind) -> str:
    walking = "standing" if kind.walking == 0.0 else f"{round_share(kind.walking)} walking"
    going = "all staying" if kind.switching == 0.0 else f"{round_share(kind.switching)} switching off and on"
    asks = "1 question" if kind.questions == 1.0 else f"{kind.questions:g} questions"
    return f"{kind.reach:.0f} others in reach, {walking}, {going}, {asks} per person and hour"


def best_words(decision: Decision) -> str:
    names = [APPROACHES[line.approach].full_title for line in decision.best]
    best = decision.best[0]
    brought = f"{round_share(best.success)} succeed, {round_share(best.recall)} arrive"
    if not decision.dependable:
        return f"nothing is dependable; {names[0]} brings most ({brought})"
    soon = "" if best.notified_s is None else f", half within {duration(best.notified_s)}"
    return f"{listed(names, 'or')} ({brought}{soon}, {size(best.air_bytes)} per person and minute)"


def prior_words(plan: Plan) -> str:
    """What the map has for the crowd that was asked about and the approaches that compete, before anything is played;
    empty if it knows no such."""
    kind = kind_of(plan.runs[0])
    names = {choice.name for choice in plan.definition.approaches}
    lines = [line for line in table() if line.approach in names]
    if kind is None or not lines:
        return ""
    needs = Needs(server=any(find_approach(name).capabilities.needs_server for name in names))
    if not any(fits(line.approach, needs) for line in lines):
        return ""
    decision = decide(kind, needs, plan.definition.priority, lines)
    how = "for this crowd" if len(decision.places) == 1 else f"between {len(decision.places)} crowds around this one"
    run = plan.runs[0]
    leaving = ", who leaves counted as switched off" if isinstance(run.scenario.churn, Leave | Crash) else ""
    shared = "" if run.trace.file or run.trace.options.sizes.kind == "text" else " with texts only"
    return f"Of crowds that were played before{shared}, {how}{leaving}: {best_words(decision)}."
