"""The truth of a study's traces, the metrics of its runs and those of its points, written as datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.pipeline.metrics.runs import RUN_COLUMNS, point_metrics, run_metrics
from thyme.pipeline.runs.run import read_events
from thyme.pipeline.schemas import EXPECTED, METRICS, TRACE, Columns, arrow_schema, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.spark.driver import described
from thyme.pipeline.truth.expected import expected_notifications
from thyme.places import Place

_POINTS: Columns = (("run", "string"), ("point", "int64"))


class PlayedRuns(msgspec.Struct, frozen=True):
    """The runs to measure, column by column, and where each trace is kept."""

    runs: tuple[str, ...]
    traces: tuple[str, ...]
    nodes: tuple[int, ...]
    churn: tuple[bool, ...]
    paths: Mapping[str, Place]

    def frame(self, spark: SparkSession) -> DataFrame:
        columns = [pa.array(column) for column in (self.runs, self.traces, self.nodes, self.churn)]
        return from_arrow(spark, pa.table(columns, schema=arrow_schema(RUN_COLUMNS)), spark_schema(RUN_COLUMNS))


def read_traces(spark: SparkSession, paths: Mapping[str, Place]) -> DataFrame:
    """Traces that are known to be whole in one frame, with the column `trace` for their names."""
    named = [dataset.frame_of(spark, path, TRACE).withColumn("trace", sf.lit(name)) for name, path in paths.items()]
    return reduce(DataFrame.unionByName, named)


def write_expected(spark: SparkSession, traces: Mapping[str, Place], place: Place) -> Place:
    """The expected notifications of each trace."""
    with described(spark, "truth", f"expected notifications of {len(traces)} traces"):
        return _write_sorted(expected_notifications(read_traces(spark, traces)), place, "trace", "subscription")


def write_run_metrics(spark: SparkSession, folder: Place, played: PlayedRuns, expected: Place, place: Place) -> Place:
    """The metrics of each run, given the expected notifications of the traces."""
    events = read_events(spark, folder, played.runs)
    traces = read_traces(spark, {name: played.paths[name] for name in played.traces})
    metrics = run_metrics(events, played.frame(spark), traces, dataset.frame_of(spark, expected, EXPECTED))
    with described(spark, "metrics", f"metrics of {len(played.runs)} runs"):
        return _write_sorted(metrics, place, "run", "metric")


def write_point_metrics(spark: SparkSession, metrics: Place, points: Sequence[tuple[str, int]], place: Place) -> Place:
    """Mean, deviation and interval of each metric over the runs of each point; `points` pairs run and point."""
    columns = [pa.array([run for run, _ in points]), pa.array([point for _, point in points], pa.int64())]
    frame = from_arrow(spark, pa.table(columns, schema=arrow_schema(_POINTS)), spark_schema(_POINTS))
    found = point_metrics(dataset.frame_of(spark, metrics, METRICS), frame, ["point"])
    with described(spark, "points", f"metrics of {len({point for _, point in points})} points"):
        return _write_sorted(found, place, "point", "metric")


def _write_sorted(frame: DataFrame, place: Place, *order: str) -> Place:
    """One file, in order: these datasets are small, whatever they are made from."""
    return dataset.write_once(frame.repartition(1).sortWithinPartitions(*order), place)
