"""The results of one paper's evaluation, and their files: `metrics.csv`, figures and a report, as of any study.

The other papers ask other questions than which approach to choose, so their report begins with how many of the paper's
statements came out here, and goes on with figures, numbers, settings and what failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from thyme.drafts import write_file
from thyme.model.settings import SettingsRecord
from thyme.pipeline.runs.sweep import OnProgress
from thyme.study.claims import Claim, agreement, those_tested
from thyme.study.figures.pictures import Picture, write_pictures
from thyme.study.folder import FIGURES, METRICS_FILE, REPORT_FILE
from thyme.study.report.pages import Table, TableCell, TableRow, render_page
from thyme.study.report.tables import FailedRun, claims_table, failures_table
from thyme.study.results import Summary, readable, summary_of, tidy_csv, tidy_row
from thyme.study.wording import NOTHING, duration, span

MAX_TOLD_NUMBERS = 400
"""Rows of the report's table of numbers; `metrics.csv` has all."""


class Measurement(msgspec.Struct, frozen=True):
    """A metric at one point of the evaluation's grid."""

    place: dict[str, Any]
    metric: str
    summary: Summary


class Evaluated(msgspec.Struct, frozen=True):
    claims: tuple[Claim, ...]
    measured: tuple[Measurement, ...]
    pictures: tuple[Picture, ...]
    runs: int
    """How many were to be played."""
    failed: tuple[FailedRun, ...] = ()


class PaperEvaluation(SettingsRecord, frozen=True):
    """The settings of an evaluation, for `--set`."""

    def run(self, out: Path, master: str, watch: OnProgress) -> Evaluated:
        """Run what is missing, write the paper's tables to `out`, and return the measurements."""
        raise NotImplementedError


def measurements_at(place: Mapping[str, Any], values: Mapping[str, Iterable[float]]) -> list[Measurement]:
    """The metrics of one point from what each of its runs gave; a metric that no run gave is left out."""
    found = ((metric, summary_of(of_runs)) for metric, of_runs in values.items())
    return [Measurement(dict(place), metric, summary) for metric, summary in found if summary is not None]


def write_evaluated(
    name: str, title: str, evaluated: Evaluated, settings: Mapping[str, Any], took_s: float, out: Path
) -> None:
    """Everything that a person looks at, in the folder of the evaluation."""
    columns = list(dict.fromkeys(key for one in evaluated.measured for key in one.place))
    rows = [tidy_row(one.place, one.metric, one.summary) for one in evaluated.measured]
    write_file(out / METRICS_FILE, tidy_csv(columns, rows).encode())
    write_pictures(evaluated.pictures, out / FIGURES)
    write_file(out / REPORT_FILE, render_evaluated(name, title, evaluated, settings, took_s).encode())


def answer_of(evaluated: Evaluated) -> str:
    """The evaluation in one sentence."""
    if not those_tested(evaluated.claims):
        return f"{len(evaluated.measured)} numbers were measured."
    return agreement(evaluated.claims)


def render_evaluated(name: str, title: str, evaluated: Evaluated, settings: Mapping[str, Any], took_s: float) -> str:
    played = evaluated.runs - len(evaluated.failed)
    return render_page(
        "evaluation.html",
        title=title,
        brand=f"evaluation {name}",
        question="",
        answer=answer_of(evaluated),
        lead=f"{played:,} of {evaluated.runs:,} runs exist (new or from before); this time took {duration(took_s)}.",
        claims=claims_table(evaluated.claims),
        pictures=evaluated.pictures,
        numbers=_numbers(evaluated.measured),
        failures=failures_table(evaluated.failed, evaluated.runs),
        settings=json.dumps(settings, indent=2, ensure_ascii=False),
    )


def _ends(summary: Summary) -> str:
    if summary.low is None or summary.high is None:
        return NOTHING
    return span(f"{summary.low:.4g}", f"{summary.high:.4g}")


def _numbers(measured: Sequence[Measurement]) -> Table:
    rows = [
        TableRow(
            (
                TableCell(readable(one.place)),
                TableCell(one.metric),
                TableCell(f"{one.summary.mean:.4g}", numeric=True),
                TableCell(_ends(one.summary), numeric=True),
                TableCell(f"{one.summary.runs:,}", numeric=True),
            )
        )
        for one in measured[:MAX_TOLD_NUMBERS]
    ]
    left = len(measured) - len(rows)
    lead = "Means over the runs of each point, and a 95 % interval of the median; with few runs, all of them."
    if left > 0:
        lead += f" {left:,} more are in {METRICS_FILE}."
    return Table("Numbers", ["where", "metric", "mean", "interval", "runs"], rows, lead)
