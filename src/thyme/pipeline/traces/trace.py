"""From posts to an operation trace, by the rules of Thyme FGCS §9.2, as a function of DataFrames.

The most active users become nodes; their posts with tags become inserts; subscriptions ask for tags among the most
popular of what is inserted; deletes and unsubscribes come late. Three hours are played in ten minutes. Every number is
an option, and the trace depends on posts and options alone, not on how Spark splits the work.

Posts are counted, joined and sorted by Spark expressions; what users draw comes from Arrow functions (`behaviour`). The
driver receives the posts per minute, the selected users, the uses of tags, and the rows per second of the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.model.formulas import tag_text
from thyme.model.objects import MAX_TAGS
from thyme.model.settings import SettingsRecord
from thyme.model.settings.bounds import AboveZeroShare, AtLeastOne
from thyme.pipeline.chance import uniforms
from thyme.pipeline.schemas import POSTS, TRACE, Columns, arrow_schema, conform, seconds, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.pipeline.spark.driver import described
from thyme.pipeline.spark.keeping import job, keep
from thyme.pipeline.traces.behaviour import (
    DELETED_COLUMNS,
    DRAWN_COLUMNS,
    Compression,
    DrawDeletes,
    DrawSubscriptions,
    QueryMix,
    Rates,
    UserDraws,
)
from thyme.pipeline.traces.sizes import ObjectSizes, object_sizes
from thyme.places import Place

MAX_COMPANIONS = 8
"""Of a tag, for queries with several: those that most often occur together with it."""
FILE_ROWS = 250_000
"""A file of a trace has so many operations, and those of the second in which it reaches them."""
_SECOND_SIGN = "\0"
"""Marks a second where tags are counted; no tag contains it."""
_USERS: Columns = (
    ("author", "string"),
    ("node", "int64"),
    ("publishes", "bool"),
    ("subscribes", "bool"),
    ("deletes", "bool"),
)
_TAGS: Columns = (("tag", "string"),)
_FILES: Columns = (("second", "int64"), ("file", "int64"), ("before", "int64"))
_ROW_BITS = 33
"""`monotonically_increasing_id` numbers the rows of a partition in so many low bits."""


class TraceOptions(SettingsRecord, frozen=True):
    """How posts become a trace; the defaults are the paper's."""

    users: AtLeastOne = 100
    """Number of users, each with a node."""
    authors: Literal["active", "deal"] = "active"
    """The most active authors are the users, or all posts are dealt out among the users, whoever wrote them."""
    seed: int = 1
    """Seed of all random choices."""
    window_start_s: float | None = None
    """When the event starts, in seconds since 1970; None takes the busiest window."""
    compression: Compression = Compression()
    rates: Rates = Rates()
    popular_share: AboveZeroShare = 0.6
    """Share of the tags, the most used ones, from which subscriptions are drawn."""
    queries: QueryMix = QueryMix()
    sizes: ObjectSizes = ObjectSizes()
    publisher_share: AboveZeroShare | None = None
    """With a share, nodes are either publishers or subscribers, as in the crash scenario; None: all are both."""


class TooFewAuthors(InputError):
    """Fewer people wrote than there are to be users."""


def write_trace(posts: DataFrame, options: TraceOptions, place: Place, made_from: str = "") -> Place:
    """The trace of the posts as a dataset, in files of neighbouring seconds."""
    with job(), described(posts.sparkSession, "traces", f"trace of {options.users:,} users, seed {options.seed}"):
        return dataset.write_once(make_trace(posts, options), place, made_from=made_from)


def make_trace(posts: DataFrame, options: TraceOptions) -> DataFrame:
    """The trace of the posts, in the schema TRACE, numbered in time order."""
    posts = conform(posts, POSTS).withColumn("at_s", seconds(sf.col("at"))).where(sf.size("tags") > 0)
    start_s = options.window_start_s
    if start_s is None:
        start_s = busiest_start_s(posts, options.compression.window_s)
    at_s = sf.col("at_s")
    posts = posts.where((at_s >= start_s) & (at_s < start_s + options.compression.window_s))
    if options.authors == "deal":
        posts = deal_authors(posts, options)
    draws = UserDraws(options.seed, options.rates, options.queries, options.compression)
    users = choose_users(posts, options, draws)
    inserts = keep(_inserts(posts, users, start_s, options))
    uses = _uses(inserts)
    popular = _popular_tags(uses, options.popular_share)
    companions = _companions(inserts, popular) if options.queries.single < 1.0 else {}
    subscribing = DrawSubscriptions(draws, [tag_text(tag) for tag in popular], companions)
    drawn = map_arrow(users.select("node", "subscribes"), subscribing, spark_schema(DRAWN_COLUMNS))
    others = keep(drawn.unionByName(_deletes(inserts, draws), allowMissingColumns=True))
    sized = inserts.drop("deletes").withColumns(
        {
            "size_bytes": object_sizes(sf.col("oid"), options.sizes, options.seed),
            "summary_bytes": sf.lit(options.sizes.summary_bytes).cast("long"),
        }
    )
    return _numbered(sized.unionByName(others, allowMissingColumns=True), _rows_per_second(uses, others))


def busiest_start_s(posts: DataFrame, window_s: float) -> float:
    """The minute from which a window of this length holds the most posts; the earliest of several."""
    minute = sf.floor(sf.col("at_s") / 60.0).alias("minute")
    counts = posts.groupBy(minute).agg(sf.count("*").alias("posts")).toArrow().sort_by("minute")
    if counts.num_rows == 0:
        raise InputError("no post has a tag, so there is nothing to insert; a trace needs posts with tags")
    minutes = counts["minute"].to_numpy()
    before = np.concatenate([[0], np.cumsum(counts["posts"].to_numpy())])
    ends = np.searchsorted(minutes, minutes + window_s / 60.0, side="left")
    inside = before[ends] - before[np.arange(len(minutes))]
    return float(minutes[int(np.argmax(inside))]) * 60.0


def deal_authors(posts: DataFrame, options: TraceOptions) -> DataFrame:
    """Every post goes to one of as many made-up authors as there are users, by a hash of its id."""
    place = sf.pmod(sf.xxhash64(sf.col("id"), sf.lit(options.seed)), sf.lit(options.users))
    return posts.withColumn("author", sf.concat(sf.lit(_dealt("")), place.cast("string")))


def _dealt(place: object) -> str:
    """The made-up author of a place; with few posts, some have none and only subscribe."""
    return f"dealt {place}"


def choose_users(posts: DataFrame, options: TraceOptions, draws: UserDraws) -> DataFrame:
    """⟨author, node, publishes, subscribes, deletes⟩: the most active authors as nodes 0, 1, …; ties go by name."""
    active = posts.groupBy("author").agg(sf.count("*").alias("posts"))
    authors = active.orderBy(sf.desc("posts"), "author").limit(options.users).toArrow()["author"].to_pylist()
    if options.authors == "deal":
        busy = frozenset(authors)
        authors += [name for name in map(_dealt, range(options.users)) if name not in busy]
    if len(authors) < options.users:
        raise TooFewAuthors(
            f"the posts have {len(authors)} users with tagged posts in the window; expected at least "
            f'{options.users}: give more posts or fewer users, or deal them out (`authors = "deal"`, --authors deal)'
        )
    nodes = np.arange(options.users)
    publishes = subscribes = np.ones(options.users, dtype=np.bool_)
    if options.publisher_share is not None:
        order = np.argsort(uniforms(options.seed, "roles", nodes), kind="stable")
        publishes = np.zeros(options.users, dtype=np.bool_)
        publishes[order[: max(1, round(options.publisher_share * options.users))]] = True
        subscribes = ~publishes
    deletes = np.isin(nodes, nodes[draws.removals("delete", nodes)[0]])
    table = pa.table([authors, nodes, publishes, subscribes, deletes], schema=arrow_schema(_USERS))
    return from_arrow(posts.sparkSession, table, spark_schema(_USERS))


def _inserts(posts: DataFrame, users: DataFrame, start_s: float, options: TraceOptions) -> DataFrame:
    pace = options.compression.duration_s / options.compression.window_s
    played_s = sf.round(options.compression.first_s + (sf.col("at_s") - start_s) * pace, 6)
    publishers = users.where("publishes").select("author", "node", "deletes")
    return posts.join(sf.broadcast(publishers), on="author", how="inner").select(
        played_s.alias("at_s"),
        "node",
        sf.lit("insert").alias("kind"),
        sf.col("id").alias("oid"),
        sf.slice(sf.sort_array(sf.array_distinct("tags")), 1, MAX_TAGS).alias("tags"),
        "text",
        "deletes",
    )


def _uses(inserts: DataFrame) -> dict[str, int]:
    """How often each tag is inserted, and how much is inserted in each second, in one pass."""
    second = sf.concat(sf.lit(_SECOND_SIGN), _second().cast("string"))
    keys = inserts.select(sf.explode(sf.concat("tags", sf.array(second))).alias("key"))
    counted = keys.groupBy("key").agg(sf.count("*").alias("uses")).toArrow()
    return dict(zip(counted["key"].to_pylist(), counted["uses"].to_pylist(), strict=True))


def _second() -> Column:
    return sf.floor("at_s")


def _popular_tags(uses: Mapping[str, int], share: float) -> list[str]:
    """The most used tags, in order; ties go by the bytes of their names."""
    tags = [tag for tag in uses if not tag.startswith(_SECOND_SIGN)]
    ranked = sorted(tags, key=lambda tag: (-uses[tag], tag.encode()))
    return ranked[: ceil(len(tags) * share)]


def _companions(inserts: DataFrame, popular: Sequence[str]) -> dict[str, list[str]]:
    """For each popular tag the popular tags that most often occur together with it, as a query spells them."""
    table = pa.table([list(popular)], schema=arrow_schema(_TAGS))
    names = sf.broadcast(from_arrow(inserts.sparkSession, table, spark_schema(_TAGS)))
    single = inserts.select("tags", sf.explode("tags").alias("tag")).join(names, on="tag", how="inner")
    pairs = single.select("tag", sf.explode("tags").alias("other")).where(sf.col("tag") != sf.col("other"))
    counted = pairs.groupBy("tag", "other").agg(sf.count("*").alias("times"))
    known = counted.join(names.withColumnRenamed("tag", "other"), on="other", how="inner")
    order = Window.partitionBy("tag").orderBy(sf.desc("times"), "other")
    kept = known.withColumn("place", sf.row_number().over(order)).where(sf.col("place") <= MAX_COMPANIONS)
    companions: dict[str, list[str]] = {}
    ranked = kept.select("tag", "place", "other").toArrow().sort_by([("tag", "ascending"), ("place", "ascending")])
    for row in ranked.to_pylist():
        companions.setdefault(tag_text(row["tag"]), []).append(tag_text(row["other"]))
    return companions


def _deletes(inserts: DataFrame, draws: UserDraws) -> DataFrame:
    """Deletes with the objects that they take: only the objects of users who delete something are grouped."""
    objects = sf.sort_array(sf.collect_list(sf.struct("at_s", "oid"))).alias("objects")
    own = inserts.where("deletes").groupBy("node").agg(objects)
    return map_arrow(own, DrawDeletes(draws), spark_schema(DELETED_COLUMNS))


def _rows_per_second(uses: Mapping[str, int], others: DataFrame) -> dict[int, int]:
    """The number of operations in each second that has some, in order."""
    rows = Counter({int(key[1:]): number for key, number in uses.items() if key.startswith(_SECOND_SIGN)})
    counted = others.groupBy(_second().alias("second")).agg(sf.count("*").alias("rows")).toArrow()
    rows.update(dict(zip(counted["second"].to_pylist(), counted["rows"].to_pylist(), strict=True)))
    return dict(sorted(rows.items()))


def file_starts(rows: Mapping[int, int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first second of each file of a trace, and the number of operations before it. They depend on the operations
    alone, so a trace has the same files wherever it is made."""
    firsts: list[int] = []
    starts: list[int] = []
    before = 0
    for second, number in rows.items():
        if not starts or before - starts[-1] >= FILE_ROWS:
            firsts.append(second)
            starts.append(before)
        before += number
    return np.array(firsts or [0], np.int64), np.array(starts or [0], np.int64)


def _numbered(rows: DataFrame, per_second: Mapping[int, int]) -> DataFrame:
    """The rows in order of time, then of node, kind and name, numbered, with the defaults of a trace."""
    firsts, starts = file_starts(per_second)
    played = np.array([*per_second], np.int64)
    file = np.searchsorted(firsts, played, side="right") - 1
    table = pa.table([played, file, starts[file]], schema=arrow_schema(_FILES))
    files = sf.broadcast(from_arrow(rows.sparkSession, table, spark_schema(_FILES)))
    filled = rows.select(
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
        _second().alias("second"),
    ).join(files, on="second", how="inner")
    ordered = filled.repartitionById(len(firsts), sf.col("file").cast("int")).sortWithinPartitions(
        "at_s", "node", "kind", "oid", "sid"
    )
    row = sf.monotonically_increasing_id().bitwiseAND(sf.lit((1 << _ROW_BITS) - 1))
    return conform(ordered.withColumn("operation", sf.col("before") + row), TRACE)
