"""Sums and spreads that come out the same however the rows are split.

Adding floats depends on their order, which Spark does not promise. Here they are added as decimals of nine places
(nanoseconds, nanojoules), and whatever is wide becomes long: ⟨run, metric, value⟩.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.schemas import METRICS, conform

_EXACT = "decimal(29,9)"


def exact_sum(value: Column) -> Column:
    return sf.sum(value.cast(_EXACT)).cast("double")


def exact_mean(value: Column) -> Column:
    return exact_sum(value) / sf.count(value)


def spread(value: Column, name: str) -> dict[str, Column]:
    """Mean, median, 95 % quantile and largest of a value, as aggregates named `<name>.mean` and so on."""
    return {
        f"{name}.mean": exact_mean(value),
        f"{name}.p50": sf.percentile(value, 0.5),
        f"{name}.p95": sf.percentile(value, 0.95),
        f"{name}.max": sf.max(value),
    }


def aggregate(frame: DataFrame, aggregates: Mapping[str, Column], *prefix: str) -> DataFrame:
    """Group by run (and by the `prefix` columns, whose values lead the metric's name) and make the result long."""
    entries = sf.array(*[_entry(f"_{index}", name) for index, name in enumerate(aggregates)])
    columns = [value.alias(f"_{index}") for index, value in enumerate(aggregates.values())]
    wide = frame.groupBy("run", *prefix).agg(*columns)
    long = wide.select("run", *prefix, sf.inline(entries))
    parts = [sf.regexp_replace(sf.col(name), " ", "_") for name in prefix]
    return as_metrics(long.withColumn("metric", sf.concat_ws(".", *parts, sf.col("metric"))))


def as_metrics(long: DataFrame) -> DataFrame:
    """In the schema METRICS, without what could not be computed."""
    return conform(long.where(sf.col("value").isNotNull()), METRICS)


def _entry(column: str, name: str) -> Column:
    return sf.struct(sf.lit(name).alias("metric"), sf.col(column).cast("double").alias("value"))
