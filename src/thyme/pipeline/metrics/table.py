"""From events to metrics: per run, and per point of a study over its runs.

Only this room computes metrics, from the events that a simulated or a live network wrote. A metric is a row ⟨run,
metric, value⟩; a point is what several runs have in common, and its metrics carry mean, deviation and a 95 % interval.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from scipy.stats import t as student

from thyme.pipeline.metrics.figures import run_figures
from thyme.pipeline.metrics.sums import count_pairs, sum_events
from thyme.pipeline.schemas import EVENTS, METRICS, SUMMARIES, conform
from thyme.pipeline.spark.arrow import map_groups

CONFIDENCE = 0.95
MAX_TABLED_RUNS = 200
"""From here on Student's quantile stays as it is; the error is below one per cent."""


def run_metrics(
    events: DataFrame, runs: DataFrame, trace: DataFrame | None = None, expected: DataFrame | None = None
) -> DataFrame:
    """Every metric of every run, in the schema METRICS.

    `runs` has the columns run and trace, and optionally nodes. With the traces (column `trace` as in `runs`) and
    their expected counts, recall is among the metrics.
    """
    events = conform(events, EVENTS)
    sums = sum_events(events).unionByName(count_pairs(events, runs, trace, expected))
    return map_groups(sums, ["run"], run_figures, METRICS)


def point_metrics(metrics: DataFrame, points: DataFrame, by: Sequence[str]) -> DataFrame:
    """⟨by…, metric, mean, deviation, low, high, runs⟩ over the runs of each point; `points` has run and `by`.

    With one run there is no deviation and no interval.
    """
    values = metrics.join(sf.broadcast(points.select("run", *by)), on="run", how="inner")
    grouped = values.groupBy(*by, "metric").agg(sf.array_sort(sf.collect_list("value")).alias("values"))
    runs = sf.size("values")
    mean = sf.aggregate("values", sf.lit(0.0), lambda total, value: total + value) / runs
    squares = sf.aggregate(
        "values", sf.lit(0.0), lambda total, value: total + (value - sf.col("mean")) * (value - sf.col("mean"))
    )
    deviation = sf.when(sf.col("runs") > 1, sf.sqrt(squares / (sf.col("runs") - 1)))
    quantiles = sf.array(*[sf.lit(student_quantile(number)) for number in range(2, MAX_TABLED_RUNS + 1)])
    place = sf.least(sf.greatest(sf.col("runs"), sf.lit(2)), sf.lit(MAX_TABLED_RUNS)) - 1
    half = sf.col("deviation") * sf.element_at(quantiles, place.cast("int")) / sf.sqrt("runs")
    summed = (
        grouped.select(*by, "metric", "values", runs.cast("long").alias("runs"), mean.alias("mean"))
        .withColumn("deviation", deviation)
        .withColumns({"low": sf.col("mean") - half, "high": sf.col("mean") + half})
    )
    return conform(summed, SUMMARIES, *by).orderBy(*by, "metric")


def student_quantile(runs: int) -> float:
    """By how many standard errors a mean over so many runs, two or more, may be off, with CONFIDENCE."""
    return float(student.ppf(0.5 + CONFIDENCE / 2.0, runs - 1))
