"""Finished runs measured: their events, the truth that belongs to each, and the metrics per run and per point.

Runs without churn share the truth of the trace that they played; a run with churn has one of its own, which is that of
the operations that were issued in it (`thyme.pipeline.truth.issued`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.pipeline.manifest import read_manifest
from thyme.pipeline.metrics.by_run import RUN_COLUMNS, fits, measure_by_run, summarise
from thyme.pipeline.metrics.table import point_metrics, run_metrics
from thyme.pipeline.runs.run import EVENTS_FILE, read_events
from thyme.pipeline.schemas import METRICS, TRACE, arrow_schema, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.spark.keeping import job, keep
from thyme.pipeline.truth.issued import issued_trace
from thyme.pipeline.truth.oracle import expected_counts
from thyme.places import Place, file_sizes

LIGHT_METRICS = 2_000_000
"""Up to so many, they are put together in this process: those of some 20,000 runs."""
_POINTS = (("run", "string"), ("point", "int64"))


class PlayedRuns(msgspec.Struct, frozen=True):
    """The runs to measure, column by column, and where each trace is kept."""

    runs: tuple[str, ...]
    traces: tuple[str, ...]
    nodes: tuple[int, ...]
    churn: tuple[bool, ...]
    paths: Mapping[str, Place]

    def table(self) -> pa.Table:
        columns = [pa.array(column) for column in (self.runs, self.traces, self.nodes, self.churn)]
        return pa.table(columns, schema=arrow_schema(RUN_COLUMNS))


def write_run_metrics(spark: SparkSession, folder: Place, played: PlayedRuns, place: Place) -> None:
    """The metrics of each run as a dataset: run by run, unless one of them is too large for that."""
    sizes = file_sizes(folder)
    paths = {name: played.paths[name] for name in played.traces}
    largest = max(sizes.get(f"{run}/{EVENTS_FILE}", 0) for run in played.runs)
    if fits(largest, max(read_manifest(path).rows for path in paths.values())):
        dataset.write_table_once(measure_by_run(spark, folder, played.table(), paths), place)
        return
    with job():
        dataset.write_once(measure_runs(spark, folder, played), place, files=1)


def write_point_metrics(
    spark: Callable[[], SparkSession], metrics: Place, points: Sequence[tuple[str, int]], place: Place
) -> None:
    """What the runs of each point have in common, as a dataset; `points` pairs run and point."""
    if read_manifest(metrics).rows <= LIGHT_METRICS:
        dataset.write_table_once(summarise(dataset.read_table(metrics), points), place)
    else:
        dataset.write_once(summarise_points(spark(), metrics, points), place, files=1)


def measure_runs(spark: SparkSession, folder: Place, played: PlayedRuns) -> DataFrame:
    """The metrics of each run, in the schema METRICS."""
    runs = from_arrow(spark, played.table(), spark_schema(RUN_COLUMNS))
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
