"""Finished runs measured: their events, the truth that belongs to each, and the metrics per run and per point.

Runs without churn share the truth of the trace that they played; a run with churn has one of its own, which is that of
the operations that were issued in it (`thyme.pipeline.truth.issued`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.pipeline.metrics.table import point_metrics, run_metrics
from thyme.pipeline.runs.run import read_events
from thyme.pipeline.schemas import METRICS, TRACE, arrow_schema, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.spark.keeping import keep
from thyme.pipeline.truth.issued import issued_trace
from thyme.pipeline.truth.oracle import expected_counts
from thyme.places import Place

_RUNS = (("run", "string"), ("trace", "string"), ("nodes", "int64"), ("churn", "bool"))
_POINTS = (("run", "string"), ("point", "int64"))


class PlayedRuns(msgspec.Struct, frozen=True):
    """The runs to measure, column by column, and where each trace is kept."""

    runs: tuple[str, ...]
    traces: tuple[str, ...]
    nodes: tuple[int, ...]
    churn: tuple[bool, ...]
    paths: Mapping[str, Place]


def measure_runs(spark: SparkSession, folder: Place, played: PlayedRuns) -> DataFrame:
    """The metrics of each run, in the schema METRICS."""
    columns = [pa.array(column) for column in (played.runs, played.traces, played.nodes, played.churn)]
    runs = from_arrow(spark, pa.table(columns, schema=arrow_schema(_RUNS)), spark_schema(_RUNS))
    events = keep(read_events(spark, folder, played.runs))
    trace = _traces(spark, {name: played.paths[name] for name in played.traces})
    shared = trace.join(_names(runs.where(~sf.col("churn"))), on="trace", how="left_semi")
    own = issued_trace(trace, runs.where("churn"), events) if any(played.churn) else None
    truth = keep(shared if own is None else shared.unionByName(own))
    named = runs.withColumn("trace", sf.when(sf.col("churn"), sf.col("run")).otherwise(sf.col("trace")))
    return run_metrics(events, named.drop("churn"), truth, expected_counts(truth))


def summarise_points(spark: SparkSession, metrics: Place, points: Sequence[tuple[str, int]]) -> DataFrame:
    """Mean, deviation and interval of each metric over the runs of each point; `points` pairs run and point."""
    columns = [pa.array([run for run, _ in points]), pa.array([point for _, point in points], pa.int64())]
    frame = from_arrow(spark, pa.table(columns, schema=arrow_schema(_POINTS)), spark_schema(_POINTS))
    return point_metrics(dataset.read(spark, metrics, METRICS), frame, ["point"])


def _traces(spark: SparkSession, paths: Mapping[str, Place]) -> DataFrame:
    named = [dataset.read(spark, path, TRACE).withColumn("trace", sf.lit(name)) for name, path in paths.items()]
    return reduce(DataFrame.unionByName, named)


def _names(runs: DataFrame) -> DataFrame:
    return runs.select("trace").distinct()
