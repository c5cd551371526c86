"""The report: one HTML file that needs nothing else, to be read on a screen of any size.

The answer comes first, with what it assumes and where it tips over; then the numbers it rests on, the figures, what
the papers say, the rules by which the answer was found, the settings, what failed and how long it took.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

import msgspec

from thyme.study.claims import Claim, agreement, those_tested
from thyme.study.figures.chosen import Shelf
from thyme.study.film import Film
from thyme.study.plan import Plan
from thyme.study.report.assumptions import Assumption, Competitor, competitors
from thyme.study.report.headline import Headline, rules, why
from thyme.study.report.numbers import numbers_section
from thyme.study.report.pages import Cell, Row, badge, figure, folded, items, page, prose, section, table
from thyme.study.results import Results, readable
from thyme.study.stages import StageReport
from thyme.study.wording import counted, duration, listed

LONG_TOLD = 90
"""An assumption of more letters than this gets two columns."""


class FailedRun(msgspec.Struct, frozen=True):
    run: str
    what: str
    attempts: int
    error: str
    approach: str = ""


class Expense(msgspec.Struct, frozen=True):
    """What the study cost to compute."""

    stages: tuple[StageReport, ...]
    runs: int
    run_seconds: float
    master: str
    version: str


class Report(msgspec.Struct, frozen=True):
    """Everything that a report tells."""

    plan: Plan
    results: Results
    headline: Headline
    shelves: dict[str, Shelf]
    """Figures by section."""
    claims: tuple[Claim, ...]
    failed: tuple[FailedRun, ...]
    expense: Expense
    assumed: tuple[Assumption, ...] = ()
    prior: str = ""
    """What the decision map had for this crowd before."""
    doubts: tuple[str, ...] = ()
    """What is odd about how the posts are used."""
    film: Film | None = None
    """The approach that the answer names, at work."""


def render(report: Report) -> str:
    definition = report.plan.definition
    title = definition.title or definition.name
    masthead = f'<p class="brand">Thyme · study {escape(definition.name)}</p><h1>{escape(title)}</h1>' + (
        f'<p class="question">{escape(definition.question)}</p>' if definition.question else ""
    )
    body = "".join(
        [
            _answer(report),
            _competitors(competitors(report.plan)),
            _tips(report.headline),
            _film(report.film),
            numbers_section(report.results, report.headline),
            *_figures(report.shelves),
            claims_section(report.claims),
            section("How the answer was found", items(rules(report.plan), "ol", "rules")),
            _settings(report.plan),
            failures_section(report.failed, len(report.plan.runs)),
            _expense(report.expense),
        ]
    )
    footer = f"Made by Thyme {escape(report.expense.version)}. All numbers of this page are in metrics.csv beside it."
    css = files("thyme.study.report").joinpath("report.css").read_text("utf-8")
    return page(f"{title} – Thyme", css, masthead, body, footer)


def _answer(report: Report) -> str:
    headline = report.headline
    return (
        f'<section class="answer"><p class="eyebrow">The answer</p><h2>{prose(headline.answer)}</h2>'
        + "".join(
            f'<p class="warning">{prose(told)}</p>'
            for told in (*failure_words(report.plan, report.failed), *report.doubts)
        )
        + items([*headline.reasons, *filter(None, [report.prior])])
        + _assumed(report.assumed)
        + "</section>\n"
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


def _assumed(assumed: Sequence[Assumption]) -> str:
    if not assumed:
        return ""
    rows = "".join(
        f"<div{' class=long' if len(one.told) > LONG_TOLD else ''}><dt>{escape(one.about)}</dt>"
        f"<dd>{prose(one.told)}</dd></div>"
        for one in assumed
    )
    return f'<h3 class="assumed">All of this assumes</h3><dl class="assumed">{rows}</dl>'


def _competitors(found: Sequence[Competitor]) -> str:
    cards = "".join(
        f"<li><b>{prose(one.title)}</b>: {prose(one.summary)}. "
        + " ".join(badge(note, "plain") for note in one.notes)
        + "</li>"
        for one in found
    )
    return section("What was compared", f'<ul class="competitors">{cards}</ul>')


def _tips(headline: Headline) -> str:
    """Where the answer is another one, were one assumption another."""
    if not headline.neighbours:
        return ""
    winner = {tip.scene: tip for tip in headline.tips}
    rows = []
    for choice in headline.neighbours:
        tip = winner.get(choice.scene)
        kind = "bad" if not tip or not tip.holds else "fair" if tip.only else "good"
        verdict = badge(tip.verdict, kind) if tip else ""
        best = listed(choice.names, "or") if choice.suffices else "nothing tried"
        told = Cell(tip.told if tip else why(choice))
        rows.append(Row((Cell(choice.scene), Cell("", html=verdict), told, Cell(best))))
    held = sum(tip.holds and not tip.only for tip in headline.tips)
    parts = sum(bool(tip.only) for tip in headline.tips)
    lead = "The same with one assumption changed, in few runs. "
    if headline.tips:
        lead += f"The answer holds in {held} of {counted(len(headline.tips), 'such scene')}"
        lead += f", and in {parts} more for one of those it names." if parts else "."
    return section(
        "Where it tips over", table(["if", "the answer", "it then gives", "dependable and best"], rows), lead
    )


def _film(film: Film | None) -> str:
    if film is None:
        return ""
    frame = f'<iframe class="film" title="{escape(film.title)}" srcdoc="{escape(film.page)}"></iframe>'
    return section(film.title, frame, film.caption)


def _figures(shelves: dict[str, Shelf]) -> list[str]:
    return [
        section(
            group,
            '<div class="figures">'
            + "".join(map(figure, shelf.pictures))
            + "</div>"
            + (items(shelf.remarks, "ul", "remarks") if shelf.remarks else ""),
        )
        for group, shelf in shelves.items()
        if shelf.pictures or shelf.remarks
    ]


def claims_section(claims: Sequence[Claim]) -> str:
    """What a paper states, beside what was measured; columns that no claim fills are left out."""
    judged = those_tested(claims)
    if not judged:
        return ""
    columns: dict[str, list[Cell]] = {
        "claim": [Cell(claim.id) for claim in judged],
        "where": [Cell(claim.place) for claim in judged],
        "approach": [Cell(claim.subject) for claim in judged],
        "the paper says": [Cell(claim.statement) for claim in judged],
        "stated": [Cell(claim.stated, numeric=True) for claim in judged],
        "measured here": [Cell(claim.measured, numeric=claim.rule is not None) for claim in judged],
        "": [Cell("", html=badge(claim.verdict, "good" if claim.holds else "fair")) for claim in judged],
    }
    filled = {name: cells for name, cells in columns.items() if any(cell.text or cell.html for cell in cells)}
    lead = agreement(claims)
    untested = len(claims) - len(judged)
    if untested:
        lead += f" {untested} more could not be tested by what was run."
    rows = [Row(cells) for cells in zip(*filled.values(), strict=True)]
    return section("Beside the paper", table(list(filled), rows), lead)


def _settings(plan: Plan) -> str:
    definition = json.dumps(msgspec.to_builtins(plan.definition), indent=2, ensure_ascii=False)
    parts = [folded("The study", definition), folded("Posts", _pretty(plan.posts))]
    traces = plan.traces()
    parts.append(folded(f"Trace (the first of {len(traces)})", _pretty(traces[0])))
    parts.append(folded(f"Scenario (the first of {len(plan.runs)})", _pretty(plan.runs[0].scenario)))
    lead = "Everything that decides the results. The same settings and version give the same numbers."
    return section("Settings", "".join(parts), lead)


def _pretty(record: msgspec.Struct) -> str:
    return json.dumps(msgspec.to_builtins(record), indent=2, ensure_ascii=False)


def failures_section(failed: Sequence[FailedRun], runs: int) -> str:
    """The runs that gave no result, of so many, with their errors."""
    if not failed:
        return section("What failed", f"<p>Nothing: all {runs:,} runs finished.</p>")
    rows = [
        Row(
            (
                Cell(failure.what),
                Cell(str(failure.attempts), numeric=True),
                Cell("", html=f'<span class="error">{escape(failure.error)}</span>'),
            )
        )
        for failure in failed
    ]
    lead = f"{len(rows)} of {runs:,} runs gave no result; the numbers above are without them."
    return section("What failed", table(["run", "attempts", "error"], rows), lead)


def _expense(expense: Expense) -> str:
    rows = [
        Row((Cell(stage.name), Cell(stage.detail), Cell(_time_taken(stage), numeric=True))) for stage in expense.stages
    ]
    total_s = sum(stage.seconds for stage in expense.stages)
    simulated = f"{expense.runs} runs that took {duration(expense.run_seconds)} of processor time"
    lead = f"{duration(total_s)} on {expense.master}, with {simulated}."
    return section("How long it took", table(["stage", "what", "time"], rows), lead)


def _time_taken(stage: StageReport) -> str:
    return "reused" if stage.state == "reused" else duration(stage.seconds)


def describe_run(columns: dict[str, Any], topology: int, repetition: int) -> str:
    return f"{readable(columns)}, topology {topology}, repetition {repetition}"
