"""SocialCast's evaluation on Spark: many short, compiled runs, some dozens of them to a job.

A compiled run takes less than a second, so a job of its own for each would mostly wait for Spark. A job's runs are
kept as soon as it ends, each in a file named by its identity (scenario, trace, and the code that decides such a
run), so an interrupted evaluation goes on where it stopped. Order and parallelism decide nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, DoubleType, StringType, StructField, StructType

from thyme.model.operations import Operation
from thyme.papers.socialcast.twin.run import SocialRun, contacts_for, contacts_key, play_compiled
from thyme.pipeline.runs.run import RunSpec, describe_error, run_identity
from thyme.pipeline.runs.short_runs import play_in_jobs
from thyme.pipeline.runs.sweep import TASK, TASK_ARROW, Outcome, SweepProgress
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.sim.scenario import Scenario
from thyme.world.contacts.table import Contacts

RUNS_PER_JOB = 76
"""So many points has the paper's evaluation, and points of one seed share their crowd's contacts."""
MAX_KEPT_CONTACTS = 4
TWIN = "thyme.papers.socialcast.twin.run"
"""The module that plays a run."""

_PLAYED = StructType(
    [
        StructField("run", StringType()),
        StructField("error", StringType()),
        StructField("seconds", DoubleType()),
        StructField("found", BinaryType()),
    ]
)
_PLAYED_ARROW = pa.schema(
    [("run", pa.string()), ("error", pa.string()), ("seconds", pa.float64()), ("found", pa.binary())]
)

_SCENARIO = msgspec.msgpack.Decoder(Scenario)
_OPERATIONS = msgspec.msgpack.Decoder(tuple[Operation, ...])


class KeptRun(msgspec.Struct, frozen=True):
    """A run as it is kept; `seconds` are of processor time."""

    seconds: float
    found: SocialRun


_KEPT = msgspec.msgpack.Decoder(KeptRun)


def sweep_social(
    spark: Callable[[], SparkSession],
    specs: Sequence[RunSpec],
    folder: Path,
    watch: Callable[[SweepProgress], None] = lambda progress: None,
) -> list[KeptRun | Outcome]:
    """Every run, in the order of the table, or what became of it if it failed; Spark starts only if needed."""
    names = [run_identity(spec, TWIN) for spec in specs]
    table = dict(zip(names, specs, strict=True))
    todo = [run for run in table if not (folder / f"{run}.msgpack").is_file()]
    folder.mkdir(parents=True, exist_ok=True)

    def play(runs: Sequence[str]) -> Iterator[tuple[str, dict[str, Any] | Outcome]]:
        for answer in _play_job(spark(), [(run, table[run]) for run in runs]):
            run, error = answer["run"], answer["error"]
            yield run, Outcome(run, "failed", answer["seconds"], error=error) if error else answer

    def keep(run: str, answer: dict[str, Any]) -> None:
        _keep(folder, answer)

    failed = play_in_jobs(todo, len(table), lambda: RUNS_PER_JOB, play, keep, watch)
    return [failed[run] if run in failed else _kept(folder, run) for run in names]


def _kept(folder: Path, run: str) -> KeptRun:
    return _KEPT.decode((folder / f"{run}.msgpack").read_bytes())


def _play_job(spark: SparkSession, runs: Sequence[tuple[str, RunSpec]]) -> list[dict[str, Any]]:
    rows = [
        {"run": run, "scenario": msgspec.msgpack.encode(spec.scenario), "trace": spec.trace.data} for run, spec in runs
    ]
    frame = from_arrow(spark, pa.Table.from_pylist(rows, schema=TASK_ARROW), TASK)
    cores = spark.sparkContext.defaultParallelism
    frame = frame.repartition(min(len(runs), cores)) if cores > 1 else frame.coalesce(1)
    try:
        answers: list[dict[str, Any]] = map_arrow(frame, _play_batches, _PLAYED).toArrow().to_pylist()
    except Exception as error:
        return [{"run": run, "error": describe_error(error), "seconds": 0.0, "found": b""} for run, _ in runs]
    return answers


def _play_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    contacts: dict[bytes, Contacts] = {}
    for batch in batches:
        for row in batch.to_pylist():
            yield pa.RecordBatch.from_pylist([_play(row, contacts)], schema=_PLAYED_ARROW)


def _play(row: dict[str, Any], contacts: dict[bytes, Contacts]) -> dict[str, Any]:
    started_s = time.process_time()
    try:
        scenario = _SCENARIO.decode(row["scenario"])
        key = contacts_key(scenario)
        if key not in contacts:
            if len(contacts) >= MAX_KEPT_CONTACTS:
                del contacts[next(iter(contacts))]
            contacts[key] = contacts_for(scenario)
        found = play_compiled(scenario, _OPERATIONS.decode(row["trace"]), contacts[key])
        answer = msgspec.msgpack.encode(found)
    except Exception as error:
        return {"run": row["run"], "error": describe_error(error), "seconds": 0.0, "found": b""}
    return {"run": row["run"], "error": "", "seconds": time.process_time() - started_s, "found": answer}


def _keep(folder: Path, answer: dict[str, Any]) -> None:
    found = msgspec.msgpack.decode(answer["found"], type=SocialRun)
    draft = folder / f".{answer['run']}.draft"
    draft.write_bytes(msgspec.msgpack.encode(KeptRun(round(answer["seconds"], 3), found)))
    draft.rename(folder / f"{answer['run']}.msgpack")
