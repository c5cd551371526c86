"""The sweep: a table of tasks, played as Spark jobs, and kept as soon as they are finished.

A job has one partition that holds one task, or many if they are short, and so many jobs are under way at once as the
master has cores, and a few more to keep it fed. What several tasks of a job are played from, such as a trace, travels
once. A task that breaks is tried once more in a job of its own: even one that takes its whole process along is one row
of the outcome and nothing else. What was found is kept as soon as it is there, by whoever found it if that sees the
folder, and else by the driver, to which it returns as bytes: an interrupted sweep goes on where it stopped, and a
cluster needs no shared disk. What a task gives depends on its data alone; order and parallelism decide nothing.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal, Protocol

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from thyme.pipeline.schemas import arrow_schema, spark_schema
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.pipeline.spark.driver import cores_of, described
from thyme.pipeline.spark.given import MASTER
from thyme.pipeline.spark.session import is_local

MAX_ATTEMPTS = 2
"""A task that fails is tried once more: the machine may have been at fault."""
JOBS_PER_CORE = 2
MAX_JOBS = 512
WATCH_EVERY_S = 0.5
MAX_ERROR_CHARS = 4_000
STAGE = "runs"
TRIES, SPARKS_TRIES = "spark.task.maxFailures", 4
SHARES_PER_CORE = 8
"""Tasks are put together into one job until it holds this part of the work of a core: so all cores end together."""
_TASKS = (("run", "string"), ("data", "binary"), ("shared", "string"))
_ANSWERS = (("run", "string"), ("error", "string"), ("seconds", "float64"), ("found", "binary"), ("kept", "bool"))

Play = Callable[[str, bytes], bytes]
"""Plays a task, given its name and data, where Spark wants it played; gives what was found."""
KeepThere = Callable[[str, bytes, bytes, float], bool]
"""Keeps what was found, given the task's name and data, what was found and in how many seconds, where it was found;
False if that cannot be done there."""


class Task(Protocol):
    """One row of the table."""

    @property
    def run(self) -> str:
        """Its identity: tasks of one name are one task."""

    @property
    def title(self) -> str:
        """What it is, in a few words."""

    @property
    def weight(self) -> int:
        """What it costs compared with others, roughly."""

    def pack(self) -> bytes:
        """What it is played from."""

    @property
    def shares(self) -> str:
        """The name of more of that, which other tasks may be played from as well, if there is such."""

    def carry(self) -> bytes:
        """What has this name, asked for when the first of a job's tasks that share it leaves; a task's data is then
        both, packed."""


class Keeping(Protocol):
    """Where what was found is kept."""

    def seconds(self, run: str) -> float | None:
        """The processor time that a task took, if it is finished and kept."""

    def keep(self, run: str, found: bytes, seconds: float) -> None: ...


class RunOutcome(msgspec.Struct, frozen=True):
    """What became of one task of the table."""

    run: str
    status: Literal["done", "reused", "failed"]
    seconds: float = 0.0
    attempts: int = 0
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status != "failed"


class SweepProgress(msgspec.Struct, frozen=True):
    """How far a sweep is. `left_s` is None until the first task of this sweep has ended."""

    total: int
    done: int = 0
    reused: int = 0
    failed: int = 0
    running: int = 0
    left_s: float | None = None
    share: float = 0.0
    """How much of the work is done, from 0 to 1, where a larger task counts more."""


OnProgress = Callable[[SweepProgress], None]


def ignore_progress(progress: SweepProgress) -> None:
    """Do nothing with it."""


def sweep(
    spark: Callable[[], SparkSession],
    tasks: Sequence[Task],
    play: Play,
    keeping: Keeping,
    per_job: int = 1,
    watch: OnProgress = ignore_progress,
    keep_there: KeepThere | None = None,
) -> list[RunOutcome]:
    """Play every task that is not kept yet, at most `per_job` in one job; one outcome for each row of the table, in its
    order. Spark is asked for only if there is something to play."""
    table = {task.run: task for task in tasks}
    outcomes = {
        run: RunOutcome(run, "reused", seconds) for run in table if (seconds := keeping.seconds(run)) is not None
    }
    todo = sorted((task for run, task in table.items() if run not in outcomes), key=lambda task: -task.weight)
    tally = _Tally(table, outcomes)
    watch(tally.progress(0))
    if todo:
        _Sweep(spark(), play, keeping, keep_there).go(todo, per_job, tally, watch)
    return [outcomes[task.run] for task in tasks]


def describe_error(error: BaseException) -> str:
    """The error and where it arose, in two lines."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"\n  at {Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS] + where


def jobs_of(todo: Sequence[Task], per_job: int, cores: int) -> list[list[Task]]:
    """Tasks, largest first, as jobs of at most so many, and of at most a small part of all the work."""
    most = min(per_job, max(1, -(-len(todo) // cores)))
    share = sum(task.weight for task in todo) / (cores * SHARES_PER_CORE)
    jobs: list[list[Task]] = []
    weight = 0.0
    for task in todo:
        if not jobs or len(jobs[-1]) >= most or weight + task.weight > share:
            jobs.append([])
            weight = 0.0
        jobs[-1].append(task)
        weight += task.weight
    return jobs


class _Tally:
    """Counts outcomes, and tells from the work done how long the rest will take."""

    def __init__(self, table: dict[str, Task], outcomes: dict[str, RunOutcome]) -> None:
        self.outcomes = outcomes
        self._weights = {run: task.weight for run, task in table.items()}
        self._statuses = Counter(outcome.status for outcome in outcomes.values())
        self._ended = self._first = sum(self._weights[run] for run in outcomes)
        self._total = sum(self._weights.values())
        self._started_s = time.monotonic()

    def add(self, outcomes: Sequence[RunOutcome]) -> None:
        for outcome in outcomes:
            self.outcomes[outcome.run] = outcome
            self._statuses[outcome.status] += 1
            self._ended += self._weights[outcome.run]

    def progress(self, running: int) -> SweepProgress:
        ended, statuses = self._ended, self._statuses
        here = ended - self._first
        elapsed_s = time.monotonic() - self._started_s
        return SweepProgress(
            total=len(self._weights),
            done=statuses["done"],
            reused=statuses["reused"],
            failed=statuses["failed"],
            running=running,
            left_s=elapsed_s * (self._total - ended) / here if here else None,
            share=ended / self._total if self._total else 1.0,
        )


class _Answer(msgspec.Struct, frozen=True):
    """What a job says of one task; `seconds` are of processor time."""

    run: str
    error: str
    seconds: float = 0.0
    found: bytes = b""
    kept: bool = False
    """Whoever found it has kept it."""
    lost: bool = False
    """Its process was lost, or that of its company."""


class _Sweep:
    """Plays jobs, several at once, and keeps what they give."""

    def __init__(self, spark: SparkSession, play: Play, keeping: Keeping, keep_there: KeepThere | None) -> None:
        self._spark = spark
        self._play = play
        self._keep_there = keep_there
        self._keeping = keeping
        self._stop = threading.Event()
        self._numbers: dict[str, int] = {}

    def go(self, todo: Sequence[Task], per_job: int, tally: _Tally, watch: OnProgress) -> None:
        cores = cores_of(self._spark)
        self._numbers = {task.run: number for number, task in enumerate(todo, 1)}
        jobs = jobs_of(todo, per_job, cores)
        pool = ThreadPoolExecutor(min(len(jobs), JOBS_PER_CORE * cores, MAX_JOBS), "sweep")
        try:
            waiting: set[Future[list[RunOutcome]]] = {pool.submit(self._finish, job) for job in jobs}
            while waiting:
                ended, waiting = wait(waiting, WATCH_EVERY_S, FIRST_COMPLETED)
                for future in ended:
                    tally.add(future.result())
                watch(tally.progress(min(cores, len(waiting))))
        except BaseException:
            self._stop.set()
            self._spark.interruptAll()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _finish(self, job: Sequence[Task]) -> list[RunOutcome]:
        """Play a job; keep what it gives; then try those that failed alone."""
        answers = {answer.run: self._found_there(answer) for answer in self._answers(job)}
        outcomes = [self._kept(answer, 1) for answer in answers.values() if not answer.error]
        for task in job:
            if answers[task.run].error:
                outcomes.append(self._try_alone(task, answers[task.run], alone=len(job) == 1))
        return outcomes

    def _found_there(self, answer: _Answer) -> _Answer:
        """Of a job that was lost, what it had kept by then is not."""
        seconds = self._keeping.seconds(answer.run) if answer.lost and self._keep_there else None
        return answer if seconds is None else _Answer(answer.run, "", seconds, kept=True)

    def _try_alone(self, task: Task, answer: _Answer, alone: bool) -> RunOutcome:
        # A task whose process was lost has been tried again by Spark itself, but on a cluster only.
        lost = 1 if is_local(str(self._spark.conf.get(MASTER))) else self._tries_of_spark()
        attempts = lost if answer.lost and alone else 1
        while answer.error and attempts < MAX_ATTEMPTS and not self._stop.is_set():
            (answer,) = self._answers([task])
            attempts += lost if answer.lost else 1
        return self._kept(answer, attempts)

    def _tries_of_spark(self) -> int:
        return int(self._spark.conf.get(TRIES, None) or SPARKS_TRIES)

    def _kept(self, answer: _Answer, attempts: int) -> RunOutcome:
        if answer.error:
            return RunOutcome(answer.run, "failed", answer.seconds, attempts, answer.error)
        if not answer.kept:
            self._keeping.keep(answer.run, answer.found, answer.seconds)
        return RunOutcome(answer.run, "done", answer.seconds, attempts)

    def _answers(self, job: Sequence[Task]) -> list[_Answer]:
        if self._stop.is_set():
            return [_Answer(task.run, "stopped before it ran") for task in job]
        try:
            rows = [{"run": task.run, "data": task.pack(), "shared": task.shares} for task in job]
            player = _Player(self._play, _carried(job), self._keep_there)
            table = pa.Table.from_pylist(rows, schema=arrow_schema(_TASKS))
            frame = from_arrow(self._spark, table, spark_schema(_TASKS)).coalesce(1)
            with described(self._spark, STAGE, self._title(job)):
                found = map_arrow(frame, player, spark_schema(_ANSWERS)).toArrow()
            return [_Answer(**row) for row in found.to_pylist()]
        except Exception as error:
            return [_Answer(task.run, describe_error(error), lost=True) for task in job]

    def _title(self, job: Sequence[Task]) -> str:
        """Such as `run 12 of 28: Thyme-DCS, everybody walks`."""
        first, total = self._numbers[job[0].run], len(self._numbers)
        if len(job) == 1:
            return f"run {first} of {total}: {job[0].title}"
        return f"runs {first} to {first + len(job) - 1} of {total}: {job[0].title} and others"


def _carried(job: Sequence[Task]) -> dict[str, bytes]:
    """What the tasks of a job share, once each."""
    first = {task.shares: task for task in reversed(job) if task.shares}
    return {name: task.carry() for name, task in first.items()}


class _Player:
    """Plays tasks in turn; whatever goes wrong is in the answer."""

    def __init__(self, play: Play, shared: dict[str, bytes], keep_there: KeepThere | None) -> None:
        self._play = play
        self._shared = shared
        self._keep_there = keep_there

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                data = row["data"]
                if row["shared"]:
                    data = msgspec.msgpack.encode((data, self._shared[row["shared"]]))
                yield pa.RecordBatch.from_pylist([self._answer(row["run"], data)], arrow_schema(_ANSWERS))

    def _answer(self, run: str, data: bytes) -> dict[str, object]:
        started_s = time.process_time()
        error, found, kept, seconds = "", b"", False, 0.0
        try:
            found = self._play(run, data)
            seconds = time.process_time() - started_s
            kept = self._keep_there is not None and self._keep_there(run, data, found, seconds)
        except Exception as wrong:
            error = describe_error(wrong)
            seconds = time.process_time() - started_s
        found = b"" if kept else found
        return {"run": run, "error": error, "seconds": seconds, "found": found, "kept": kept}
