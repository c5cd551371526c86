"""From posts to an operation trace, by the rules of Thyme FGCS §9.2.

The most active users become nodes; their posts with tags become inserts; subscriptions ask for tags among the
most popular of what is inserted; deletes and unsubscribes come late. Three hours are played in ten minutes.
Every number is an option, and the trace depends on posts and options alone, not on how Spark splits the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.model.formulas import tag_text
from thyme.model.objects import MAX_TAGS
from thyme.pipeline.chance import uniforms
from thyme.pipeline.schemas import POSTS, TRACE, arrow_schema, conform, spark_schema
from thyme.pipeline.spark.arrow import column_function, from_arrow, map_arrow
from thyme.pipeline.spark.keeping import keep
from thyme.pipeline.spark.ranking import ranked
from thyme.pipeline.traces.behaviour import (
    DRAWN_COLUMNS,
    TAKEN_COLUMNS,
    Compression,
    QueryMix,
    Rates,
    UserOperations,
    take_objects,
)
from thyme.pipeline.traces.sizes import ObjectSizes, sized

MAX_LIGHT_USERS = 500_000
"""Up to so many, users are sent to where the posts are: some 50 MB."""
FEW_USERS = 10_000
"""Up to so many, what they insert is little beside all posts, and kept; from there on it is cheaper to read posts
again, column by column, in each step that needs some, unless users have to be brought to them."""
MAX_COMPANIONS = 8
"""Of a tag, for queries with several: those that most often stand beside it."""
MAX_SECOND_DIGITS = 19
_SECOND_SIGN = "\0"
"""Marks a second where tags are counted; no tag holds it."""
_OFFSETS = (("second", "int64"), ("before", "int64"))
_POPULAR = (("tag", "string"), ("rank", "int64"), ("literal", "string"))


class TraceOptions(msgspec.Struct, frozen=True):
    """How posts become a trace; the defaults are the paper's."""

    users: int = 100
    authors: Literal["active", "deal"] = "active"
    """The most active authors are the users, or all posts are dealt out among the users, whoever wrote them."""
    seed: int = 1
    window_start_s: float | None = None
    """When the event starts, in seconds since 1970; None takes the busiest window."""
    compression: Compression = Compression()
    rates: Rates = Rates()
    popular_share: float = 0.6
    queries: QueryMix = QueryMix()
    sizes: ObjectSizes = ObjectSizes()
    publisher_share: float | None = None
    """With a share, nodes are either publishers or subscribers, as in the crash scenario; None: all are both."""

    def __post_init__(self) -> None:
        if self.users < 1:
            raise InputError(f"a trace of {self.users} users; expected at least one")
        if not 0.0 < self.popular_share <= 1.0:
            raise InputError(f"popular_share is {self.popular_share}; expected above 0, at most 1")
        if self.publisher_share is not None and not 0.0 < self.publisher_share <= 1.0:
            raise InputError(f"publisher_share is {self.publisher_share}; expected above 0, at most 1")

    @property
    def asks_together(self) -> bool:
        """Whether some queries are of several tags."""
        return self.queries.single < 1.0


class TooFewAuthors(InputError):
    """Fewer people wrote than there are to be users."""


def make_trace(posts: DataFrame, options: TraceOptions) -> DataFrame:
    """The trace of the posts, in the schema TRACE, numbered in time order."""
    posts = conform(posts, POSTS).where(sf.size("tags") > 0)
    start_s = options.window_start_s
    if start_s is None:
        start_s = busiest_start_s(posts, options.compression.window_s)
    at_s = sf.col("at_s")
    posts = posts.where((at_s >= start_s) & (at_s < start_s + options.compression.window_s))
    if options.authors == "deal":
        posts = deal_authors(posts, options)
    users = choose_users(posts, options)
    inserts = _inserts(posts, users, start_s, options)
    used = _uses(inserts)
    popular, tags = _popular_tags(used, options.popular_share)
    drawn = keep(_drawn_operations(users, options))
    asking = drawn.where((sf.col("kind") == "subscribe") & sf.lit(tags > 0))
    asking = asking.withColumn("rank", sf.floor(sf.col("tag_draw") * tags).cast("long"))
    subscribes = _with_queries(asking, popular, inserts, options)
    removals = _removals(drawn, inserts, light=options.users <= MAX_LIGHT_USERS)
    offsets = _offsets(used, asking, removals)
    return _numbered(sized(inserts, options.sizes, options.seed), subscribes, removals, offsets)


def busiest_start_s(posts: DataFrame, window_s: float) -> float:
    """The minute from which a window of this length holds the most posts; the earliest of several."""
    minute = sf.floor(sf.col("at_s") / 60.0).alias("minute")
    return busiest_minute_s(posts.groupBy(minute).agg(sf.count("*").alias("posts")).toArrow(), window_s)


def busiest_minute_s(counted: pa.Table, window_s: float) -> float:
    """The same, given how many posts were counted (once or in several rows) in each minute."""
    counts = counted.group_by("minute").aggregate([("posts", "sum")]).sort_by("minute")
    if counts.num_rows == 0:
        raise InputError("no post has a tag, so there is nothing to insert; a trace needs posts with tags")
    minutes = counts["minute"].to_numpy()
    before = np.concatenate([[0], np.cumsum(counts["posts_sum"].to_numpy())])
    ends = np.searchsorted(minutes, minutes + window_s / 60.0, side="left")
    inside = before[ends] - before[np.arange(len(minutes))]
    return float(minutes[int(np.argmax(inside))]) * 60.0


def deal_authors(posts: DataFrame, options: TraceOptions) -> DataFrame:
    """Every post goes to one of as many made-up authors as there are users, by a hash of its id."""
    place = sf.pmod(sf.xxhash64(sf.col("id"), sf.lit(options.seed)), sf.lit(options.users))
    return posts.withColumn("author", sf.concat(sf.lit(_dealt("")), place.cast("string")))


def _dealt(place: object) -> str:
    """Who is given the posts that fall to a place; with few posts, some have none and only ask."""
    return f"dealt {place}"


def choose_users(posts: DataFrame, options: TraceOptions) -> DataFrame:
    """The most active users as nodes 0, 1, …, with what they do; ties go by name."""
    active = posts.groupBy("author").agg(sf.count("*").alias("posts"))
    order = [sf.desc("posts"), sf.col("author")]
    if options.authors == "deal":
        active, order = _with_silent(active, options.users), [sf.desc("posts"), sf.col("place"), sf.col("author")]
    people, number = ranked(active, *order)
    check_users(number, options)
    users = people.where(sf.col("rank") < options.users).select("author", sf.col("rank").alias("node"))
    if options.publisher_share is None:
        return users.select("*", sf.lit(True).alias("publishes"), sf.lit(True).alias("subscribes"))
    drawn = users.withColumn("draw", column_function(_RoleDraws(options.seed), "double")(sf.col("node")))
    ordered, _ = ranked(drawn, "draw", "node")
    publishes = sf.col("rank") < max(1, round(options.publisher_share * options.users))
    return ordered.select("author", "node", publishes.alias("publishes"), (~publishes).alias("subscribes"))


def check_users(number: int, options: TraceOptions) -> None:
    """TooFewAuthors unless so many people are enough."""
    if number < options.users:
        raise TooFewAuthors(
            f"the posts have {number} users with tagged posts in the window; expected at least "
            f'{options.users}: give more posts or fewer users, or deal them out (`authors = "deal"`, --authors deal)'
        )


def _with_silent(active: DataFrame, users: int) -> DataFrame:
    """Those whom no post fell to come after all others, by their places."""
    names = active.sparkSession.range(users).select(
        sf.concat(sf.lit(_dealt("")), sf.col("id").cast("string")).alias("author"),
        sf.lit(0).cast("long").alias("posts"),
        sf.col("id").alias("place"),
    )
    silent = names.join(active, on="author", how="left_anti")
    return active.withColumn("place", sf.lit(0).cast("long")).unionByName(silent)


class _RoleDraws(msgspec.Struct, frozen=True):
    """By which nodes become publishers or subscribers."""

    seed: int

    def __call__(self, nodes: pa.Array) -> pa.Array:
        return pa.array(uniforms(self.seed, "roles", nodes.to_numpy(zero_copy_only=False)), pa.float64())


def _inserts(posts: DataFrame, users: DataFrame, start_s: float, options: TraceOptions) -> DataFrame:
    pace = options.compression.duration_s / options.compression.window_s
    played_s = sf.round(options.compression.first_s + (sf.col("at_s") - start_s) * pace, 6)
    publishers = users.where("publishes")
    if options.users <= MAX_LIGHT_USERS:
        publishers = sf.broadcast(publishers)
    inserts = posts.join(publishers, on="author", how="inner").select(
        played_s.alias("at_s"),
        "node",
        sf.lit("insert").alias("kind"),
        sf.col("id").alias("oid"),
        sf.slice(sf.sort_array(sf.array_distinct("tags")), 1, MAX_TAGS).alias("tags"),
        "text",
    )
    return inserts if FEW_USERS < options.users <= MAX_LIGHT_USERS else keep(inserts, StorageLevel.DISK_ONLY)


def _uses(inserts: DataFrame) -> DataFrame:
    """⟨key, uses⟩: how often each tag is inserted, and how much is inserted in each second, in one pass."""
    second = sf.concat(sf.lit(_SECOND_SIGN), _second().cast("string"))
    keys = inserts.select(sf.explode(sf.concat("tags", sf.array(second))).alias("key"))
    return keep(keys.groupBy("key").agg(sf.count("*").alias("uses")))


def _second() -> Column:
    return sf.floor("at_s")


def _popular_tags(used: DataFrame, share: float) -> tuple[DataFrame, int]:
    """The most used tags with their rank from 0 and their spelling in a query, and how many these are."""
    uses = used.where(~sf.col("key").startswith(_SECOND_SIGN)).select(sf.col("key").alias("tag"), "uses")
    tags, number = ranked(uses, sf.desc("uses"), "tag")
    kept = ceil(number * share)
    popular = tags.where(sf.col("rank") < kept).select("tag", "rank")
    return keep(map_arrow(popular, _spelled, spark_schema(_POPULAR))), kept


def _spelled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        literals = pa.array([tag_text(tag) for tag in batch["tag"].to_pylist()], pa.string())
        ranks = batch["rank"].cast(pa.int64())
        yield pa.record_batch([batch["tag"], ranks, literals], [name for name, _ in _POPULAR])


def _drawn_operations(users: DataFrame, options: TraceOptions) -> DataFrame:
    draw = UserOperations(options.seed, options.rates, options.queries, options.compression)
    return map_arrow(users.select("node", "subscribes"), draw, spark_schema(DRAWN_COLUMNS))


def _removals(drawn: DataFrame, inserts: DataFrame, light: bool) -> DataFrame:
    """Unsubscribes, and deletes with the objects that they take: only those of users who delete something are
    gathered."""
    deleting = drawn.where(sf.col("kind") == "delete").groupBy("node")
    deletes = deleting.agg(sf.sort_array(sf.collect_list(sf.struct("sid", "at_s", "tag_draw"))).alias("deletes"))
    own = inserts.select("node", "at_s", "oid").join(sf.broadcast(deletes) if light else deletes, on="node")
    people = own.groupBy("node").agg(
        sf.first("deletes").alias("deletes"),
        sf.sort_array(sf.collect_list(sf.struct("at_s", "oid"))).alias("objects"),
    )
    taken = map_arrow(people, take_objects, spark_schema(TAKEN_COLUMNS))
    cancelled = drawn.where(sf.col("kind") == "unsubscribe").select("at_s", "node", "kind", "oid", "sid")
    deleted = taken.select("at_s", "node", sf.lit("delete").alias("kind"), "oid", sf.lit(-1).cast("long").alias("sid"))
    return keep(cancelled.unionByName(deleted))


def _with_queries(subscribes: DataFrame, popular: DataFrame, inserts: DataFrame, options: TraceOptions) -> DataFrame:
    asked = subscribes.join(popular, on="rank", how="inner")
    if not options.asks_together:
        query = sf.col("literal")
    else:
        asked = asked.join(_companions(inserts, popular), on="tag", how="left")
        first = sf.floor(sf.col("companion_draw") * sf.size("companions")).cast("int") + 1
        number = sf.least(sf.lit(options.queries.tags - 1), sf.size("companions"))
        others = sf.slice(sf.concat("companions", "companions"), first, number)
        several = sf.concat(sf.array("literal"), others)
        query = (
            sf.when(sf.col("companions").isNull() | (sf.col("shape") == "single"), sf.col("literal"))
            .when(sf.col("shape") == "conjunction", sf.array_join(several, " & "))
            .when(sf.col("shape") == "disjunction", sf.array_join(several, " | "))
            .otherwise(sf.concat("literal", sf.lit(" & !"), sf.array_join(others, " & !")))
        )
    return asked.select("at_s", "node", "kind", "sid", "start_s", "end_s", query.alias("query"))


def _companions(inserts: DataFrame, popular: DataFrame) -> DataFrame:
    """For each popular tag the spellings of the popular tags that most often stand beside it."""
    names = popular.select("tag", "literal")
    single = inserts.select("tags", sf.explode("tags").alias("tag")).join(names.select("tag"), on="tag", how="inner")
    pairs = single.select("tag", sf.explode("tags").alias("other")).where(sf.col("tag") != sf.col("other"))
    counted = pairs.groupBy("tag", "other").agg(sf.count("*").alias("times"))
    beside = names.select(sf.col("tag").alias("other"), "literal")
    order = Window.partitionBy("tag").orderBy(sf.desc("times"), "other")
    ranked = counted.join(beside, on="other", how="inner").withColumn("place", sf.row_number().over(order))
    kept = ranked.where(sf.col("place") <= MAX_COMPANIONS)
    ordered = sf.array_sort(sf.collect_list(sf.struct("place", "literal")))
    grouped = kept.groupBy("tag").agg(ordered.alias("companions"))
    return grouped.select("tag", sf.col("companions.literal").alias("companions"))


def _offsets(used: DataFrame, asking: DataFrame, removals: DataFrame) -> DataFrame:
    """How many rows come before each second, so that seconds can be numbered side by side."""
    inserted = used.where(sf.col("key").startswith(_SECOND_SIGN)).select(
        sf.substring("key", len(_SECOND_SIGN) + 1, MAX_SECOND_DIGITS).cast("long").alias("second"),
        sf.col("uses").alias("rows"),
    )
    others = asking.select("at_s").unionByName(removals.select("at_s")).groupBy(_second().alias("second"))
    rows = inserted.unionByName(others.agg(sf.count("*").alias("rows")))
    counts = rows.toArrow().group_by("second").aggregate([("rows", "sum")]).sort_by("second")
    before = np.cumsum(counts["rows_sum"].to_numpy()) - counts["rows_sum"].to_numpy()
    table = pa.table([counts["second"], pa.array(before, pa.int64())], schema=arrow_schema(_OFFSETS))
    return from_arrow(used.sparkSession, table, spark_schema(_OFFSETS))


def _numbered(inserts: DataFrame, subscribes: DataFrame, removals: DataFrame, offsets: DataFrame) -> DataFrame:
    rows = (
        inserts.select("at_s", "node", "kind", "oid", "tags", "text", "size_bytes", "summary_bytes")
        .unionByName(subscribes, allowMissingColumns=True)
        .unionByName(removals, allowMissingColumns=True)
    )
    rows = rows.withColumn("second", _second())
    order = Window.partitionBy("second").orderBy("at_s", "node", "kind", "oid", "sid")
    numbered = rows.join(sf.broadcast(offsets), on="second", how="inner")
    return numbered.select(
        (sf.col("before") + sf.row_number().over(order) - 1).cast("long").alias("operation"),
        "at_s",
        "node",
        "kind",
        sf.coalesce("oid", sf.lit("")).alias("oid"),
        sf.coalesce("tags", sf.array().cast("array<string>")).alias("tags"),
        sf.coalesce("text", sf.lit("")).alias("text"),
        sf.coalesce("size_bytes", sf.lit(0)).alias("size_bytes"),
        sf.coalesce("summary_bytes", sf.lit(0)).alias("summary_bytes"),
        sf.coalesce("sid", sf.lit(-1)).alias("sid"),
        sf.coalesce("query", sf.lit("")).alias("query"),
        "start_s",
        "end_s",
    ).transform(conform, TRACE)
