"""From events to metrics: per run, and per point of a study over its runs.

Only this room computes metrics, from the events that a simulated or a live network wrote. A metric is a row ⟨run,
metric, value⟩; a point is what several runs have in common, and its metrics carry mean, deviation and an interval
(`intervals`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.metrics.figures import run_figures
from thyme.pipeline.metrics.intervals import MAX_TABLED_RUNS, rank_of
from thyme.pipeline.metrics.sums import count_pairs, sum_events
from thyme.pipeline.schemas import EVENTS, METRICS, SUMMARIES, conform
from thyme.pipeline.spark.arrow import map_groups


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
    ranks = sf.array(*[sf.lit(rank_of(number)) for number in range(1, MAX_TABLED_RUNS + 1)])
    tabled = sf.element_at(ranks, sf.least(sf.col("runs"), sf.lit(MAX_TABLED_RUNS)).cast("int"))
    rank = sf.greatest(sf.lit(1), sf.floor(tabled * sf.greatest(sf.lit(1.0), sf.col("runs") / MAX_TABLED_RUNS)))
    ends = {"low": rank, "high": -rank}
    several = sf.col("runs") > 1
    summed = (
        grouped.select(*by, "metric", "values", runs.cast("long").alias("runs"), mean.alias("mean"))
        .withColumn("deviation", deviation)
        .withColumns({name: sf.when(several, sf.element_at("values", at.cast("int"))) for name, at in ends.items()})
    )
    return conform(summed, SUMMARIES, *by).orderBy(*by, "metric")
