"""Notifications against the ground truth: recall, spurious ones, delay and hops (Thyme FGCS §9.2).

Recall is the number of distinct notified pairs that a perfect execution would notify, over the number of all such
pairs. A notified pair that is not among them is spurious. The delay counts from the instant from which a perfect
execution would have notified.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.metrics.tallies import aggregate, exact_mean, spread
from thyme.pipeline.truth.oracle import judge_pairs


def delivery_totals() -> dict[str, Column]:
    """Aggregates of a run: `notification.latency_s.…`, `.hops.mean` and `.hops.max`."""
    notified = sf.col("kind") == "notified"
    hops = sf.when(notified, sf.col("count").cast("double"))
    return {
        **spread(sf.when(notified, sf.col("value")), "notification.latency_s"),
        "notification.hops.mean": exact_mean(hops),
        "notification.hops.max": sf.max(hops),
    }


def received_metrics(events: DataFrame, runs: DataFrame) -> DataFrame:
    """`notification.received`, the distinct pairs of subscription and object, and `.repeated`, those told again."""
    notified = events.where(sf.col("kind") == "notified")
    pairs = notified.groupBy("run", "subscription", "object").agg(sf.count("*").alias("times"))
    counts = pairs.groupBy("run").agg(sf.count("*").alias("received"), sf.sum("times").alias("told"))
    found = runs.select("run").join(counts, on="run", how="left").na.fill(0, ["received", "told"])
    figures = {
        "notification.received": sf.first("received"),
        "notification.repeated": sf.first("told") - sf.first("received"),
    }
    return aggregate(found, figures)


def recall_metrics(events: DataFrame, runs: DataFrame, trace: DataFrame, expected: DataFrame) -> DataFrame:
    """`recall`, `notification.expected`, `.correct` and `.spurious` of each run; `runs` tells ⟨run, trace⟩."""
    played = runs.select("run", "trace")
    notified = events.where(sf.col("kind") == "notified").select("run", "subscription", "object").distinct()
    judged = judge_pairs(notified.join(sf.broadcast(played), on="run", how="inner"), trace)
    totals = expected.groupBy("trace").agg(sf.sum("expected").alias("wanted"))
    wanted = played.join(totals, on="trace", how="left").select("run", sf.coalesce("wanted", sf.lit(0)).alias("wanted"))
    right = sf.when(sf.col("expected"), 1).otherwise(0)
    found = judged.groupBy("run").agg(sf.sum(right).alias("correct"), sf.count("*").alias("received"))
    joined = wanted.join(found, on="run", how="left").na.fill(0, ["correct", "received"])
    wanted_ones, correct = sf.first("wanted"), sf.first("correct")
    figures = {
        "recall": sf.when(wanted_ones > 0, correct / wanted_ones),
        "notification.expected": wanted_ones,
        "notification.correct": correct,
        "notification.spurious": sf.first("received") - correct,
    }
    return aggregate(joined, figures)
