"""Posts ingested by other engines, for the benchmark: JSON lines in, one row per post in Parquet out.

Both read only the benchmark's file (Twitter's v1.1 form, with hashtags) and merge the copies of a post as ingestion
does: the longest text, the alphabetically last author, all tags. `content_of` counts the posts, tags and characters of
a result, to compare all results.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

_EPOCH_MS = 1_288_834_974_657
"""Ids of posts carry their time, in milliseconds since then."""
_FORM = "{id_str: 'VARCHAR', text: 'VARCHAR', user: 'STRUCT(screen_name VARCHAR)', entities: \
'STRUCT(hashtags STRUCT(\"text\" VARCHAR)[])'}"
_INGESTION = """
COPY (
    SELECT id_str AS id, max("user".screen_name) AS author,
           min((id_str::BIGINT >> 22) + {epoch}) / 1000.0 AS at_s,
           arg_max(text, length(text)) AS text,
           list_sort(list_distinct(flatten(list(list_transform(entities.hashtags, lambda tag: lower(tag."text"))))))
               AS tags
    FROM read_json('{source}', format = 'newline_delimited', columns = {form})
    GROUP BY id_str
) TO '{out}' (FORMAT parquet, COMPRESSION snappy)
"""


class Content(msgspec.Struct, frozen=True):
    """What posts amount to."""

    posts: int
    tags: int
    characters: int
    seconds: float


def ingest_with_duckdb(source: Path, out: Path, cores: int) -> None:
    import duckdb

    with duckdb.connect(config={"threads": cores}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(_INGESTION.format(source=source, out=out, form=_FORM, epoch=_EPOCH_MS))


def ingest_with_polars(source: Path, out: Path, cores: int) -> None:
    os.environ["POLARS_MAX_THREADS"] = str(cores)
    import polars as pl

    schema: dict[str, Any] = {
        "id_str": pl.String,
        "text": pl.String,
        "user": pl.Struct({"screen_name": pl.String}),
        "entities": pl.Struct({"hashtags": pl.List(pl.Struct({"text": pl.String}))}),
    }
    tag = pl.element().struct.field("text").str.to_lowercase()
    rows = pl.scan_ndjson(source, schema=schema).select(
        id="id_str",
        author=pl.col("user").struct.field("screen_name"),
        at_s=((pl.col("id_str").cast(pl.Int64) // 2**22) + _EPOCH_MS) / 1000.0,
        text="text",
        tags=pl.col("entities").struct.field("hashtags").list.eval(tag),
    )
    posts = rows.group_by("id").agg(
        pl.col("author").max(),
        pl.col("at_s").min(),
        pl.col("text").sort_by(pl.col("text").str.len_chars()).last(),
        pl.col("tags").explode(),
    )
    tidy = posts.with_columns(pl.col("tags").list.drop_nulls().list.unique().list.sort())
    tidy.sink_parquet(out, compression="snappy")


def content_of(place: Path) -> Content:
    """Of the Parquet in a file, or in a folder without what is marked there."""
    import pyarrow.compute as pc
    import pyarrow.dataset as pads

    posts = tags = characters = 0
    seconds = 0.0
    stored = pads.dataset(place, format="parquet")
    time = "at_s" if "at_s" in stored.schema.names else "at"  # the peers write seconds, Thyme timestamps
    for batch in stored.to_batches(columns=[time, "text", "tags"]):
        posts += batch.num_rows
        tags += pc.sum(pc.list_value_length(batch["tags"])).as_py() or 0
        characters += pc.sum(pc.utf8_length(batch["text"])).as_py() or 0
        at = (
            batch[time]
            if time == "at_s"
            else pc.divide(batch[time].cast("timestamp[us]").cast("int64").cast("float64"), 1e6)
        )
        seconds += pc.sum(at).as_py() or 0.0
    return Content(posts, tags, characters, round(seconds / max(posts, 1), 3))
