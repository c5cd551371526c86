"""The sweep: a table of runs, each played as one Spark task.

Every run is a job of its own, with one partition that holds one row, and so many jobs are under way at once as the
master has cores, and a few more to keep it fed. Thus a run that is finished is kept at once (an interrupted sweep goes
on where it stopped), a run that breaks, even one that takes its whole process along, is one row of the outcome and
nothing else, and the driver knows how far things are without asking. Events return to the driver as Arrow and are
written there, so a cluster needs no shared disk. What a run gives depends on its scenario and trace alone; order and
parallelism decide nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, DoubleType, LongType, StringType, StructField, StructType

from thyme.pipeline.runs.run import (
    Played,
    RunSpec,
    describe_error,
    finished,
    keep_run,
    play,
    run_identity,
    run_seconds,
)
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.pipeline.spark.session import TASK_ATTEMPTS

MAX_ATTEMPTS = 2
"""A run that fails is tried once more: the machine may have been at fault."""
JOBS_PER_CORE = 2
MAX_JOBS = 512
WATCH_EVERY_S = 0.5

TASK = StructType(
    [StructField("run", StringType()), StructField("scenario", BinaryType()), StructField("trace", BinaryType())]
)
TASK_ARROW = pa.schema([("run", pa.string()), ("scenario", pa.binary()), ("trace", pa.binary())])
_PLAYED = StructType(
    [
        StructField("run", StringType()),
        StructField("error", StringType()),
        StructField("seconds", DoubleType()),
        StructField("actions", LongType()),
        StructField("rows", LongType()),
        StructField("events", BinaryType()),
    ]
)
_PLAYED_ARROW = pa.schema(
    [
        ("run", pa.string()),
        ("error", pa.string()),
        ("seconds", pa.float64()),
        ("actions", pa.int64()),
        ("rows", pa.int64()),
        ("events", pa.binary()),
    ]
)


class Outcome(msgspec.Struct, frozen=True):
    """What became of one run of the table."""

    run: str
    status: Literal["done", "reused", "failed"]
    seconds: float = 0.0
    attempts: int = 0
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status != "failed"


class SweepProgress(msgspec.Struct, frozen=True):
    """How far a sweep is. `left_s` is None until the first run of this sweep has ended."""

    total: int
    done: int = 0
    reused: int = 0
    failed: int = 0
    running: int = 0
    left_s: float | None = None
    share: float = 0.0
    """How much of the work is done, from 0 to 1, where a larger run counts more."""


Watch = Callable[[SweepProgress], None]


def sweep(
    spark: SparkSession, specs: Sequence[RunSpec], folder: Path, watch: Watch = lambda progress: None
) -> list[Outcome]:
    """Play every run that has no output in `folder` yet; one outcome for each row of the table, in its order."""
    names = [run_identity(spec) for spec in specs]
    table = dict(zip(names, specs, strict=True))
    outcomes = {run: Outcome(run, "reused", run_seconds(folder, run)) for run in table if finished(folder, run)}
    todo = sorted((run for run in table if run not in outcomes), key=lambda run: -table[run].weight)
    tally = _Tally(table, outcomes)
    watch(tally.progress(0))
    if todo:
        folder.mkdir(parents=True, exist_ok=True)
        _play_all(spark, table, todo, folder, tally, watch)
    return [outcomes[run] for run in names]


def reuse(specs: Sequence[RunSpec], folder: Path) -> list[Outcome] | None:
    """The outcomes if every run is finished already, which needs no Spark; else None."""
    names = [run_identity(spec) for spec in specs]
    if all(finished(folder, run) for run in names):
        return [Outcome(run, "reused", run_seconds(folder, run)) for run in names]
    return None


class _Tally:
    """Counts outcomes, and tells from the work done how long the rest will take."""

    def __init__(self, table: dict[str, RunSpec], outcomes: dict[str, Outcome]) -> None:
        self.outcomes = outcomes
        self._weights = {run: spec.weight for run, spec in table.items()}
        self._first = sum(self._weights[run] for run in outcomes)
        self._total = sum(self._weights.values())
        self._started_s = time.monotonic()

    def progress(self, running: int) -> SweepProgress:
        ended = sum(self._weights[run] for run in self.outcomes)
        statuses = [outcome.status for outcome in self.outcomes.values()]
        here = ended - self._first
        elapsed_s = time.monotonic() - self._started_s
        return SweepProgress(
            total=len(self._weights),
            done=statuses.count("done"),
            reused=statuses.count("reused"),
            failed=statuses.count("failed"),
            running=running,
            left_s=elapsed_s * (self._total - ended) / here if here else None,
            share=ended / self._total if self._total else 1.0,
        )


def _play_all(
    spark: SparkSession, table: dict[str, RunSpec], todo: list[str], folder: Path, tally: _Tally, watch: Watch
) -> None:
    cores = spark.sparkContext.defaultParallelism
    stop = threading.Event()
    pool = ThreadPoolExecutor(min(len(todo), JOBS_PER_CORE * cores, MAX_JOBS), "sweep")
    try:
        waiting: set[Future[Outcome]] = {
            pool.submit(_play_and_keep, spark, run, table[run], folder, stop) for run in todo
        }
        while waiting:
            ended, waiting = wait(waiting, WATCH_EVERY_S, FIRST_COMPLETED)
            for future in ended:
                outcome = future.result()
                tally.outcomes[outcome.run] = outcome
            watch(tally.progress(min(cores, len(waiting))))
    except BaseException:
        stop.set()
        spark.sparkContext.cancelAllJobs()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _play_and_keep(spark: SparkSession, run: str, spec: RunSpec, folder: Path, stop: threading.Event) -> Outcome:
    played = Played(run, "stopped before it was played")
    attempts = 0
    while attempts < MAX_ATTEMPTS and not stop.is_set():
        try:
            played = _play_on(spark, run, spec)
            attempts += 1
        except Exception as error:
            # Its process was lost. Spark has tried it again by itself, but on a cluster only.
            played = Played(run, describe_error(error))
            attempts += 1 if str(spark.sparkContext.master).startswith("local") else TASK_ATTEMPTS
        if not played.error:
            keep_run(folder, spec, played)
            return Outcome(run, "done", played.seconds, attempts)
    return Outcome(run, "failed", played.seconds, attempts, played.error)


def _play_on(spark: SparkSession, run: str, spec: RunSpec) -> Played:
    row = {"run": run, "scenario": msgspec.msgpack.encode(spec.scenario), "trace": spec.trace.data}
    task = from_arrow(spark, pa.Table.from_pylist([row], schema=TASK_ARROW), TASK).coalesce(1)
    (answer,) = map_arrow(task, _play_batches, _PLAYED).toArrow().to_pylist()
    return Played(**answer)


def _play_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            answer: dict[str, Any] = msgspec.structs.asdict(play(row["run"], row["scenario"], row["trace"]))
            yield pa.RecordBatch.from_pylist([answer], schema=_PLAYED_ARROW)
