"""The other papers' evaluations behind `thyme study --preset`."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from thyme.model.errors import InputError
from thyme.papers.evaluations import EVALUATIONS, run_evaluation
from thyme.papers.thyme.analysis import ANALYSED
from thyme.papers.thyme.evaluation import PER_CELL, counts_of, crowds
from thyme.papers.thyme.figures import analysis_csv
from thyme.papers.walks.batch import PAPER_INITIATORS, BatchOptions, run_network
from thyme.papers.walks.evaluation import variants
from thyme.papers.walks.sweep import sweep_walks
from thyme.pipeline.runs.sweep import SweepProgress
from thyme.pipeline.spark.lazy_session import LazySession


def ignore_progress(progress: SweepProgress) -> None:
    """Nobody looks."""


@pytest.mark.usefixtures("spark")
def test_walks_swept_on_spark_are_those_of_a_plain_loop_and_are_kept(tmp_path: Path) -> None:
    told: list[SweepProgress] = []
    counts = {1000: PAPER_INITIATORS[1000]}
    swept = sweep_walks(2, 1, tmp_path, counts, watch=told.append)
    table = swept.columns
    assert len(table["depth"]) == 2 * 2 * 20
    assert (told[0].done, told[-1].done, swept.runs, swept.failed) == (0, 2, 2, ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazySession, "spark", property(lambda session: pytest.fail("Spark was started")))
        again = sweep_walks(2, 1, tmp_path, counts, watch=told.append).columns
    assert told[-1].reused == 2
    assert all((again[name] == table[name]).all() for name in table)
    next(tmp_path.iterdir()).unlink()
    assert all((sweep_walks(2, 1, tmp_path, counts).columns[name] == table[name]).all() for name in table)
    plain = run_network(1000, 1, [10], 1, BatchOptions())
    chosen = (table["network"] == 1) & (table["initiators"] == 10) & ~table["pure"]
    assert table["active_nodes"][chosen].tolist() == np.asarray(plain["active_nodes"]).tolist()
    assert table["depth"][chosen].tolist() == np.asarray(plain["depth"]).tolist()


@pytest.mark.usefixtures("spark")
def test_a_network_that_cannot_be_drawn_is_told_and_spoils_nothing_else(tmp_path: Path) -> None:
    lost = BatchOptions(radius=0.045, max_graph_draws=1)
    swept = sweep_walks(3, 1, tmp_path, {1000: (2,), 3000: (2,)}, lost, "local[1]")
    assert {network.nodes for network, _ in swept.failed} == {1000}
    assert all(outcome.attempts == 2 and "max_graph_draws" in outcome.error for _, outcome in swept.failed)
    assert set(swept.columns["nodes"].tolist()) == {3000}


@pytest.mark.usefixtures("spark")
def test_method_and_branches_reach_the_walks(tmp_path: Path) -> None:
    small = {"networks": 1, "draws": 1, "sizes": [1000]}
    plain = run_evaluation("walks", tmp_path / "plain", small, "local[1]", ignore_progress)
    other = run_evaluation(
        "walks", tmp_path / "other", {**small, "method": "second", "branches": 2}, "local[1]", ignore_progress
    )
    assert [claim.id for claim in plain.claims] == [claim.id for claim in other.claims]
    assert (tmp_path / "plain" / "walks_evaluation.csv").read_text("utf-8") != (
        tmp_path / "other" / "walks_evaluation.csv"
    ).read_text("utf-8")
    numbers = (tmp_path / "plain" / "metrics.csv").read_text("utf-8").splitlines()
    assert numbers[0] == "nodes,kind,initiators,metric,mean,deviation,low,high,runs"
    assert len(numbers) == 1 + 2 * 20 * 4
    assert "statements of the paper hold here too" in (tmp_path / "plain" / "report.html").read_text("utf-8")
    assert len(list((tmp_path / "plain" / "figures").glob("walks_*.svg"))) == 3


@pytest.mark.usefixtures("spark")
def test_readings_are_compared_on_spark_and_written(tmp_path: Path) -> None:
    changes = {"compare": True, "networks": 1, "draws": 1, "sizes": [1000]}
    claims = run_evaluation("walks", tmp_path, changes, "local[1]", ignore_progress).claims
    rows = list(csv.DictReader((tmp_path / "walks_readings.csv").read_text("utf-8").splitlines()))
    assert {row["reading"] for row in rows} == {variant.name for variant in variants()}
    assert [f"{row['reading']}: {row['claim']}" for row in rows] == [claim.id for claim in claims]
    assert not (tmp_path / "walks_evaluation.csv").exists()


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("walks", {"initiators": 3}, "there is no key 'initiators'; it has networks, draws"),
        ("walks", {"networks": "many"}, 'networks is "many"; expected a whole number'),
        ("walks", {"networks": 0}, "networks is 0; expected a whole number >= 1"),
        ("walks", {"sizes": [7]}, "sizes.0 is 7; expected one of 1000"),
        ("walks", {"method": "fastest"}, 'method is "fastest"'),
        ("walks", {"branches": 3}, "branches is 3"),
        ("walks", {"compare": True, "reading": "counted"}, "leave out reading, method and branches"),
        ("walks", {"sizes": []}, "sizes is .*; expected a list of length >= 1"),
        ("thyme-analysis", {"sizes": ["a"]}, 'sizes.0 is "a"; expected a whole number'),
        ("thyme-analysis", {"sizes": [3]}, "sizes.0 is 3; expected a whole number >= 4"),
        ("drip", {"repetitions": 0}, "repetitions is 0; expected a whole number >= 1"),
        ("drip", {"figures": ["5"]}, 'figures.0 is "5"; expected one of 3a, 3b, 4'),
    ],
)
def test_wrong_settings_are_named(name: str, changes: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        run_evaluation(name, tmp_path, changes, "local[1]", ignore_progress)


def test_only_a_folder_that_a_study_made_is_used_and_emptied(tmp_path: Path) -> None:
    small = {"networks": 1, "draws": 1, "sizes": [1000]}
    letter = tmp_path / "mine" / "runs" / "letter.txt"
    letter.parent.mkdir(parents=True)
    letter.write_text("dear")
    with pytest.raises(InputError, match="--fresh would empty it, but no study is there"):
        run_evaluation("walks", tmp_path / "mine", small, "local[1]", ignore_progress, fresh=True)
    with pytest.raises(InputError, match="is not empty and contains no study"):
        run_evaluation("walks", tmp_path / "mine", small, "local[1]", ignore_progress)
    assert letter.read_text() == "dear"
    told: list[SweepProgress] = []
    out = tmp_path / "out"
    for fresh in (True, False, True):
        run_evaluation("walks", out, small, "local[1]", told.append, fresh)
        (out / "notes.txt").write_text("beside the study")
        played = (told[-1].done, told[-1].reused)
        assert played == ((1, 0) if fresh else (0, 1))
    assert (out / "notes.txt").read_text() == "beside the study"


@pytest.mark.usefixtures("spark")
def test_crowds_counted_on_spark_are_those_of_a_plain_loop_and_are_kept(tmp_path: Path) -> None:
    told: list[SweepProgress] = []
    small = {"sizes": [16, 36], "topologies": 1}
    run_evaluation("thyme-analysis", tmp_path, small, "local[1]", told.append)
    total = len(ANALYSED) * 2 + len(PER_CELL)
    assert (told[0].done, told[-1].done, told[-1].failed) == (0, total, 0)
    found = {name: (tmp_path / name).read_bytes() for name in ("analysis.csv", "metrics.csv")}
    plain = counts_of(crowd.measure() for crowd in crowds([16, 36], 1))
    assert found["analysis.csv"].decode() == analysis_csv(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazySession, "spark", property(lambda session: pytest.fail("Spark was started")))
        run_evaluation("thyme-analysis", tmp_path, small, "local[1]", told.append)
    assert told[-1].reused == total
    assert {name: (tmp_path / name).read_bytes() for name in found} == found


def test_every_paper_has_its_evaluation() -> None:
    assert set(EVALUATIONS) == {"drip", "socialcast", "walks", "thyme-analysis", "devices"}
