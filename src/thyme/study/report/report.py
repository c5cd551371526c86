"""The report: one HTML file that needs nothing else, to be read on a screen of any size.

The answer comes first, then the numbers it rests on, the figures, what the papers say, the rules by which the answer
was found, the settings, what failed and how long it took.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

import msgspec

from thyme.study.claims import Claim, agreement, those_tested
from thyme.study.figures.lines import axis_title
from thyme.study.figures.pictures import Picture
from thyme.study.plan import Plan
from thyme.study.report.headline import RULES, Choice, Headline, Score
from thyme.study.report.pages import Cell, Row, badge, figure, folded, items, page, prose, section, table
from thyme.study.results import Results, readable
from thyme.study.shown_metrics import AIR_BYTES, NOTIFICATION_LATENCY, RECALL, SUCCESS
from thyme.study.stages import StageReport
from thyme.study.wording import counted, duration, share, size


class FailedRun(msgspec.Struct, frozen=True):
    run: str
    what: str
    attempts: int
    error: str


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
    pictures: dict[str, list[Picture]]
    """Figures by section."""
    claims: tuple[Claim, ...]
    failed: tuple[FailedRun, ...]
    expense: Expense


def render(report: Report) -> str:
    definition = report.plan.definition
    title = definition.title or definition.name
    masthead = (
        f'<p class="brand">Thyme · study {escape(definition.name)}</p><h1>{escape(title)}</h1>'
        + (f'<p class="question">{escape(definition.question)}</p>' if definition.question else "")
        + items(_facts(report), "ul", "facts")
    )
    body = "".join(
        [
            _answer(report.headline),
            _numbers(report),
            *_figures(report.pictures),
            claims_section(report.claims),
            section("How the answer was found", items(RULES, "ol", "rules")),
            _settings(report.plan),
            failures_section(report.failed, len(report.plan.runs)),
            _expense(report.expense),
        ]
    )
    footer = f"Made by Thyme {escape(report.expense.version)}. All numbers of this page are in metrics.csv beside it."
    css = files("thyme.study.report").joinpath("report.css").read_text("utf-8")
    return page(f"{title} – Thyme", css, masthead, body, footer)


def _facts(report: Report) -> list[str]:
    definition = report.plan.definition
    grid = [f"{axis_title(key)}: {_listed(values)}" for key, values in definition.grid.items()]
    return [
        ", ".join(choice.title for choice in definition.approaches),
        *grid,
        counted(definition.topologies, "topology", "topologies"),
        counted(definition.repetitions, "run") + " of each",
        f"{len(report.plan.runs) - len(report.failed)} of {len(report.plan.runs)} runs finished",
    ]


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(str(value) for value in values)


def _answer(headline: Headline) -> str:
    return (
        f'<section class="answer"><p class="eyebrow">The answer</p><h2>{prose(headline.answer)}</h2>'
        + items(headline.reasons)
        + "</section>\n"
    )


def _numbers(report: Report) -> str:
    keys = list(report.plan.definition.grid)
    headers = [
        *(axis_title(key) for key in keys),
        "approach",
        "operations succeed",
        "notifications arrive",
        "notified after",
        "sent over the air",
        "verdict",
    ]
    rows = [
        _score_row(report.results, keys, choice, score) for choice in report.headline.choices for score in choice.scores
    ]
    lead = "Means over the runs of each point, with the half width of the 95 % interval."
    return section("The numbers it rests on", table(headers, rows), lead) if rows else ""


def _score_row(results: Results, keys: list[str], choice: Choice, score: Score) -> Row:
    chosen = score is choice.chosen
    if chosen and score.dependable:
        verdict = badge("chosen", "best") if len(choice.scores) > 1 else badge("dependable", "good")
    elif score.dependable:
        verdict = badge("dependable", "good")
    else:
        verdict = badge("not dependable", "bad" if not chosen else "fair")
    point = score.point
    cells = [
        *(Cell(str(choice.values[key]), numeric=isinstance(choice.values[key], int | float)) for key in keys),
        Cell(score.approach),
        _share_cell(results, point, SUCCESS),
        _share_cell(results, point, RECALL),
        _cell(results, point, NOTIFICATION_LATENCY, duration),
        _cell(results, point, AIR_BYTES, size),
        Cell("", html=verdict),
    ]
    return Row(tuple(cells), chosen=chosen and len(choice.scores) > 1)


def _share_cell(results: Results, point: int, metric: str) -> Cell:
    return _cell(results, point, metric, share)


def _cell(results: Results, point: int, metric: str, show: Any) -> Cell:
    found = results.get(point, metric)
    if found is None:
        return Cell("–", numeric=True)
    spread = f' <span class="spread">± {escape(show(found.half_width))}</span>' if found.half_width else ""
    return Cell("", numeric=True, html=escape(show(found.mean)) + spread)


def _figures(pictures: dict[str, list[Picture]]) -> list[str]:
    return [
        section(group, '<div class="figures">' + "".join(figure(p.title, p.caption, p.svg) for p in drawn) + "</div>")
        for group, drawn in pictures.items()
        if drawn
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
