"""What was asked for in a run with churn, which is less than its trace: users of devices that are off ask for nothing.

The truth of such a run is that of the operations that its log shows as issued, so it is a trace of its own, named by
the run. A node that left for good, and lost what it stored, wants nothing from then on: its subscriptions end there.
One that was merely switched off keeps them, and a perfect execution would notify it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.schemas import TRACE, conform
from thyme.pipeline.truth.lives import named_trace

CRASHED = "crashed"


def issued_trace(trace: DataFrame, runs: DataFrame, events: DataFrame) -> DataFrame:
    """The operations that were issued in each run; `runs` tells which trace (column `trace`) each run played."""
    played = named_trace(trace).join(sf.broadcast(runs.select("run", "trace")), on="trace", how="inner")
    issued = events.where(sf.col("kind") == "issued").select("run", "operation")
    asked = played.join(issued, on=["run", "operation"], how="left_semi").drop("trace")
    asked = conform(asked.withColumnRenamed("run", "trace"), TRACE, "trace")
    return asked.unionByName(_ended_by_crashes(asked, events))


def _ended_by_crashes(asked: DataFrame, events: DataFrame) -> DataFrame:
    """An unsubscribe, in the instant of its node's crash, of each subscription that stood until then."""
    crashed = events.where((sf.col("kind") == "left") & (sf.col("reason") == CRASHED))
    crashed = crashed.groupBy(sf.col("run").alias("trace"), "node").agg(sf.max("at_s").alias("crashed_s"))
    revoked = asked.where(sf.col("kind") == "unsubscribe").select("trace", "node", "sid")
    standing = (
        asked.where(sf.col("kind") == "subscribe")
        .join(revoked, on=["trace", "node", "sid"], how="left_anti")
        .join(crashed, on=["trace", "node"], how="inner")
        .where(sf.col("at_s") <= sf.col("crashed_s"))
    )
    # Numbers order a trace: the end takes the number after the last operation before the crash.
    times = asked.select("trace", sf.col("operation").alias("number"), sf.col("at_s").alias("number_s"))
    before = standing.select("trace", "crashed_s").distinct().join(times, on="trace", how="inner")
    numbers = (
        before.where(sf.col("number_s") <= sf.col("crashed_s"))
        .groupBy("trace", "crashed_s")
        .agg((sf.max("number") + 1).alias("number"))
    )
    ended = standing.join(numbers, on=["trace", "crashed_s"], how="inner").select(
        "trace",
        sf.col("number").alias("operation"),
        sf.col("crashed_s").alias("at_s"),
        "node",
        sf.lit("unsubscribe").alias("kind"),
        *(sf.col(name) for name in ("oid", "tags", "text", "size_bytes", "summary_bytes", "sid")),
        sf.lit("").alias("query"),
        sf.lit(None).cast("double").alias("start_s"),
        sf.lit(None).cast("double").alias("end_s"),
    )
    return conform(ended, TRACE, "trace")
