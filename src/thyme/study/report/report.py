"""The report: one HTML file that needs nothing else, to be read on a screen of any size.

The answer comes first, with what it needs, costs and assumes; then its variations, the commands for the event, the
numbers it rests on, the figures, what the papers say, the rules by which the answer was found, the settings, what
failed and how long it took. `study.html` is its template.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from thyme.study.animation import Animation
from thyme.study.claims import Claim
from thyme.study.figures.chosen import FigureGroup
from thyme.study.plan import Plan
from thyme.study.report import tables
from thyme.study.report.assumptions import Assumption, competitors
from thyme.study.report.event import at_the_event
from thyme.study.report.headline import Headline, rules
from thyme.study.report.pages import render_page
from thyme.study.report.tables import Expense, FailedRun
from thyme.study.results import Results, readable


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
