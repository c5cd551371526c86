"""The walks evaluation on Spark: one network, with all its initiator counts and draws, is one task.

A network's overlays depend on nothing but their numbers and the seed, so neither the number of partitions nor the
machine changes a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from thyme.approaches.walks.batch import PAPER_INITIATORS, BatchOptions, Columns, run_network
from thyme.approaches.walks.readings import WalkOptions, parse_reading
from thyme.pipeline.arrow import from_arrow, map_arrow
from thyme.pipeline.session import spark_session

_TASKS = t.StructType([t.StructField("nodes", t.LongType()), t.StructField("network", t.LongType())])
_INTEGERS = ("nodes", "network", "initiators", "draw", "active_nodes", "visited_nodes", "hops")
RESULTS = t.StructType(
    [
        *(t.StructField(name, t.LongType()) for name in _INTEGERS),
        t.StructField("pure", t.BooleanType()),
        t.StructField("depth", t.DoubleType()),
    ]
)


def sweep_walks(
    networks: int,
    draws: int,
    sizes: Sequence[int] = tuple(PAPER_INITIATORS),
    seed: int = 1,
    master: str = "local[*]",
    reading: str = "default",
) -> Columns:
    """Both kinds of walks on every network of every size, as columns in the order of the tasks."""
    parse_reading(reading)
    spark = spark_session("walks", master)
    tasks = [(nodes, network) for nodes in sizes for network in range(networks)]
    table = pa.table({"nodes": [n for n, _ in tasks], "network": [i for _, i in tasks]})
    frame = from_arrow(spark, table, _TASKS).repartition(min(len(tasks), 4 * spark.sparkContext.defaultParallelism))

    def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.to_pylist():
                for pure in (False, True):
                    yield _play(task["nodes"], task["network"], draws, seed, pure, reading)

    found = map_arrow(frame, play, RESULTS).orderBy("nodes", "network", "pure", "initiators", "draw").toArrow()
    return {name: np.asarray(found[name].to_numpy()) for name in found.column_names}


def _play(nodes: int, network: int, draws: int, seed: int, pure: bool, reading: str) -> pa.RecordBatch:
    options = BatchOptions(seed=seed, walk=WalkOptions(pure=pure), reading=parse_reading(reading))
    columns = run_network(nodes, network, PAPER_INITIATORS[nodes], draws, options)
    kinds = {"pure": pa.bool_(), "depth": pa.float64()}
    arrays = [pa.array(columns[field.name]).cast(kinds.get(field.name, pa.int64())) for field in RESULTS]
    return pa.RecordBatch.from_arrays(arrays, names=RESULTS.names)
