"""The report: one HTML file that needs nothing else, to be read on a screen of any size.

The answer comes first, with what it needs, costs and assumes; then its variations, the commands for the event, the
numbers it rests on, the figures, what the papers say, the rules by which the answer was found, the settings, what
failed and how long it took. `study.html` is its template.

The section on the event: what the chosen approach needs, what it costs, and the commands that start it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from thyme.approaches.registry import find_approach
from thyme.sim.scenario import Scenario
from thyme.study.animation import Animation
from thyme.study.claims import Claim
from thyme.study.figures.chosen import FigureGroup
from thyme.study.plan import Plan
from thyme.study.report import tables
from thyme.study.report.assumptions import Assumption, competitors
from thyme.study.report.choosing import Score
from thyme.study.report.headline import Headline, rules
from thyme.study.report.pages import render_page
from thyme.study.report.tables import Expense, FailedRun
from thyme.study.results import Results, readable
from thyme.study.wording import duration, round_share, size

PHONE_BATTERY_J = 55_000.0
"""A battery of 4,000 mAh at 3.8 V."""
SERVER_ID = "ID"


class NextStep(msgspec.Struct, frozen=True):
    """One thing to do, with the command for it."""

    what: str
    command: str


class AtTheEvent(msgspec.Struct, frozen=True):
    needs: str
    costs: str
    steps: tuple[NextStep, ...]


def at_the_event(plan: Plan, chosen: Score) -> AtTheEvent:
    choice = next(one for one in plan.definition.approaches if one.title == chosen.approach)
    scenario = next(run.scenario for run in plan.runs if run.point == chosen.point)
    return AtTheEvent(_needs(choice.name), _costs(chosen, scenario), tuple(_steps(plan, choice.name, scenario)))


def _needs(name: str) -> str:
    can = find_approach(name).capabilities
    wanted = [
        "one more device as the server, such as a laptop in the middle of the crowd, which must not fail"
        if can.needs_server
        else "no server and no Internet, only the people's devices",
        "every device has to know where it is in the venue" if can.needs_positions else "",
        "" if can.deletes else "nothing can be deleted",
        "" if can.answers_past else "people are notified only of what is shared after they subscribed",
        "older objects are found only on devices in reach" if can.past_is_best_effort else "",
    ]
    return "; ".join(filter(None, wanted))


def _costs(chosen: Score, scenario: Scenario) -> str:
    minutes = scenario.time.until_s / 60.0
    told = []
    if chosen.air_bytes is not None:
        told.append(f"each device sends {size(chosen.air_bytes / scenario.nodes / minutes)} a minute")
    if chosen.joules is not None:
        hourly = chosen.joules / minutes * 60.0 / PHONE_BATTERY_J
        told.append(f"its Wi-Fi takes {round_share(hourly)} of a phone's battery an hour, listening included")
    if chosen.latency_s is not None:
        told.append(f"half of the notifications take {duration(chosen.latency_s)} or less")
    return "; ".join(told)


def _steps(plan: Plan, name: str, scenario: Scenario) -> list[NextStep]:
    can = find_approach(name).capabilities
    called = shlex.quote(plan.definition.name)
    new = f"thyme namespace new {called} --approach {name}"
    start = f"thyme node start --namespace {called} --background"
    steps = []
    if can.needs_server:
        steps.append(
            NextStep("On the server: start its node and note the id that is shown", "thyme node start --background")
        )
        steps.append(NextStep("Stop it again, to start it in the namespace below", "thyme node stop"))
        new += f" --set 'servers=[{SERVER_ID}]'"
    if can.needs_positions:
        area = scenario.area()
        new += f" --set grid.width_m={area.width_m:.1f} --set grid.height_m={area.height_m:.1f}"
        start += " --at X,Y"
    steps.append(
        NextStep("Once, on one device: create the namespace, with everything that all devices must agree on", new)
    )
    steps.append(NextStep("Show its invitation as a QR code", f"thyme namespace invite {called} --qr"))
    steps.append(NextStep("On every device: accept the invitation", "thyme namespace join thyme:…"))
    where = ", giving its position in metres from the lower left corner" if can.needs_positions else ""
    steps.append(NextStep(f"Start a node{where}", start))
    steps.append(NextStep("Share something", "thyme put photo.jpg --tags goal"))
    steps.append(NextStep("Subscribe", "thyme sub goal"))
    if name == "dcs":
        steps.append(
            NextStep(
                "Or, for photos in the browser, on one laptop for all phones", f"thyme gallery --name {called} --share"
            )
        )
    return steps


class Report(msgspec.Struct, frozen=True):
    """The contents of a report."""

    plan: Plan
    results: Results
    headline: Headline
    groups: dict[str, FigureGroup]
    """Figures by section."""
    claims: tuple[Claim, ...]
    failed: tuple[FailedRun, ...]
    expense: Expense
    assumed: tuple[Assumption, ...] = ()
    prior: str = ""
    """What the decision map had for this crowd before."""
    doubts: tuple[str, ...] = ()
    """What is odd about how the posts are used."""
    animation: Animation | None = None
    """The approach that the answer names, at work."""


def render(report: Report) -> str:
    definition, headline = report.plan.definition, report.headline
    return render_page(
        "study.html",
        title=definition.title or definition.name,
        brand=f"study {definition.name}",
        question=definition.question,
        report=report,
        warnings=[*failure_words(report.plan, report.failed), *report.doubts],
        reasons=[*headline.reasons, *filter(None, [report.prior])],
        event=at_the_event(report.plan, headline.chosen) if headline.chosen else None,
        competitors=competitors(report.plan),
        tips=tables.tips_table(headline),
        numbers=tables.numbers_table(report.results, headline),
        beside=tables.beside_table(report.results, headline),
        claims=tables.claims_table(report.claims),
        rules=rules(report.plan),
        settings=_settings(report.plan),
        failures=tables.failures_table(report.failed, len(report.plan.runs)),
        expense=tables.expense_table(report.expense),
    )


def failure_words(plan: Plan, failed: Sequence[FailedRun]) -> list[str]:
    """Which runs gave no result, in a sentence for each approach that this concerns."""
    told = []
    for title in dict.fromkeys(failure.approach for failure in failed):
        errors = [failure.error for failure in failed if failure.approach == title]
        played = sum(plan.points[run.point].approach == title for run in plan.runs)
        how_many = f"All {played} runs" if len(errors) == played else f"{len(errors)} of {played} runs"
        follows = "it is missing below" if len(errors) == played else "what follows is without them"
        told.append(f"{how_many} of {title} failed, so {follows}: {errors[0].splitlines()[0]}")
    return told


def _settings(plan: Plan) -> dict[str, str]:
    traces = plan.traces()
    shown = {
        "The study": plan.definition,
        "Posts": plan.posts,
        f"Trace (the first of {len(traces)})": traces[0],
        f"Scenario (the first of {len(plan.runs)})": plan.runs[0].scenario,
    }
    return {name: json.dumps(msgspec.to_builtins(one), indent=2, ensure_ascii=False) for name, one in shown.items()}


def describe_run(columns: dict[str, Any], topology: int, repetition: int) -> str:
    return f"{readable(columns)}, topology {topology}, repetition {repetition}"
