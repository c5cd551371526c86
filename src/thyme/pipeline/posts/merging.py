"""One post of all its copies, and one spelling of a tag: what is left to do once every file has been read.

Most posts are met once. Those that are not are found by their ids alone, and only they are brought together; all
others go from where they were read to where they are kept.
"""

from __future__ import annotations

import unicodedata

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from thyme.pipeline.schemas import POSTS, conform
from thyme.pipeline.spark.arrow import column_function, from_arrow
from thyme.pipeline.spark.keeping import keep

MAX_SPELLINGS = 200_000
MAX_LIGHT_KEYS = 1_000_000
"""Up to so many ids that are met again are sent to where the posts are."""
OWNER_SIGN = "~"
_KEY = ["id", "owner"]
_TAGS = StructType([StructField("tag", StringType())])


class Copies(msgspec.Struct, frozen=True):
    """Ids that are met more than once (`keys`: how many; `surplus`: copies beyond the first)."""

    frame: DataFrame
    keys: int
    surplus: int


def find_copies(posts: DataFrame) -> Copies:
    """The ids, with their owners, of posts that were read several times."""
    times = posts.groupBy(*_KEY).agg(sf.count("*").alias("times")).where(sf.col("times") > 1)
    repeated = keep(times)
    row = repeated.agg(sf.count("*").alias("keys"), sf.sum("times").alias("times")).collect()[0]
    return Copies(repeated.select(*_KEY), row["keys"], (row["times"] or 0) - row["keys"])


def distinct_posts(posts: DataFrame, copies: Copies, owned: bool) -> DataFrame:
    """Each post once, with the longest text, the earliest time and the tags of all copies. Where copies name the author
    differently, the last by spelling is taken: a name rather than a number. Posts of different owners that share an id
    get their owner added to it."""
    whole = posts
    if copies.keys:
        keys = sf.broadcast(copies.frame) if copies.keys <= MAX_LIGHT_KEYS else copies.frame
        single = posts.join(keys, on=_KEY, how="left_anti")
        merged = _merged(posts.join(keys, on=_KEY, how="left_semi"))
        whole = single.unionByName(merged)
    return conform(_told_apart(whole, posts) if owned else whole, POSTS)


def _merged(posts: DataFrame) -> DataFrame:
    longest = sf.struct(sf.length("text").alias("length"), "text")
    merged = posts.groupBy(*_KEY).agg(
        sf.max(longest).alias("best"),
        sf.max("author").alias("author"),
        sf.min("at_s").alias("at_s"),
        sf.array_sort(sf.array_distinct(sf.flatten(sf.collect_list("tags")))).alias("tags"),
    )
    named = merged.select("id", "author", "at_s", sf.col("best.text").alias("text"), "tags", "owner")
    return named.sortWithinPartitions(*_KEY)


def _told_apart(whole: DataFrame, posts: DataFrame) -> DataFrame:
    owners = posts.select(*_KEY).distinct().groupBy("id").agg(sf.count("*").alias("owners"))
    shared = owners.where(sf.col("owners") > 1).select("id", sf.lit(True).alias("shared"))
    joined = whole.join(shared, on="id", how="left")
    ambiguous = sf.col("shared") & (sf.col("owner") != "")
    return joined.withColumn("id", sf.when(ambiguous, sf.concat_ws(OWNER_SIGN, *_KEY)).otherwise(sf.col("id")))


def merge_accents(posts: DataFrame) -> DataFrame:
    """Tags that differ in accents only get the spelling that is used most."""
    used = keep(posts.select(sf.explode("tags").alias("tag")).groupBy("tag").agg(sf.count("*").alias("uses")))
    accented = used.where(~sf.col("tag").rlike(r"^[\x00-\x7F]*$"))
    spellings = _most_used(accented.orderBy(sf.desc("uses"), "tag").limit(MAX_SPELLINGS), used)
    if not spellings:
        return posts
    respelled = column_function(_Respelled(spellings), "array<string>")
    return posts.withColumn("tags", respelled(sf.col("tags")))


def plain(tag: str) -> str:
    """The tag without accents."""
    parts = unicodedata.normalize("NFD", tag)
    return unicodedata.normalize("NFC", "".join(one for one in parts if not unicodedata.combining(one)))


def _most_used(accented: DataFrame, used: DataFrame) -> dict[str, str]:
    tags = accented.toArrow().to_pylist()
    candidates = sorted({plain(row["tag"]) for row in tags})
    if not candidates:
        return {}
    names = from_arrow(used.sparkSession, pa.table({"tag": candidates}), _TAGS)
    bare = used.join(names, on="tag", how="inner").toArrow().to_pylist()
    groups: dict[str, dict[str, int]] = {}
    for row in [*tags, *bare]:
        groups.setdefault(plain(row["tag"]), {})[row["tag"]] = row["uses"]
    spellings = {}
    for group in groups.values():
        best = min(group, key=lambda tag: (-group[tag], tag))
        spellings.update({tag: best for tag in group if tag != best})
    return spellings


class _Respelled(msgspec.Struct, frozen=True):
    """Lists of tags with other spellings; most lists have none of them and stay as they are."""

    spellings: dict[str, str]

    def __call__(self, tags: pa.Array) -> pa.Array:
        concerned = pc.is_in(tags.flatten(), pa.array(list(self.spellings), pa.string()))
        if not pc.any(concerned).as_py():
            return tags
        lists = tags.to_pylist()
        for place in set(pc.filter(pc.list_parent_indices(tags), concerned).to_pylist()):
            lists[place] = sorted({self.spellings.get(tag, tag) for tag in lists[place]})
        return pa.array(lists, pa.list_(pa.string()))
