"""An evaluation of a paper leaves what a study leaves: tidy numbers, figures in two formats and a report."""

from __future__ import annotations

import csv
from pathlib import Path

from thyme.papers.evaluated import Evaluated, answer_of, measurements_at, write_evaluated
from thyme.study.claims import Claim
from thyme.study.figures.pictures import Picture
from thyme.study.report.tables import FailedRun
from thyme.study.results import summary_of

CLAIMS = (
    Claim("D01", "Figure 3a", "coverage grows").judged("0.4 to 0.5", holds=True),
    Claim("D03", "Figure 3b", "below SF"),
    Claim("D06", "Figure 4", "able is faster").judged("5 s < 4 s?", holds=False),
)


def evaluated(*failed: FailedRun) -> Evaluated:
    measured = [
        *measurements_at({"series": "DRIP", "k": 10}, {"delay_s": [4.0, 5.0, 6.0], "coverage": [float("nan")]}),
        *measurements_at({"series": "SF", "k": 10}, {"delay_s": [20.0]}),
    ]
    picture = Picture("figure_3", "Figure 3", "Delay over k.", b"\x89PNG", b"<svg/>")
    return Evaluated(CLAIMS, tuple(measured), (picture,), 5, failed)


def test_values_become_mean_deviation_and_interval() -> None:
    summary = summary_of([4.0, 6.0, 5.0, float("nan")])
    assert summary is not None
    assert (summary.mean, summary.deviation, summary.runs) == (5.0, 1.0, 3)
    assert (summary.low, summary.high) == (4.0, 6.0), "of three runs, all"
    assert summary_of([3.0]) is not None
    assert summary_of([float("nan")]) is None


def test_numbers_are_tidy_and_figures_are_in_two_formats(tmp_path: Path) -> None:
    write_evaluated("drip", "DRIP", evaluated(), {"repetitions": 3}, 61.0, tmp_path)
    rows = list(csv.DictReader((tmp_path / "metrics.csv").read_text().splitlines()))
    assert list(rows[0]) == ["series", "k", "metric", "mean", "deviation", "low", "high", "runs"]
    assert [(row["series"], row["metric"], row["mean"], row["runs"]) for row in rows] == [
        ("DRIP", "delay_s", "5", "3"), ("SF", "delay_s", "20", "1"),
    ]  # fmt: skip
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"figure_3.png", "figure_3.svg"}


def test_the_report_begins_with_how_many_statements_hold(tmp_path: Path) -> None:
    write_evaluated("drip", "DRIP", evaluated(), {"repetitions": 3}, 61.0, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert page.index("1 of 2 statements of the paper hold here too.") < page.index("Beside the paper")
    assert "5 s &lt; 4 s?" in page
    assert "Nothing: all 5 runs finished." in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_what_failed_is_told(tmp_path: Path) -> None:
    broken = evaluated(FailedRun("r", "SF, k 40, seed 3", 2, "KeyError: 3"))
    write_evaluated("drip", "DRIP", broken, {}, 61.0, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "SF, k 40, seed 3" in page
    assert "1 of 5 runs gave no result" in page
    assert answer_of(Evaluated((), broken.measured, (), 5)) == "2 numbers were measured."
