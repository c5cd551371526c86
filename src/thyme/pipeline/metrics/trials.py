"""A trial of live nodes measured as a simulated run is: by its events, against the truth of what was issued in it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import functions as sf

from thyme.pipeline.metrics.table import run_metrics
from thyme.pipeline.schemas import EVENTS, TRACE, conform
from thyme.pipeline.spark.keeping import keep
from thyme.pipeline.spark.session import brief_work, spark_session
from thyme.pipeline.truth.issued import issued_trace
from thyme.pipeline.truth.oracle import expected_counts

_TRIAL = "trial"


def measure_trial(events: Path, trace: Path, nodes: int, master: str = "") -> dict[str, float]:
    """The metrics of a trial by name, from the Parquet files of its events and of the operations that were planned."""
    spark = spark_session("thyme crowd", master, **brief_work())
    happened = keep(conform(spark.read.parquet(str(events)).withColumn("run", sf.lit(_TRIAL)), EVENTS))
    runs = spark.createDataFrame([(_TRIAL, _TRIAL, nodes)], "run string, trace string, nodes long")
    planned = conform(spark.read.parquet(str(trace)), TRACE).withColumn("trace", sf.lit(_TRIAL))
    truth = keep(issued_trace(planned, runs, happened))
    measured = run_metrics(happened, runs, truth, expected_counts(truth))
    return {row.metric: row.value for row in measured.collect()}
