"""A whole study: it resumes, reuses, reports failures, and gives the same numbers however it is run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from small_study import Finished, contents

from thyme.model.errors import InputError
from thyme.model.operations import Operation
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.sim.traces import read_trace
from thyme.study.definition import StudyDefinition, load_study
from thyme.study.plan import make_plan
from thyme.study.report.pages import prose
from thyme.study.stages import NoWatcher, StageNotes, StageReport
from thyme.study.study import run_study
from thyme.study.workload import PlayedTrace, Posts, provide_posts, provide_traces


def test_a_study_leaves_everything_in_its_folder_and_is_not_computed_again(finished: Finished) -> None:
    out = finished.out
    before = contents(out, "*") | contents(out, "figures/*")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazySession, "spark", property(lambda session: pytest.fail("Spark was started")))
        result = run_study(load_study(finished.file), out)
    assert result.all_reused
    assert {outcome.status for outcome in result.outcomes} == {"reused"}
    assert contents(out, "*") | contents(out, "figures/*") == before
    assert len(list((out / "figures").glob("*.png"))) == len(list((out / "figures").glob("*.svg"))) > 5
    assert "recall" in result.results.metrics
    recall = [result.results.mean(point, "recall") for point in range(len(result.results.points))]
    assert all(value is not None and 0.5 < value <= 1.0 for value in recall)
    page = (out / "report.html").read_text()
    assert prose(result.headline.answer) in page
    assert result.headline.answer in finished.shown


def test_a_failing_run_is_reported_and_spoils_nothing_else(
    spark: SparkSession, study_file: Path, tmp_path: Path
) -> None:
    study_file.write_text(study_file.read_text().replace("nodes = [8, 9]", "nodes = [3, 8]").replace("= 2", "= 1"))
    result = run_study(load_study(study_file, {"approaches": ["Thyme-LS"]}), tmp_path / "out")
    assert sorted(outcome.status for outcome in result.outcomes) == ["done", "failed"]
    page = result.report.read_text()
    assert "1 of 2 runs gave no result" in page
    assert "but the scenario has nodes 0 to 2" in page
    assert {row["nodes"] for row in result.results.rows()} == {"8"}


def test_only_a_study_s_own_folder_is_used_and_emptied(small: StudyDefinition, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is not empty and contains no study"):
        run_study(small, tmp_path / "mine")
    with pytest.raises(InputError, match="--fresh would empty it, but no study is there"):
        run_study(small, tmp_path / "mine", fresh=True)
    with pytest.raises(InputError, match="is a file; give a folder"):
        run_study(small, tmp_path / "mine" / "letter.txt")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"


def test_a_fresh_study_forgets_what_it_computed_and_keeps_what_a_person_put_there(
    spark: SparkSession, study_file: Path, tmp_path: Path
) -> None:
    definition = load_study(study_file, {"approaches": ["Thyme-LS"], "nodes": [8], "topologies": 1})
    out = tmp_path / "out"
    run_study(definition, out)
    (out / "letter.txt").write_text("dear")
    assert {outcome.status for outcome in run_study(definition, out, fresh=True).outcomes} == {"done"}
    assert (out / "letter.txt").read_text() == "dear"


def test_the_file_of_a_trace_is_read_once(small: StudyDefinition, tmp_path: Path) -> None:
    read: list[Path] = []

    def reading(path: Path | str) -> list[Operation]:
        read.append(Path(path))
        return read_trace(path)

    plan, notes, session = make_plan(small), StageNotes(lambda detail: None), LazySession("none", "local[1]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thyme.study.workload.read_trace", reading)
        trace = provide_traces(plan, Posts(tmp_path, ""), tmp_path / "out", session, notes)[0]
    assert [path.name for path in read] == ["trace.csv"]
    assert trace.stored.unpack() == tuple(read_trace(trace.stored.place)), "the study's own copy says the same"


def test_posts_of_too_few_people_are_dealt_out_in_a_variation_beside_and_refused_where_asked(
    spark: SparkSession, study_file: Path, tmp_path: Path
) -> None:
    crowded = '[[variations]]\nname = "all of town"\nscenario.nodes = {beside}\n[scenario]\nnodes = {asked}\n'
    given = "[posts]\ngenerate = {{ posts = 60 }}\n" + crowded
    session, notes = LazySession("none", "local[1]"), StageNotes(lambda detail: None)

    def traces(asked: int, beside: int) -> list[PlayedTrace]:
        study_file.write_text(given.format(asked=asked, beside=beside))
        plan = make_plan(load_study(study_file))
        return provide_traces(plan, provide_posts(plan, tmp_path, session, notes), tmp_path, session, notes)

    asked, beside = traces(4, 50)
    assert {operation.node for operation in asked.stored.unpack()} <= set(range(4))
    assert max(operation.node for operation in beside.stored.unpack()) > 40, "who has no post of them asks all the same"
    with pytest.raises(InputError, match="give more posts or fewer users, or deal them out"):
        traces(50, 4)


def test_posts_that_are_no_dataset_are_told(study_file: Path, tmp_path: Path) -> None:
    study_file.write_text('[posts]\ndataset = "nowhere"\n[scenario]\nnodes = 8\n')
    with pytest.raises(InputError, match=r"posts\.dataset: .*nowhere is not a dataset of posts"):
        run_study(load_study(study_file), tmp_path / "out")


def test_damage_is_told_and_made_again_to_the_same_figures(finished: Finished, tmp_path: Path) -> None:
    """Each kind of damage to each kind of dataset; nothing that is whole is computed again."""
    out = tmp_path / "out"
    shutil.copytree(finished.out, out)
    events = sorted(out.glob("runs/*/events.parquet"))
    flipped = bytearray(events[0].read_bytes())
    flipped[len(flipped) // 2] ^= 1
    events[0].write_bytes(flipped)
    events[1].write_bytes(events[1].read_bytes()[:-100])
    next(out.glob("traces/*/*.parquet")).unlink()
    points = next(out.glob("metrics/*/points/*.parquet"))
    points.write_bytes(points.read_bytes()[:-1])
    watcher = _Listening()
    result = run_study(load_study(finished.file), out, watcher=watcher)
    told = {report.name: report.detail for report in watcher.reports}
    assert re.search(r"damaged and made again: \w+: part-00000\.parquet is missing", told["traces"])
    assert re.search(r"; damaged and made again: run \w+: events\.parquet has .* and 1 more", told["runs"])
    assert re.search(r"damaged and made again: points: .*parquet has [\d,]+ bytes and not", told["metrics"])
    assert sorted(outcome.status for outcome in result.outcomes) == ["done"] * 2 + ["reused"] * 6
    for pattern in ("metrics.csv", "runs/*/events.parquet"):
        assert contents(out, pattern) == contents(finished.out, pattern)


class _Listening(NoWatcher):
    def __init__(self) -> None:
        self.reports: list[StageReport] = []

    def stage(self, report: StageReport) -> None:
        if report.state != "running":
            self.reports.append(report)
