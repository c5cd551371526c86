"""The walks evaluation on Spark: one network, with all its initiator counts and draws, is one run.

A network's overlays depend on nothing but their numbers, the seed and the code, so neither the number of partitions nor
the machine changes a result.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.papers.walks.batch import DEFAULT_BATCH, PAPER_INITIATORS, BatchOptions, Columns, run_network
from thyme.pipeline.identity import code_identity, identity_of
from thyme.pipeline.runs.kept_files import KeptFiles, ShortTask
from thyme.pipeline.runs.sweep import OnProgress, RunOutcome, ignore_progress, sweep
from thyme.pipeline.schemas import arrow_schema
from thyme.pipeline.spark.lazy_session import LazySession

NETWORKS_PER_JOB = 5
"""A network of 3,000 nodes takes some seconds."""
BATCH = run_network.__module__
"""What decides a run."""
_INTEGERS = ("nodes", "network", "initiators", "draw", "active_nodes", "visited_nodes", "hops")
_SCHEMA = arrow_schema((*((name, "int64") for name in _INTEGERS), ("pure", "bool"), ("depth", "float64")))
_ORDER = [(name, "ascending") for name in ("nodes", "network", "pure", "initiators", "draw")]


class NetworkRun(msgspec.Struct, frozen=True):
    """A run."""

    nodes: int
    number: int
    name: str
    """Its identity."""


class NetworkTask(msgspec.Struct, frozen=True):
    """Input of a run; `kinds` are the directional and the pure walks."""

    nodes: int
    number: int
    initiators: tuple[int, ...]
    draws: int
    kinds: tuple[BatchOptions, ...]


class WalkSweep(msgspec.Struct, frozen=True):
    columns: Columns
    """Results of successful runs, ordered by size and network."""
    failed: tuple[tuple[NetworkRun, RunOutcome], ...]
    runs: int


def sweep_walks(
    networks: int,
    draws: int,
    folder: Path,
    counts: Mapping[int, Sequence[int]] = PAPER_INITIATORS,
    batch: BatchOptions = DEFAULT_BATCH,
    master: str = "",
    watch: OnProgress = ignore_progress,
) -> WalkSweep:
    """Both kinds of walks on every network of every size in `counts`, which lists the numbers of initiators of each
    size. Runs are stored in `folder`; those that exist are not repeated."""
    kinds = tuple(
        msgspec.structs.replace(batch, walk=msgspec.structs.replace(batch.walk, pure=pure)) for pure in (False, True)
    )
    tasks = [
        NetworkTask(nodes, number, tuple(counts[nodes]), draws, kinds) for nodes in counts for number in range(networks)
    ]
    runs = [NetworkRun(task.nodes, task.number, identity_of(task, code_identity(BATCH))) for task in tasks]
    packed = [
        ShortTask(run.name, msgspec.msgpack.encode(task), task.nodes) for run, task in zip(runs, tasks, strict=True)
    ]
    files = KeptFiles(folder)
    session = LazySession("thyme walks", master, brief=True)
    try:
        outcomes = sweep(session.need, packed, play_network, files, NETWORKS_PER_JOB, watch)
    finally:
        session.close()
    ended = list(zip(runs, outcomes, strict=True))
    tables = [pq.read_table(io.BytesIO(files.found(run.name))) for run, outcome in ended if outcome.ok]
    found = pa.concat_tables(tables) if tables else _SCHEMA.empty_table()
    columns = {name: np.asarray(found[name].to_numpy()) for name in found.column_names}
    return WalkSweep(columns, tuple((run, outcome) for run, outcome in ended if not outcome.ok), len(runs))


def play_network(run: str, data: bytes) -> bytes:
    """One network, played in a Spark worker."""
    task = msgspec.msgpack.decode(data, type=NetworkTask)
    parts = [run_network(task.nodes, task.number, task.initiators, task.draws, kind) for kind in task.kinds]
    sink = io.BytesIO()
    pq.write_table(pa.concat_tables(map(_as_rows, parts)).sort_by(_ORDER), sink, compression="zstd")
    return sink.getvalue()


def _as_rows(columns: Columns) -> pa.Table:
    return pa.table([pa.array(columns[field.name]).cast(field.type) for field in _SCHEMA], schema=_SCHEMA)
