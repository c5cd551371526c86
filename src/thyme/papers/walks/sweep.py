"""The walks evaluation on Spark: one network, with all its initiator counts and draws, is one run.

A network's overlays depend on nothing but their numbers, the seed and the code, so neither the number of partitions nor
the machine changes a result. Some networks make a job, whose runs are kept when it ends, each in a file named by what
decides it; an interrupted evaluation goes on where it stopped. A run that fails is tried once more, alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import types as t

from thyme.papers.walks.batch import DEFAULT_BATCH, PAPER_INITIATORS, BatchOptions, Columns, run_network
from thyme.pipeline.identity import code_identity, identity_of
from thyme.pipeline.runs.run import describe_error
from thyme.pipeline.runs.short_runs import play_in_jobs
from thyme.pipeline.runs.sweep import Outcome, SweepProgress
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.pipeline.spark.lazy_session import LazySession

NETWORKS_PER_CORE = 5
"""Of one job; a network of 3,000 nodes takes some seconds."""
BATCH = "thyme.papers.walks.batch"
"""The module that plays a run."""
_TASKS = t.StructType([t.StructField("nodes", t.LongType()), t.StructField("network", t.LongType())])
_INTEGERS = ("nodes", "network", "initiators", "draw", "active_nodes", "visited_nodes", "hops")
_COLUMNS = {**dict.fromkeys(_INTEGERS, pa.int64()), "pure": pa.bool_(), "depth": pa.float64()}
_ANSWERS = t.StructType(
    [
        *(t.StructField(name, t.LongType()) for name in _INTEGERS),
        t.StructField("pure", t.BooleanType()),
        t.StructField("depth", t.DoubleType()),
        t.StructField("error", t.StringType()),
    ]
)
_ARROW_ANSWERS = pa.schema([*_COLUMNS.items(), ("error", pa.string())])
_ORDER = [(name, "ascending") for name in ("nodes", "network", "pure", "initiators", "draw")]


class Network(msgspec.Struct, frozen=True):
    """A run."""

    nodes: int
    number: int
    name: str
    """Its identity."""


class WalkSweep(msgspec.Struct, frozen=True):
    columns: Columns
    """In the order of sizes and networks, of those that did not fail."""
    failed: tuple[tuple[Network, Outcome], ...]
    runs: int


def sweep_walks(
    networks: int,
    draws: int,
    folder: Path,
    counts: Mapping[int, Sequence[int]] = PAPER_INITIATORS,
    batch: BatchOptions = DEFAULT_BATCH,
    master: str = "local[*]",
    watch: Callable[[SweepProgress], None] = lambda progress: None,
) -> WalkSweep:
    """Both kinds of walks on every network of every size in `counts`, which says which numbers of initiators each size
    gets; runs are kept in `folder`, and those that are there are not played again."""
    play = _Play({nodes: tuple(wanted) for nodes, wanted in counts.items()}, draws, batch)
    runs = [Network(nodes, number, play.identity(nodes, number)) for nodes in counts for number in range(networks)]
    todo = [run for run in runs if not _file(folder, run).is_file()]
    folder.mkdir(parents=True, exist_ok=True)
    session = LazySession("thyme walks", master, brief=True)
    try:
        failed = play_in_jobs(
            todo,
            len(runs),
            lambda: NETWORKS_PER_CORE * session.spark.sparkContext.defaultParallelism,
            lambda some: _play_job(session.spark, some, play),
            lambda run, table: _keep(folder, run, table),
            watch,
        )
    finally:
        session.close()
    tables = [pq.read_table(_file(folder, run)) for run in runs if run not in failed]
    found = pa.concat_tables(tables) if tables else pa.schema(list(_COLUMNS.items())).empty_table()
    columns = {name: np.asarray(found[name].to_numpy()) for name in found.column_names}
    return WalkSweep(columns, tuple(failed.items()), len(runs))


class _Play:
    """Plays networks where Spark wants them played."""

    def __init__(self, initiators: dict[int, tuple[int, ...]], draws: int, batch: BatchOptions) -> None:
        self._initiators = initiators
        self._draws = draws
        self._kinds = [
            msgspec.structs.replace(batch, walk=msgspec.structs.replace(batch.walk, pure=pure))
            for pure in (False, True)
        ]

    def identity(self, nodes: int, network: int) -> str:
        decided = (nodes, network, self._initiators[nodes], self._draws, self._kinds)
        return identity_of(*decided, code_identity(BATCH))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for some in batches:
            for task in some.to_pylist():
                nodes, network = task["nodes"], task["network"]
                try:
                    parts = [
                        run_network(nodes, network, self._initiators[nodes], self._draws, kind) for kind in self._kinds
                    ]
                except Exception as error:
                    yield pa.RecordBatch.from_pylist([{**task, "error": describe_error(error)}], _ARROW_ANSWERS)
                    continue
                yield from map(_as_rows, parts)


def _play_job(
    spark: SparkSession, runs: Sequence[Network], play: _Play
) -> Iterator[tuple[Network, pa.Table | Outcome]]:
    """What each run gave, or its error; if a process was lost, that is the error of all."""
    table = pa.table({"nodes": [run.nodes for run in runs], "network": [run.number for run in runs]})
    frame = from_arrow(spark, table, _TASKS).repartition(min(len(runs), 4 * spark.sparkContext.defaultParallelism))
    try:
        found = map_arrow(frame, play, _ANSWERS).toArrow()
    except Exception as error:
        yield from ((run, Outcome(run.name, "failed", error=describe_error(error))) for run in runs)
        return
    for run in runs:
        own = found.filter((pc.field("nodes") == run.nodes) & (pc.field("network") == run.number)).sort_by(_ORDER)
        wrong = own["error"][0].as_py()
        yield run, Outcome(run.name, "failed", error=wrong) if wrong else own.drop_columns(["error"])


def _file(folder: Path, run: Network) -> Path:
    return folder / f"{run.name}.parquet"


def _keep(folder: Path, run: Network, table: pa.Table) -> None:
    draft = folder / f".{run.name}.draft"
    pq.write_table(table, draft, compression="zstd")
    draft.rename(_file(folder, run))


def _as_rows(columns: Columns) -> pa.RecordBatch:
    rows = len(columns["nodes"])
    arrays = [pa.array(columns[name]).cast(kind) for name, kind in _COLUMNS.items()]
    return pa.RecordBatch.from_arrays([*arrays, pa.nulls(rows, pa.string())], schema=_ARROW_ANSWERS)
