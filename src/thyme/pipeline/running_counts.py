"""How many objects a one-tag subscription is to be told of, without listing them.

Each tag has a line of events in time order: objects inserted, objects deleted, and probes, which are the instants
where a subscription starts or stops to see objects. Running counts at the probes, and differences between them,
give the number of matches, so a hot tag costs no more than its events. This works where the part of the frame
that lies before the subscription is everything or nothing; other frames (`countable` is false) need the list.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

_FOREVER_S = float("inf")
_BEFORE_ALL = -1
"""As an operation number: before every operation of the same instant."""


def countable() -> Column:
    """Whether a subscription's frame starts at ⊥ or not before it was issued, and does not end before that."""
    start_s, end_s, issued_s = sf.col("start_s"), sf.col("end_s"), sf.col("issued_s")
    return (start_s.isNull() | (start_s >= issued_s)) & (end_s.isNull() | (end_s > issued_s))


def count_matches(objects: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """⟨trace, subscription, expected⟩ of countable subscriptions, each to the tag in its column `tag`."""
    asked = subscriptions.select("trace", "tag").distinct()
    tagged = objects.select("*", sf.explode("tags").alias("tag")).join(asked, on=["trace", "tag"], how="left_semi")
    events = _insertions(tagged).unionByName(_deletions(tagged)).unionByName(_probes(subscriptions))
    order = Window.partitionBy("trace", "tag").orderBy("at_s", "operation")
    line = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = events.select(
        "trace",
        "subscription",
        "probe",
        sf.sum("insertion").over(line).alias("inserted"),
        sf.sum("deletion").over(line).alias("deleted"),
        sf.sum("fleeting").over(line).alias("fleeting"),
    ).where(sf.col("probe").isNotNull())
    return _differences(counted, subscriptions)


def _event(at_s: Column, operation: Column, insertion: int, deletion: int, fleeting: Column) -> list[Column]:
    return [
        at_s.alias("at_s"),
        operation.cast("long").alias("operation"),
        sf.lit(insertion).cast("long").alias("insertion"),
        sf.lit(deletion).cast("long").alias("deletion"),
        fleeting.cast("long").alias("fleeting"),
    ]


def _no_probe() -> list[Column]:
    return [sf.lit(None).cast("string").alias("subscription"), sf.lit(None).cast("string").alias("probe")]


def _insertions(tagged: DataFrame) -> DataFrame:
    event = _event(sf.col("published_s"), sf.col("inserted"), 1, 0, sf.lit(0))
    return tagged.select("trace", "tag", *event, *_no_probe())


def _deletions(tagged: DataFrame) -> DataFrame:
    """Deletions; `fleeting` marks those in the very instant of the insertion, which a frame that starts in that
    instant has to subtract, too."""
    gone = tagged.where(sf.col("deleted").isNotNull())
    fleeting = sf.col("deleted_s") == sf.col("published_s")
    return gone.select("trace", "tag", *_event(sf.col("deleted_s"), sf.col("deleted"), 0, 1, fleeting), *_no_probe())


def _probes(subscriptions: DataFrame) -> DataFrame:
    def at(name: str, at_s: Column, operation: Column) -> Column:
        return sf.struct(sf.lit(name).alias("probe"), at_s.alias("at_s"), operation.cast("long").alias("operation"))

    cancelled = sf.struct(
        sf.coalesce("cancelled_s", sf.lit(_FOREVER_S)).alias("at_s"),
        sf.coalesce("cancelled", sf.lit(_BEFORE_ALL)).cast("long").alias("operation"),
    )
    ended = sf.struct(
        sf.coalesce("end_s", sf.lit(_FOREVER_S)).alias("at_s"), sf.lit(_BEFORE_ALL).cast("long").alias("operation")
    )
    last = sf.least(cancelled, ended)
    started_s = sf.coalesce("start_s", sf.lit(0.0))
    probes = sf.array(
        at("now", sf.col("issued_s"), sf.col("issued")),
        at("start", started_s, sf.lit(_BEFORE_ALL)),
        at("end", last.getField("at_s"), last.getField("operation")),
    )
    placed = subscriptions.select("trace", "tag", "subscription", sf.explode(probes).alias("place"))
    event = _event(sf.col("place.at_s"), sf.col("place.operation"), 0, 0, sf.lit(0))
    return placed.select("trace", "tag", *event, "subscription", sf.col("place.probe").alias("probe"))


def _differences(counted: DataFrame, subscriptions: DataFrame) -> DataFrame:
    def at(probe: str, count: str) -> Column:
        return sf.max(sf.when(sf.col("probe") == probe, sf.col(count))).alias(f"{count}_{probe}")

    wide = counted.groupBy("trace", "subscription").agg(
        *[at(probe, count) for probe in ("now", "start", "end") for count in ("inserted", "deleted", "fleeting")]
    )
    frames = subscriptions.select("trace", "subscription", "start_s", "issued_s")
    start_s, issued_s = sf.col("start_s"), sf.col("issued_s")
    since_start = sf.col("inserted_now") - sf.col("inserted_start")
    gone_since = sf.col("fleeting_now") - sf.col("fleeting_start")
    past = (
        sf.when(start_s.isNull(), sf.col("inserted_now") - sf.col("deleted_now"))
        .when(start_s == issued_s, since_start - gone_since)
        .otherwise(0)
    )
    low = sf.when(start_s > issued_s, sf.col("inserted_start")).otherwise(sf.col("inserted_now"))
    future = sf.greatest(sf.lit(0), sf.col("inserted_end") - low)
    joined = wide.join(frames, on=["trace", "subscription"], how="inner")
    return joined.select("trace", "subscription", (past + future).cast("long").alias("expected"))
