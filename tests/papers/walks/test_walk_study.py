"""The walks evaluation as figures, as a table and beside the paper's statements."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from thyme.papers.walks.batch import BatchOptions as Options
from thyme.papers.walks.batch import Columns, join_columns, run_network
from thyme.papers.walks.claims import check_claims
from thyme.papers.walks.evaluation import compared_counts, readings_csv, variants, write_evaluation
from thyme.papers.walks.figures import summary_csv, walk_figures
from thyme.papers.walks.points import count_outliers, fit_quality
from thyme.papers.walks.readings import WalkOptions, answers
from thyme.papers.walks.sweep import WalkSweep

CLAIMS = [
    "W01",
    "W01o",
    "W01s",
    "W02",
    "W02s",
    "W02a",
    "W02b",
    "W02c",
    "W03d",
    "W03p",
    "W04",
    "W05",
    "T1",
    "W06a",
    "W06b",
    "W06c",
]


@pytest.fixture(scope="module")
def table() -> Columns:
    parts = [
        run_network(nodes, network, (2, 3, 5, 10, 50), 2, Options(walk=WalkOptions(pure=pure)))
        for nodes in (1000, 2000)
        for network in range(4)
        for pure in (False, True)
    ]
    return join_columns(parts)


def test_outliers_are_beyond_one_and_a_half_boxes() -> None:
    assert count_outliers(np.array([1.0, 2, 3, 4, 5])) == 0
    assert count_outliers(np.array([1.0, 2, 3, 4, 50])) == 1


def test_a_straight_line_is_fitted_exactly() -> None:
    slope, quality = fit_quality(np.array([1.0, 2, 3]), np.array([5.0, 7, 9]))
    assert slope == pytest.approx(2)
    assert quality == pytest.approx(1)


def test_each_statement_of_the_paper_gets_a_verdict(table: Columns) -> None:
    results = {result.id: result for result in check_claims(table)}
    assert set(results) == set(CLAIMS)
    assert results["W01"].holds


def test_a_statement_fails_where_the_numbers_say_otherwise(table: Columns) -> None:
    swapped = dict(table)
    swapped["pure"] = ~table["pure"]
    results = {result.id: result for result in check_claims(swapped)}
    assert not results["W01"].holds
    assert not results["W01s"].holds


def test_depths_are_similar_where_their_boxes_overlap(table: Columns) -> None:
    shifted = dict(table)
    shifted["depth"] = np.where(table["pure"], table["depth"] / 3, table["depth"])
    results = {result.id: result for result in check_claims(shifted)}
    assert not results["W04"].holds
    same = dict(table)
    same["depth"] = np.full_like(table["depth"], 0.95)
    assert {result.id: result for result in check_claims(same)}["W04"].holds


def test_one_overlay_per_point_has_no_spread_to_compare(table: Columns) -> None:
    one = (table["network"] == 0) & (table["draw"] == 0)
    results = {result.id: result for result in check_claims({k: v[one] for k, v in table.items()})}
    assert not results["W01s"].holds


def test_the_summary_has_one_row_per_point(table: Columns) -> None:
    rows = list(csv.DictReader(io.StringIO(summary_csv(table))))
    assert len(rows) == 2 * 2 * 5
    first = rows[0]
    assert (first["nodes"], first["kind"], first["initiators"], first["overlays"]) == ("1000", "directional", "2", "8")
    chosen = (table["nodes"] == 1000) & ~table["pure"] & (table["initiators"] == 2)
    assert float(first["active_nodes_mean"]) == pytest.approx(table["active_nodes"][chosen].mean(), rel=1e-5)


def test_the_three_figures_are_drawn(table: Columns) -> None:
    pictures = walk_figures(table)
    assert [picture.name for picture in pictures] == ["walks_active_nodes", "walks_depth", "walks_depth_few"]
    for picture in pictures:
        assert picture.png.startswith(b"\x89PNG")
        assert b"<svg" in picture.svg


def test_the_evaluation_is_written_whole(table: Columns, tmp_path: Path) -> None:
    evaluated = write_evaluation(WalkSweep(table, (), 8), tmp_path)
    assert list(evaluated.claims) == check_claims(table)
    assert (tmp_path / "walks_evaluation.csv").read_text("utf-8") == summary_csv(table)
    assert len(evaluated.pictures) == 3
    assert evaluated.runs == 8
    one = evaluated.measured[0]
    chosen = (table["nodes"] == one.place["nodes"]) & (table["initiators"] == one.place["initiators"])
    assert one.summary.mean == pytest.approx(np.mean(table["active_nodes"][chosen & ~table["pure"]]))


def test_every_single_answer_and_earlier_method_is_compared() -> None:
    names = [variant.name for variant in variants()]
    assert names[0] == "default"
    others = {value for values in answers().values() for value in values[1:]}
    assert {"each-meets", "counted", "looks-around"} < others
    assert set(names) == {"default", *others, "method second", "method weights", "two branches"}
    assert [len(counts) for counts in compared_counts((1000, 3000)).values()] == [13, 13]


def test_the_comparison_has_a_row_per_reading_and_claim(table: Columns) -> None:
    text = readings_csv([(variants()[0], check_claims(table))])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["reading"] for row in rows} == {"default"}
    assert {row["holds"] for row in rows} <= {"yes", "no"}
    assert [row["claim"] for row in rows] == CLAIMS
