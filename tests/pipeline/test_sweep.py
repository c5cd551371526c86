"""A sweep plays what is missing, keeps what is finished, and reports what broke."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.runs.carried import PackedTrace, pack_trace, stored_trace
from thyme.pipeline.runs.kept_files import KeptFiles, ShortTask
from thyme.pipeline.runs.run import EVENTS_FILE, Played, RunSpec, read_events, run_identity
from thyme.pipeline.runs.simulations import KeepRunThere, sweep_runs
from thyme.pipeline.runs.sweep import (
    MAX_ATTEMPTS,
    OnProgress,
    Play,
    RunOutcome,
    SweepProgress,
    ignore_progress,
    jobs_of,
)
from thyme.pipeline.runs.sweep import sweep as sweep_tasks
from thyme.pipeline.spark import dataset
from thyme.sim.scenario import Scenario, scenario_of
from thyme.sim.traces import table_from_operations

OPERATIONS = (
    Operation(0, 8.0, NodeId(0), OperationKind.SUBSCRIBE, sid=0, query="goal"),
    Operation(1, 9.0, NodeId(2), OperationKind.INSERT, oid="a", tags=("goal",), text="now! #goal"),
)


def scenario(**changes: object) -> Scenario:
    time = {"join_from_s": 0.5, "join_to_s": 2.0, "until_s": 20.0}
    return scenario_of({"nodes": 8, "time": time, "settings": {"routing": "ondemand"}} | changes, "test")


@pytest.fixture
def trace() -> PackedTrace:
    return pack_trace(OPERATIONS)


def specs(trace: PackedTrace, topologies: int = 3) -> list[RunSpec]:
    return [RunSpec(scenario(topology=topology), trace) for topology in range(topologies)]


def sweep(
    spark: SparkSession, specs: list[RunSpec], folder: Path, watch: OnProgress = ignore_progress
) -> list[RunOutcome]:
    return sweep_runs(lambda: spark, specs, folder, watch)


def nobody() -> SparkSession:
    raise AssertionError("what is kept needs no Spark")


def test_finished_runs_are_kept_and_not_played_again(spark: SparkSession, trace: PackedTrace, tmp_path: Path) -> None:
    seen: list[SweepProgress] = []
    first = sweep(spark, specs(trace), tmp_path, seen.append)
    assert [(outcome.status, outcome.error) for outcome in first] == [("done", "")] * 3
    assert (seen[0].done, seen[0].share) == (0, 0.0)
    assert (seen[-1].done, seen[-1].failed, seen[-1].running, seen[-1].share) == (3, 0, 0, 1.0)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    again = sweep(spark, specs(trace, 4), tmp_path)
    assert [outcome.status for outcome in again] == ["reused"] * 3 + ["done"]
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert [outcome.run for outcome in sweep_runs(nobody, specs(trace), tmp_path)] == [outcome.run for outcome in first]
    kinds = {row.kind for row in read_events(spark, tmp_path, [first[0].run]).select("kind").distinct().collect()}
    assert {"issued", "succeeded", "notified", "phy sent"} <= kinds


def test_tasks_hash_many_large_runs(
    spark: SparkSession, trace: PackedTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = sweep(spark, specs(trace, 2), tmp_path)
    monkeypatch.setattr(dataset, "HASHED_HERE_BYTES", 0)
    monkeypatch.setattr("thyme.pipeline.manifest.describe_file", lambda file: pytest.fail("hashed in this process"))
    events = tmp_path / second.run / EVENTS_FILE
    whole = events.read_bytes()
    events.write_bytes(bytes(reversed(whole)))
    again = sweep(spark, specs(trace, 2), tmp_path)
    assert [outcome.status for outcome in again] == ["reused", "done"]
    assert events.read_bytes() == whole


def test_events_do_not_depend_on_order_and_company(spark: SparkSession, trace: PackedTrace, tmp_path: Path) -> None:
    together = sweep(spark, specs(trace), tmp_path / "one")
    for spec in reversed(specs(trace)):
        sweep(spark, [spec], tmp_path / "two")
    for outcome in together:
        there, here = (tmp_path / name / outcome.run / EVENTS_FILE for name in ("one", "two"))
        assert there.read_bytes() == here.read_bytes()


def test_a_trace_that_is_a_dataset_travels_as_its_files(
    spark: SparkSession, trace: PackedTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_from_operations(OPERATIONS)
    half = table.num_rows // 2
    frames = (spark.createDataFrame(part) for part in (table.slice(half), table.slice(0, half)))
    dataset.write_once(reduce(DataFrame.union, frames), tmp_path / "trace")
    stored = stored_trace(tmp_path / "trace", len(OPERATIONS))
    assert stored.unpack() == trace.unpack(), "in their order, whatever that of the files"
    assert msgspec.msgpack.decode(stored.carry())["files"] == [
        file.read_bytes() for file in sorted((tmp_path / "trace").glob("*.parquet"))
    ]

    def refuse(*_: object) -> object:
        raise AssertionError("only those who play a trace make operations of it")

    with monkeypatch.context() as driver:
        driver.setattr("thyme.pipeline.runs.carried.operations_from_table", refuse)
        (there,) = sweep(spark, [RunSpec(scenario(), stored)], tmp_path / "stored")
    (here,) = sweep(spark, [RunSpec(scenario(), trace)], tmp_path / "packed")
    assert (there.status, here.status) == ("done", "done")
    events = [
        pq.read_table(tmp_path / name / outcome.run / EVENTS_FILE).drop_columns("run")
        for name, outcome in (("stored", there), ("packed", here))
    ]
    assert events[0].equals(events[1])


def test_a_run_that_fails_is_one_row_with_its_error(spark: SparkSession, trace: PackedTrace, tmp_path: Path) -> None:
    broken = RunSpec(scenario(nodes=2), trace)
    good, bad = sweep(spark, [*specs(trace, 1), broken], tmp_path)
    assert good.ok
    assert (bad.status, bad.attempts) == ("failed", MAX_ATTEMPTS)
    assert "operation 1 is by node 2, but the scenario has nodes 0 to 1" in bad.error
    assert [path.name for path in tmp_path.iterdir()] == [good.run]


def word_player() -> Play:
    """Plays a word: some end their process, some are wrong, the others are turned round. A function within a function
    travels whole, and needs no module where it arrives."""

    def play(run: str, data: bytes) -> bytes:
        if data == b"deadly":
            os._exit(3)
        if data == b"wrong":
            raise ValueError("a wrong word")
        return data[::-1]

    return play


@pytest.mark.parametrize("per_job", [1, 2, 10])
def test_a_task_that_fails_or_takes_its_process_along_fails_alone(
    spark: SparkSession, tmp_path: Path, per_job: int
) -> None:
    words = ["one", "deadly", "two", "wrong", "three"]
    tasks = [ShortTask(f"run-{word}", word.encode()) for word in words]
    files = KeptFiles(tmp_path)
    seen: list[SweepProgress] = []
    outcomes = sweep_tasks(lambda: spark, tasks, word_player(), files, per_job, seen.append)
    assert [outcome.status for outcome in outcomes] == ["done", "failed", "done", "failed", "done"]
    assert [outcome.attempts for outcome in outcomes if not outcome.ok] == [MAX_ATTEMPTS] * 2
    assert "ValueError: a wrong word" in outcomes[3].error
    assert [files.found(f"run-{word}") for word in ("one", "two", "three")] == [b"eno", b"owt", b"eerht"]
    assert (seen[-1].done, seen[-1].failed, seen[-1].share) == (3, 2, 1.0)
    assert len(list(tmp_path.iterdir())) == 3
    good = [task for task, outcome in zip(tasks, outcomes, strict=True) if outcome.ok]
    again = sweep_tasks(nobody, good, word_player(), files, per_job)
    assert [outcome.status for outcome in again] == ["reused"] * 3


def slow_player(folder: Path) -> Play:
    """Says that it has begun, and ends long after everybody has lost patience."""

    def play(run: str, data: bytes) -> bytes:
        import time

        (folder / f"{run}.begun").touch()
        for _ in range(300):
            time.sleep(0.1)
        (folder / f"{run}.ended").touch()
        return data

    return play


def test_a_sweep_that_is_interrupted_leaves_nothing_under_way(spark: SparkSession, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def interrupt(progress: SweepProgress) -> None:
        if len(list(marks.glob("*.begun"))) == 2:
            raise KeyboardInterrupt

    tasks = [ShortTask(f"run-{number}", b"") for number in range(4)]
    with pytest.raises(KeyboardInterrupt):
        sweep_tasks(lambda: spark, tasks, slow_player(marks), KeptFiles(tmp_path), 1, interrupt)
    # Tasks that go on would have been waited for.
    assert sorted(mark.suffix for mark in marks.iterdir()) == [".begun"] * 2
    assert list(tmp_path.glob("*.msgpack")) == []
    (outcome,) = sweep_tasks(lambda: spark, [ShortTask("run-one", b"one")], word_player(), KeptFiles(tmp_path))
    assert outcome.status == "done"


def test_what_another_version_kept_in_another_form_is_played_again(spark: SparkSession, tmp_path: Path) -> None:
    files = KeptFiles(tmp_path)
    (tmp_path / "run-one.msgpack").write_bytes(msgspec.msgpack.encode({"seconds": 1.0, "found": {"older": True}}))
    (outcome,) = sweep_tasks(lambda: spark, [ShortTask("run-one", b"one")], word_player(), files)
    assert (outcome.status, files.found("run-one")) == ("done", b"eno")


def test_a_folder_that_lost_its_events_is_played_again(spark: SparkSession, trace: PackedTrace, tmp_path: Path) -> None:
    (first,) = sweep(spark, specs(trace, 1), tmp_path)
    (tmp_path / first.run / EVENTS_FILE).unlink()
    (again,) = sweep(spark, specs(trace, 1), tmp_path)
    assert again.status == "done"
    assert (tmp_path / first.run / EVENTS_FILE).is_file()


def test_a_movement_file_that_is_not_there_is_told(trace: PackedTrace) -> None:
    with pytest.raises(InputError, match=r"movement\.file: /nowhere/ways\.csv cannot be read"):
        run_identity(RunSpec(scenario(movement={"model": "file", "file": "/nowhere/ways.csv"}), trace))


def test_identity_is_that_of_scenario_and_trace_but_not_of_names(trace: PackedTrace) -> None:
    other = pack_trace(OPERATIONS[:1])
    same = run_identity(RunSpec(scenario(name="this"), trace))
    assert same == run_identity(RunSpec(scenario(name="that"), pack_trace(reversed(OPERATIONS))))
    assert same != run_identity(RunSpec(scenario(), other))
    assert same != run_identity(RunSpec(scenario(seed=2), trace))
    assert same != run_identity(RunSpec(scenario(settings={"past_matches": 3}), trace))


def test_a_movement_file_counts_by_its_content(trace: PackedTrace, tmp_path: Path) -> None:
    ways = tmp_path / "ways.csv"
    moving = RunSpec(scenario(movement={"model": "file", "file": str(ways)}), trace)
    ways.write_text("one")
    before = run_identity(moving)
    ways.write_text("two")
    assert run_identity(moving) != before


def test_short_runs_share_jobs_and_long_ones_do_not() -> None:
    tasks = [ShortTask(str(number), b"", weight) for number, weight in enumerate([400, 300, *[1] * 100])]
    jobs = jobs_of(tasks, per_job=16, cores=2)
    assert [task.run for job in jobs for task in job] == [task.run for task in tasks]
    assert [len(job) for job in jobs[:3]] == [1, 1, 16]
    assert max(map(len, jobs)) == 16
    assert [len(job) for job in jobs_of(tasks[2:], per_job=1, cores=2)] == [1] * 100
    assert len(jobs_of([tasks[0]], per_job=64, cores=2)) == 1


@contextmanager
def _unseen(folder: Path) -> Iterator[str]:
    """As for a machine that has another folder at this place, or none."""
    yield "a mark that is not there"


def test_runs_are_written_where_they_are_played_if_that_place_sees_the_folder(
    spark: SparkSession, trace: PackedTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unused(folder: Path, spec: RunSpec, played: Played) -> None:
        raise AssertionError("the driver has nothing to write")

    with monkeypatch.context() as patch:
        patch.setattr("thyme.pipeline.runs.simulations.marked", _unseen)
        whole = sweep(spark, specs(trace), tmp_path / "unseen")
    with monkeypatch.context() as patch:
        patch.setattr("thyme.pipeline.runs.simulations.keep_run", unused)
        there = sweep(spark, specs(trace), tmp_path / "seen")
    assert [outcome.status for outcome in there] == ["done"] * 3
    for one, other in zip(whole, there, strict=True):
        files = [(tmp_path / name / one.run / EVENTS_FILE).read_bytes() for name in ("unseen", "seen")]
        assert files[0] == files[1]
        assert one.run == other.run
    assert not list(tmp_path.glob("*/.sweep-*")), "the mark is gone"


def test_a_place_that_does_not_see_the_folder_sends_its_events(trace: PackedTrace, tmp_path: Path) -> None:
    keeping = KeepRunThere(str(tmp_path), ".sweep-of-another-machine")
    assert not keeping("run", b"", b"", 1.0)
    assert list(tmp_path.iterdir()) == []
