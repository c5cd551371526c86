"""The tables of a report: the numbers of the answer, its variations, a paper's claims, failed runs, and time spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from thyme.pipeline.metrics.intervals import CONFIDENCE, MIN_SURE_RUNS
from thyme.study.claims import Claim, agreement, those_tested
from thyme.study.plan import VARIATION_COLUMN
from thyme.study.report.choosing import Choice, Score
from thyme.study.report.headline import Headline, why
from thyme.study.report.pages import Table, TableCell, TableRow
from thyme.study.results import Results
from thyme.study.shown_metrics import AIR_BYTES, ENERGY, LATE_NOTIFICATION, NOTIFICATION_LATENCY, RECALL, SUCCESS
from thyme.study.stages import StageReport
from thyme.study.wording import NOTHING, axis_title, counted, duration, round_share, share, size, span

VERDICTS = {"holds": "good", "works": "fair", "fails": "bad"}


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


def numbers_table(results: Results, headline: Headline) -> Table | None:
    """The numbers of the crowd that was asked about."""
    lead = (
        "Means over the runs, with their range: from the smallest to the largest, or with "
        f"{MIN_SURE_RUNS} runs and more the interval that contains the median run with {round_share(CONFIDENCE)}."
    )
    keys = [key for key in results.plan.columns if key != VARIATION_COLUMN]
    return _scores("The numbers behind the answer", lead, results, keys, headline.choices)


def beside_table(results: Results, headline: Headline) -> Table | None:
    """The same numbers in the other variations."""
    variations = counted(len({choice.variation for choice in headline.variations}), "variation")
    return _scores(f"The same in {variations}", "", results, results.plan.columns, headline.variations)


def _scores(title: str, lead: str, results: Results, keys: list[str], places: Sequence[Choice]) -> Table | None:
    """A row for each approach in each place, which the keys tell apart."""
    headers = [
        *map(axis_title, keys),
        "approach",
        "operations succeed",
        "notifications arrive",
        "half notified within",
        "95% notified within",
        "sent over the air",
        "energy of a device",
        "verdict",
    ]
    rows = [_score_row(results, keys, choice, score) for choice in places for score in choice.scores]
    return Table(title, headers, rows, lead) if rows else None


def _score_row(results: Results, keys: list[str], choice: Choice, score: Score) -> TableRow:
    chosen = score in choice.best
    if score.dependable and chosen and len(choice.scores) > 1:
        verdict = TableCell("chosen" if score == choice.chosen else "as good", kind="best")
    elif score.dependable:
        verdict = TableCell("dependable", kind="good")
    else:
        verdict = TableCell("not dependable", kind="fair" if chosen else "bad")
    cells = (
        *(_place_cell(choice, key) for key in keys),
        TableCell(score.approach),
        _cell(results, score.point, SUCCESS, share),
        _cell(results, score.point, RECALL, share),
        _cell(results, score.point, NOTIFICATION_LATENCY, duration),
        _cell(results, score.point, LATE_NOTIFICATION, duration),
        _cell(results, score.point, AIR_BYTES, size),
        _cell(results, score.point, ENERGY, lambda joules: f"{joules:,.1f} J"),
        verdict,
    )
    return TableRow(cells, chosen=score == choice.chosen and len(choice.scores) > 1)


def _place_cell(choice: Choice, key: str) -> TableCell:
    value = choice.variation if key == VARIATION_COLUMN else choice.values[key]
    return TableCell(str(value), numeric=isinstance(value, int | float))


def _cell(results: Results, point: int, metric: str, show: Callable[[float], str]) -> TableCell:
    found = results.get(point, metric)
    if found is None:
        return TableCell(NOTHING, numeric=True)
    ends = "" if found.low is None or found.high is None else span(show(found.low), show(found.high))
    return TableCell(show(found.mean), numeric=True, spread=ends if " to " in ends else "", rank=found.mean)


def tips_table(headline: Headline) -> Table | None:
    """What becomes of the answer where one assumption is another."""
    if not headline.variations:
        return None
    tips = {tip.variation: tip for tip in headline.tips}
    rows = []
    for choice in headline.variations:
        tip = tips.get(choice.variation)
        best = choice.chosen.approach if choice.suffices else "nothing tried"
        verdict = TableCell(tip.verdict, kind=VERDICTS[tip.verdict]) if tip else TableCell("")
        rows.append(
            TableRow(
                (TableCell(choice.variation), verdict, TableCell(tip.told if tip else why(choice)), TableCell(best))
            )
        )
    lead = "The same crowd with one assumption changed; only a few runs each."
    if headline.tips:
        count = {verdict: sum(tip.verdict == verdict for tip in headline.tips) for verdict in VERDICTS}
        lead += f" The answer holds in {count['holds']} of {counted(len(headline.tips), 'variation')}."
        lead += f" In {count['works']} it works, and another approach is better." if count["works"] else ""
        lead += f" In {count['fails']} it is not dependable." if count["fails"] else ""
    return Table("Variations", ["if", "the answer", "it then gives", "best"], rows, lead)


def claims_table(claims: Sequence[Claim]) -> Table | None:
    """What a paper states, beside what was measured; columns that no claim fills are left out."""
    judged = those_tested(claims)
    if not judged:
        return None
    columns: dict[str, list[TableCell]] = {
        "claim": [TableCell(claim.id) for claim in judged],
        "where": [TableCell(claim.place) for claim in judged],
        "approach": [TableCell(claim.subject) for claim in judged],
        "the paper says": [TableCell(claim.statement) for claim in judged],
        "stated": [TableCell(claim.stated, numeric=True) for claim in judged],
        "measured here": [TableCell(claim.measured, numeric=claim.rule is not None) for claim in judged],
        "": [TableCell(claim.verdict, kind="good" if claim.holds else "fair") for claim in judged],
    }
    filled = {name: cells for name, cells in columns.items() if any(cell.text for cell in cells)}
    lead = agreement(claims)
    untested = len(claims) - len(judged)
    if untested:
        lead += f" These runs cannot test {untested} more."
    return Table(
        "Beside the paper", list(filled), [TableRow(cells) for cells in zip(*filled.values(), strict=True)], lead
    )


def failures_table(failed: Sequence[FailedRun], runs: int) -> Table:
    """The runs without a result, of this total, with their errors."""
    if not failed:
        return Table("What failed", lead=f"Nothing: all {runs:,} runs finished.")
    rows = [
        TableRow(
            (
                TableCell(failure.what),
                TableCell(str(failure.attempts), numeric=True),
                TableCell(failure.error, kind="error"),
            )
        )
        for failure in failed
    ]
    lead = f"{len(rows)} of {runs:,} runs gave no result; the numbers above are without them."
    return Table("What failed", ["run", "attempts", "error"], rows, lead)


def expense_table(expense: Expense) -> Table:
    rows = [
        TableRow((TableCell(stage.name), TableCell(stage.detail), TableCell(_time_taken(stage), numeric=True)))
        for stage in expense.stages
    ]
    total_s = sum(stage.seconds for stage in expense.stages)
    simulated = f"{expense.runs} runs that took {duration(expense.run_seconds)} of processor time"
    lead = f"{duration(total_s)} on {expense.master}, with {simulated}."
    return Table("How long it took", ["stage", "what", "time"], rows, lead)


def _time_taken(stage: StageReport) -> str:
    return "reused" if stage.state == "reused" else duration(stage.seconds)
