"""How many objects a one-tag subscription is to be told of, without listing them.

Each tag has a line of events in time order: objects inserted, objects deleted, and probes, which are the instants
where a subscription starts or stops to see objects. Running counts at the probes, and differences between them,
give the number of matches, so a hot tag costs no more than its events, and many tasks share these. This works where the
part of the frame that lies before the subscription is everything or nothing; other frames (`countable` is false) need
the list.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from thyme.pipeline.truth.lives import light

STRETCH_S = 30.0
"""Of a trace of ten minutes and five million posts, the hottest tag then has some 50,000 events per task."""
_LAST_STRETCH = 2**31 - 1
_FOREVER_S = float("inf")
_BEFORE_ALL = -1
"""As an operation number: before every operation of the same instant."""
_COUNTED = ("insertion", "deletion", "fleeting")
_NEVER_STARTED, _STARTS_NOW, _STARTS_LATER = range(3)


def countable() -> Column:
    """Whether a subscription's frame starts at ⊥ or not before it was issued, and does not end before that."""
    start_s, end_s, issued_s = sf.col("start_s"), sf.col("end_s"), sf.col("issued_s")
    return (start_s.isNull() | (start_s >= issued_s)) & (end_s.isNull() | (end_s > issued_s))


def count_matches(trace: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """⟨trace, subscription, expected⟩ of countable subscriptions, each to the tag in its column `tag`."""
    asked = light(subscriptions.select("trace", "tag").distinct())
    inserts = trace.where(sf.col("kind") == "insert")
    insertions = _insertions(inserts).join(asked, on=["trace", "tag"], how="left_semi")
    deletions = _deletions(inserts, trace).join(asked, on=["trace", "tag"], how="left_semi")
    events = insertions.unionByName(deletions).unionByName(_probes(subscriptions))
    return _differences(_running(events))


def _running(events: DataFrame) -> DataFrame:
    """The counts at each probe. A line is counted stretch by stretch, so that even that of the hottest tag is the work
    of several tasks; what happened in the stretches before is then added."""
    stretch = sf.floor(sf.least(sf.col("at_s") / STRETCH_S, sf.lit(float(_LAST_STRETCH)))).cast("int")
    order = Window.partitionBy("trace", "tag", "stretch").orderBy("at_s", "operation")
    line = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    within = events.withColumn("stretch", stretch).select(
        "trace",
        "tag",
        "stretch",
        "subscription",
        "probe",
        "start",
        sf.lead("at_s").over(order).isNull().alias("last"),
        *[sf.sum(name).over(line).alias(name) for name in _COUNTED],
    )
    few = within.where(sf.col("last") | sf.col("probe").isNotNull())
    earlier = Window.partitionBy("trace", "tag").orderBy("stretch").rangeBetween(Window.unboundedPreceding, -1)

    def whole(name: str) -> Column:
        before = sf.sum(sf.when(sf.col("last"), sf.col(name))).over(earlier)
        return (sf.col(name) + sf.coalesce(before, sf.lit(0))).alias(name)

    counts = [whole(name) for name in _COUNTED]
    return few.select("trace", "subscription", "probe", "start", *counts).where(sf.col("probe").isNotNull())


def _event(at_s: Column, operation: Column, insertion: int, deletion: int, fleeting: Column) -> list[Column]:
    return [
        at_s.alias("at_s"),
        operation.cast("long").alias("operation"),
        sf.lit(insertion).cast("long").alias("insertion"),
        sf.lit(deletion).cast("long").alias("deletion"),
        fleeting.cast("long").alias("fleeting"),
    ]


def _no_probe() -> list[Column]:
    return [
        sf.lit(None).cast(kind).alias(name)
        for name, kind in (("subscription", "string"), ("probe", "string"), ("start", "int"))
    ]


def _insertions(inserts: DataFrame) -> DataFrame:
    tagged = inserts.select("trace", sf.explode("tags").alias("tag"), "at_s", "operation")
    return tagged.select("trace", "tag", *_event(sf.col("at_s"), sf.col("operation"), 1, 0, sf.lit(0)), *_no_probe())


def _deletions(inserts: DataFrame, trace: DataFrame) -> DataFrame:
    """Deletions; `fleeting` marks those in the very instant of the insertion, which a frame that starts in that
    instant has to subtract, too."""
    deletes = trace.where(sf.col("kind") == "delete").select(
        "trace", "node", "oid", sf.col("at_s").alias("deleted_s"), sf.col("operation").alias("deleted")
    )
    gone = inserts.join(light(deletes), on=["trace", "node", "oid"], how="inner")
    fleeting = sf.col("deleted_s") == sf.col("at_s")
    tagged = gone.select("trace", sf.explode("tags").alias("tag"), "deleted_s", "deleted", fleeting.alias("fleeting"))
    event = _event(sf.col("deleted_s"), sf.col("deleted"), 0, 1, sf.col("fleeting"))
    return tagged.select("trace", "tag", *event, *_no_probe())


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
    start = (
        sf.when(sf.col("start_s").isNull(), _NEVER_STARTED)
        .when(sf.col("start_s") == sf.col("issued_s"), _STARTS_NOW)
        .otherwise(_STARTS_LATER)
    )
    placed = subscriptions.select(
        "trace", "tag", "subscription", start.alias("start"), sf.explode(probes).alias("place")
    )
    event = _event(sf.col("place.at_s"), sf.col("place.operation"), 0, 0, sf.lit(0))
    return placed.select("trace", "tag", *event, "subscription", sf.col("place.probe").alias("probe"), "start")


def _differences(counted: DataFrame) -> DataFrame:
    def at(probe: str, count: str) -> Column:
        return sf.max(sf.when(sf.col("probe") == probe, sf.col(count)))

    past = (
        sf.when(sf.col("start") == _NEVER_STARTED, at("now", "insertion") - at("now", "deletion"))
        .when(
            sf.col("start") == _STARTS_NOW,
            at("now", "insertion") - at("start", "insertion") - (at("now", "fleeting") - at("start", "fleeting")),
        )
        .otherwise(0)
    )
    low = sf.when(sf.col("start") == _STARTS_LATER, at("start", "insertion")).otherwise(at("now", "insertion"))
    future = sf.greatest(sf.lit(0), at("end", "insertion") - low)
    grouped = counted.groupBy("trace", "subscription", "start").agg((past + future).cast("long").alias("expected"))
    return grouped.select("trace", "subscription", "expected")
