"""Notifications against the ground truth: recall, spurious ones, delay and hops (Thyme FGCS §9.2).

Recall is the number of distinct notified pairs that a perfect execution would notify, over the number of all such
pairs. A notified pair that is not among them is spurious. The delay counts from the instant from which a perfect
execution would have notified.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.oracle import judge_pairs
from thyme.pipeline.tallies import aggregate, exact_mean, spread


def delivery_metrics(events: DataFrame) -> DataFrame:
    """`notification.received`, `.latency_s.…`, `.hops.mean`, `.hops.max` and `.repeated`."""
    notified = events.where(sf.col("kind") == "notified")
    hops = sf.col("count").cast("double")
    distinct = sf.count_distinct("subscription", "object")
    figures = {
        "notification.received": distinct,
        "notification.repeated": sf.count("*") - distinct,
        **spread(sf.col("value"), "notification.latency_s"),
        "notification.hops.mean": exact_mean(hops),
        "notification.hops.max": sf.max(hops),
    }
    return aggregate(notified, figures)


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
