"""The ground truth: what a perfect, instant execution of a trace would notify (Thyme FGCS §9.2).

For each subscription the set of objects (`expected_pairs`) or only their number (`expected_counts`), by time
frames, boolean queries, deletions and unsubscriptions. Objects and subscriptions meet by equality on one tag per
conjunction, the least common of those it asks for; the rows of a hot tag are spread over several tasks. Subscriptions
to one tag are counted without listing what they match. Written apart from the matching index, on purpose: a test
makes the two agree.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from thyme.pipeline.schemas import EXPECTED, PAIRS, conform
from thyme.pipeline.spark.keeping import keep
from thyme.pipeline.truth.conjunctions import any_holds, expand_queries, holds, is_single_tag, numbered_conjunctions
from thyme.pipeline.truth.lives import in_time, light, named_trace, objects_of, subscriptions_of
from thyme.pipeline.truth.running_counts import count_matches, countable

EVERYTHING = ""
"""Stands for a tag that all objects have: the key of conjunctions that ask for no tag, only for absences."""
SHARE_ROWS = 50_000
"""Objects of one tag that one task joins; a tag with more is shared among several."""
MAX_SHARES = 64


def expected_counts(trace: DataFrame) -> DataFrame:
    """⟨trace, subscription, expected⟩: how many objects each subscription is to be told of."""
    trace = named_trace(trace)
    subscriptions = keep(_expanded_subscriptions(trace))
    countable_ones = is_single_tag(sf.col("conjunctions")) & countable()
    tag = sf.col("conjunctions").getItem(0).getField("positive").getItem(0)
    counts = count_matches(trace, subscriptions.where(countable_ones).withColumn("tag", tag))
    listed = subscriptions.where(~countable_ones)
    if not listed.isEmpty():
        found = _pairs(objects_of(trace), listed).groupBy("trace", "subscription").agg(sf.count("*").alias("expected"))
        complete = listed.select("trace", "subscription").join(found, on=["trace", "subscription"], how="left")
        counts = counts.unionByName(complete.na.fill(0, ["expected"]))
    return conform(counts, EXPECTED)


def expected_pairs(trace: DataFrame) -> DataFrame:
    """⟨trace, subscription, object⟩: every notification of a perfect execution, once."""
    trace = named_trace(trace)
    return conform(_pairs(objects_of(trace), _expanded_subscriptions(trace)), PAIRS)


def judge_pairs(pairs: DataFrame, trace: DataFrame) -> DataFrame:
    """The pairs (⟨trace, subscription, object⟩ and any more columns) with `expected`: whether each belongs to the
    truth. This looks at the given pairs only, however many others there are."""
    trace = named_trace(trace)
    verdict = in_time() & any_holds(sf.col("conjunctions"), sf.col("tags"))
    joined = pairs.join(_expanded_subscriptions(trace), on=["trace", "subscription"], how="left").join(
        objects_of(trace), on=["trace", "object"], how="left"
    )
    return joined.select(*pairs.columns, sf.coalesce(verdict, sf.lit(False)).alias("expected"))


def _expanded_subscriptions(trace: DataFrame) -> DataFrame:
    subscriptions = subscriptions_of(trace)
    return subscriptions.join(expand_queries(subscriptions), on="query", how="inner")


def _pairs(objects: DataFrame, subscriptions: DataFrame) -> DataFrame:
    keyed = objects.select("*", sf.explode(sf.concat("tags", sf.array(sf.lit(EVERYTHING)))).alias("key"))
    conjunctions = _keyed_conjunctions(subscriptions, keyed.select("trace", "key"))
    keys = conjunctions.select("trace", "key", "shares").distinct()
    shared = keyed.join(keys, on=["trace", "key"], how="inner").withColumn(
        "share", sf.col("inserted") % sf.col("shares")
    )
    asking = (
        subscriptions.drop("conjunctions")
        .join(conjunctions, on=["trace", "query"], how="inner")
        .withColumn("share", sf.explode(sf.sequence(sf.lit(0).cast("long"), sf.col("shares") - 1)))
        .drop("shares")
    )
    candidates = shared.drop("shares").join(asking, on=["trace", "key", "share"], how="inner")
    tags = sf.col("tags")
    matching = holds(sf.col("positive"), sf.col("negative"), tags) & ~any_holds(sf.col("earlier"), tags)
    return candidates.where(in_time() & matching).select("trace", "subscription", "object")


def _keyed_conjunctions(subscriptions: DataFrame, uses: DataFrame) -> DataFrame:
    """Each conjunction of each trace with its key, the least common tag it asks for, and in how many shares
    the objects of that tag are joined. A tag that no object has leaves nothing to join."""
    asked = subscriptions.select("trace", "query", "conjunctions").dropDuplicates(["trace", "query"])
    rows = asked.join(numbered_conjunctions(asked.drop("trace").distinct()), on="query", how="inner")
    wanted = sf.when(sf.size("positive") > 0, sf.col("positive")).otherwise(sf.array(sf.lit(EVERYTHING)))
    options = rows.drop("conjunctions").withColumn("key", sf.explode(wanted))
    asked_keys = light(options.select("trace", "key").distinct())
    sizes = uses.join(asked_keys, on=["trace", "key"], how="left_semi").groupBy("trace", "key")
    sized = options.join(sizes.agg(sf.count("*").alias("uses")), on=["trace", "key"], how="left").na.fill(0, ["uses"])
    cheapest = Window.partitionBy("trace", "query", "number").orderBy("uses", "key")
    chosen = sized.withColumn("place", sf.row_number().over(cheapest)).where(sf.col("place") == 1)
    shares = sf.least(sf.ceil(sf.col("uses") / SHARE_ROWS), sf.lit(MAX_SHARES)).cast("long")
    return chosen.where(sf.col("uses") > 0).select(
        "trace", "query", "number", "positive", "negative", "earlier", "key", shares.alias("shares")
    )
