"""A trace as the ground truth sees it: objects and subscriptions with their whole lives.

Times order a trace, and operation numbers order what happens at one instant. A dataset may hold several traces,
told apart by the column `trace`; without that column it is one trace with an empty name.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.schemas import TRACE, conform
from thyme.pipeline.spark.driver import estimated_bytes

MAX_LIGHT_BYTES = 256 * 1024 * 1024
"""Up to so large a trace, by Spark's estimate from its files."""


def named_trace(trace: DataFrame) -> DataFrame:
    """The trace with its name as first column."""
    name = sf.col("trace") if "trace" in trace.columns else sf.lit("")
    return conform(trace, TRACE, name.cast("string").alias("trace"))


def objects_of(trace: DataFrame) -> DataFrame:
    """⟨trace, object, tags, inserted, published_s, deleted⟩; `inserted` and `deleted` are operation numbers."""
    inserts = trace.where(sf.col("kind") == "insert").select(
        "trace",
        _key("oid").alias("object"),
        "tags",
        sf.col("operation").alias("inserted"),
        sf.col("at_s").alias("published_s"),
    )
    deletes = trace.where(sf.col("kind") == "delete").select(
        "trace", _key("oid").alias("object"), sf.col("operation").alias("deleted"), sf.col("at_s").alias("deleted_s")
    )
    return inserts.join(light(deletes), on=["trace", "object"], how="left")


def subscriptions_of(trace: DataFrame) -> DataFrame:
    """⟨trace, subscription, query, issued, issued_s, start_s, end_s, cancelled, cancelled_s⟩."""
    subscribes = trace.where(sf.col("kind") == "subscribe").select(
        "trace",
        _key("sid").alias("subscription"),
        "query",
        sf.col("operation").alias("issued"),
        sf.col("at_s").alias("issued_s"),
        "start_s",
        "end_s",
    )
    cancels = trace.where(sf.col("kind") == "unsubscribe").select(
        "trace",
        _key("sid").alias("subscription"),
        sf.col("operation").alias("cancelled"),
        sf.col("at_s").alias("cancelled_s"),
    )
    return subscribes.join(light(cancels), on=["trace", "subscription"], how="left")


def light(rare: DataFrame) -> DataFrame:
    """Deletes and unsubscribes are rare: sent to where the others are, unless the trace is very large. Nothing is
    counted for it: Spark knows how large its inputs are."""
    return sf.broadcast(rare) if estimated_bytes(rare) <= MAX_LIGHT_BYTES else rare


def in_time() -> Column:
    """Whether a perfect, instant execution would tell the subscription of the object, if its tags match.

    The frame has to hold the publication. An object inserted before the subscription must not have been deleted
    by then; for one inserted after it, the subscription must still stand.
    """
    published_s, inserted, issued = sf.col("published_s"), sf.col("inserted"), sf.col("issued")
    framed = (sf.col("start_s").isNull() | (sf.col("start_s") <= published_s)) & (
        sf.col("end_s").isNull() | (published_s < sf.col("end_s"))
    )
    still_there = sf.col("deleted").isNull() | (sf.col("deleted") > issued)
    still_standing = sf.col("cancelled").isNull() | (sf.col("cancelled") > inserted)
    return framed & sf.when(inserted < issued, still_there).otherwise(still_standing)


def _key(name: str) -> Column:
    """An object's or a subscription's key, spelled as in the log."""
    return sf.concat_ws("@", sf.col(name).cast("string"), sf.col("node").cast("string"))
