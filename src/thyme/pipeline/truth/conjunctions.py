"""Queries of a trace as conjunctions, and conditions over them in Spark.

The model expands each distinct query once; from there on Spark evaluates conjunctions as array functions. Every
conjunction carries those before it in its query, so that an object which matches several is counted once.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from thyme.model.queries import parse_query
from thyme.pipeline.spark.arrow import map_arrow

_TAGS = ArrayType(StringType())
_CONJUNCTION = StructType([StructField("positive", _TAGS), StructField("negative", _TAGS)])
_EXPANDED = StructType([StructField("query", StringType()), StructField("conjunctions", ArrayType(_CONJUNCTION))])
_ARROW = pa.schema(
    [
        ("query", pa.string()),
        (
            "conjunctions",
            pa.list_(pa.struct([("positive", pa.list_(pa.string())), ("negative", pa.list_(pa.string()))])),
        ),
    ]
)


def expand_queries(queries: DataFrame) -> DataFrame:
    """⟨query, conjunctions⟩ of each distinct text in the column `query`."""
    return map_arrow(queries.select("query").distinct(), _expand, _EXPANDED)


def numbered_conjunctions(expanded: DataFrame) -> DataFrame:
    """One row per conjunction: ⟨query, number, positive, negative, earlier⟩."""
    rows = expanded.select("query", "conjunctions", sf.posexplode("conjunctions").alias("number", "conjunction"))
    return rows.select(
        "query",
        sf.col("number").cast(IntegerType()).alias("number"),
        sf.col("conjunction.positive").alias("positive"),
        sf.col("conjunction.negative").alias("negative"),
        sf.slice("conjunctions", sf.lit(1), sf.col("number")).alias("earlier"),
    )


def is_single_tag(conjunctions: Column) -> Column:
    """Whether a query asks for one tag and nothing else."""
    first = conjunctions.getItem(0)
    return (
        (sf.size(conjunctions) == 1)
        & (sf.size(first.getField("positive")) == 1)
        & (sf.size(first.getField("negative")) == 0)
    )


def holds(positive: Column, negative: Column, tags: Column) -> Column:
    """Whether all positive and none of the negative tags are among the tags."""
    return (sf.size(sf.array_except(positive, tags)) == 0) & ~sf.arrays_overlap(negative, tags)


def any_holds(conjunctions: Column, tags: Column) -> Column:
    return sf.exists(conjunctions, lambda one: holds(one.getField("positive"), one.getField("negative"), tags))


def _expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [{"query": text, "conjunctions": _conjunctions(text)} for text in batch["query"].to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)


def _conjunctions(text: str) -> list[dict[str, list[str]]]:
    return [{"positive": list(one.positive), "negative": list(one.negative)} for one in parse_query(text).dnf()]
