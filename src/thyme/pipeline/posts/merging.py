"""One post of all its copies, and one spelling of a tag.

Most posts occur once. Those that do not are found by hashes of their ids, and only they are grouped and merged: by
the ids themselves, so that two ids of one hash stay two posts.
"""

from __future__ import annotations

import unicodedata

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from thyme.pipeline.schemas import Columns, arrow_schema, spark_schema
from thyme.pipeline.spark.arrow import column_function, from_arrow
from thyme.pipeline.spark.keeping import keep

MAX_SPELLINGS = 200_000
OWNER_SIGN = "~"
_TAGS: Columns = (("tag", "string"),)


def distinct_posts(posts: DataFrame) -> DataFrame:
    """Each post once, with the longest text, the earliest time and the tags of all copies. Where copies name the author
    differently, the last by spelling is taken: a name rather than a number. Posts of different owners that share an id
    get their owner added to it."""
    marked = posts.withColumn("mark", sf.xxhash64("id"))
    marks = marked.groupBy("mark").agg(sf.count("*").alias("times"))
    repeated = keep(marks.where(sf.col("times") > 1).select("mark"))
    if not repeated.count():
        return posts
    single = marked.join(repeated, on="mark", how="left_anti").drop("mark")
    longest = sf.struct(sf.length("text").alias("length"), "text")
    merged = (
        marked.join(repeated, on="mark", how="left_semi")
        .groupBy("id", "owner")
        .agg(
            sf.max(longest).alias("best"),
            sf.max("author").alias("author"),
            sf.min("at").alias("at"),
            sf.array_sort(sf.array_distinct(sf.flatten(sf.collect_list("tags")))).alias("tags"),
        )
    )
    shared = (sf.count("*").over(Window.partitionBy("id")) > 1) & (sf.col("owner") != "")
    name = sf.when(shared, sf.concat_ws(OWNER_SIGN, "id", "owner")).otherwise(sf.col("id"))
    told_apart = merged.withColumn("name", name)
    return single.unionByName(
        told_apart.select(
            sf.col("name").alias("id"), "author", "at", sf.col("best.text").alias("text"), "tags", "owner"
        )
    )


def with_counted_ids(posts: DataFrame) -> DataFrame:
    """Stored posts with the ids that they were read with, and the tags as they were spelled."""
    sign = sf.concat(sf.lit(OWNER_SIGN), "owner")
    read = sf.expr("left(id, length(id) - length(owner) - 1)")
    told_apart = (sf.col("owner") != "") & sf.endswith(sf.col("id"), sign)
    return posts.withColumns(
        {"id": sf.when(told_apart, read).otherwise(sf.col("id")), "tags": sf.coalesce("spelled", "tags")}
    ).drop("spelled")


def merge_accents(posts: DataFrame) -> DataFrame:
    """Tags that differ in accents only get the spelling that is used most; `spelled` keeps how they were spelled."""
    spellings = _most_used(posts.select(sf.explode("tags").alias("tag")))
    if not spellings:
        return posts.withColumn("spelled", sf.lit(None).cast("array<string>"))
    respelled = posts.withColumn("now", column_function(_Respelled(spellings), "array<string>")(sf.col("tags")))
    changed = sf.when(sf.col("tags") != sf.col("now"), sf.col("tags"))
    return respelled.withColumns({"spelled": changed, "tags": sf.col("now")}).drop("now")


def plain(tag: str) -> str:
    """The tag without accents."""
    parts = unicodedata.normalize("NFD", tag)
    return unicodedata.normalize("NFC", "".join(one for one in parts if not unicodedata.combining(one)))


def _most_used(tags: DataFrame) -> dict[str, str]:
    """The spelling to use instead of others. Only accented tags, and what they are without accents, are counted."""
    accented = _uses(tags.where(~sf.col("tag").rlike(r"^[\x00-\x7F]*$")))
    candidates = sorted({plain(tag) for tag in accented})
    if not candidates:
        return {}
    names = sf.broadcast(
        from_arrow(tags.sparkSession, pa.table([candidates], schema=arrow_schema(_TAGS)), spark_schema(_TAGS))
    )
    groups: dict[str, dict[str, int]] = {}
    for tag, uses in (accented | _uses(tags.join(names, on="tag", how="left_semi"))).items():
        groups.setdefault(plain(tag), {})[tag] = uses
    spellings = {}
    for group in groups.values():
        best = min(group, key=lambda tag: (-group[tag], tag))
        spellings.update({tag: best for tag in group if tag != best})
    return spellings


def _uses(tags: DataFrame) -> dict[str, int]:
    counted = tags.groupBy("tag").agg(sf.count("*").alias("uses")).orderBy(sf.desc("uses"), "tag").limit(MAX_SPELLINGS)
    return {row["tag"]: row["uses"] for row in counted.toArrow().to_pylist()}


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
