"""The walks evaluation on Spark: one network, with all its initiator counts and draws, is one task.

A network's overlays depend on nothing but their numbers and the seed, so neither the number of partitions nor the
machine changes a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from thyme.approaches.walks.batch import DEFAULT_BATCH, PAPER_INITIATORS, BatchOptions, Columns, run_network
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
    counts: Mapping[int, Sequence[int]] = PAPER_INITIATORS,
    batch: BatchOptions = DEFAULT_BATCH,
    master: str = "local[*]",
) -> Columns:
    """Both kinds of walks on every network of every size in `counts`, as columns in the order of the tasks.

    `counts` says which numbers of initiators each size gets.
    """
    spark = spark_session("walks", master)
    tasks = [(nodes, network) for nodes in counts for network in range(networks)]
    table = pa.table({"nodes": [n for n, _ in tasks], "network": [i for _, i in tasks]})
    frame = from_arrow(spark, table, _TASKS).repartition(min(len(tasks), 4 * spark.sparkContext.defaultParallelism))
    initiators = {nodes: tuple(wanted) for nodes, wanted in counts.items()}
    kinds = [msgspec.structs.replace(batch, walk=msgspec.structs.replace(batch.walk, pure=p)) for p in (False, True)]

    def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for some in batches:
            for task in some.to_pylist():
                for kind in kinds:
                    nodes = task["nodes"]
                    yield _as_rows(run_network(nodes, task["network"], initiators[nodes], draws, kind))

    found = map_arrow(frame, play, RESULTS).orderBy("nodes", "network", "pure", "initiators", "draw").toArrow()
    return {name: np.asarray(found[name].to_numpy()) for name in found.column_names}


def _as_rows(columns: Columns) -> pa.RecordBatch:
    kinds = {"pure": pa.bool_(), "depth": pa.float64()}
    arrays = [pa.array(columns[field.name]).cast(kinds.get(field.name, pa.int64())) for field in RESULTS]
    return pa.RecordBatch.from_arrays(arrays, names=RESULTS.names)
