"""A trace is the same rows in the same files, however Spark splits the work."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from thyme.model.errors import InputError
from thyme.pipeline.manifest import read_manifest
from thyme.pipeline.posts.generate import PostOptions, post_blocks
from thyme.pipeline.schemas import POST_COLUMNS, POSTS, arrow_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.traces import trace
from thyme.pipeline.traces.behaviour import QueryMix, Rates
from thyme.pipeline.traces.sizes import ObjectSizes
from thyme.pipeline.traces.trace import TraceOptions, file_starts, write_trace
from thyme.places import Place

GOLDEN = {
    "the paper's": (TraceOptions(), 2406, "09200de22c3cb83b"),
    "publishers": (TraceOptions(users=40, publisher_share=0.3, seed=3), 459, "4c894b930cb0d21f"),
    "queries and photos": (
        TraceOptions(
            users=60,
            queries=QueryMix(0.25, 0.25, 0.25, 0.25, 3),
            rates=Rates(past_share=0.1, frame_share=0.2),
            sizes=ObjectSizes("photos"),
        ),
        1831,
        "5c49e15d595f15de",
    ),
    "dealt": (TraceOptions(users=50, authors="deal"), 3803, "f97a4b5515837d5a"),
}
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def posts(spark: SparkSession) -> DataFrame:
    return from_arrow(spark, pa.concat_tables(post_blocks(PostOptions())), POSTS).persist()


def rows_of(place: Place) -> Rows:
    rows: Rows = dataset.read_table(place).sort_by("operation").to_pylist()
    return rows


@pytest.mark.parametrize("name", GOLDEN)
def test_the_traces_of_the_same_posts_stay_the_same(posts: DataFrame, name: str, tmp_path: Path) -> None:
    options, number, digest = GOLDEN[name]
    rows = rows_of(write_trace(posts, options, tmp_path / "trace"))
    assert len(rows) == number
    assert hashlib.blake2b(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16] == digest


def test_the_files_are_the_same_however_the_posts_are_split(
    spark: SparkSession, posts: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "FILE_ROWS", 400)
    one = write_trace(posts, TraceOptions(users=60), tmp_path / "one")
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        two = write_trace(posts.repartition(7, "text"), TraceOptions(users=60), tmp_path / "two")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    digests = [sorted(file.digest for file in read_manifest(place).files.values()) for place in (one, two)]
    assert digests[0] == digests[1]
    assert len(digests[0]) > 3


def test_operations_at_the_same_time_go_by_node_kind_and_name(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.concat_tables(post_blocks(PostOptions(posts=300))).to_pylist()
    for row in rows[::7]:
        row["tags"] = [*reversed(row["tags"]), *row["tags"]]
    rows += [{**row, "id": f"{row['id']}é{number}"} for row in rows[::3] for number in (2, 1)]
    frame = from_arrow(spark, pa.Table.from_pylist(rows, arrow_schema(POST_COLUMNS)), POSTS)
    found = rows_of(write_trace(frame, TraceOptions(users=60), tmp_path / "trace"))
    keys = [(row["at_s"], row["node"], row["kind"], row["oid"].encode(), row["sid"]) for row in found]
    assert keys == sorted(keys)
    assert [row["operation"] for row in found] == list(range(len(found)))
    assert all(row["tags"] == sorted(set(row["tags"])) for row in found)


def test_damaged_posts_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "posts"
    dataset.write_once(pa.concat_tables(post_blocks(PostOptions(posts=100))), place)
    file = next(place.glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(InputError, match="is damaged"):
        dataset.read(spark, place, POSTS)


def test_what_is_refused_leaves_nothing_behind(posts: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected at least 100000"):
        write_trace(posts, TraceOptions(users=100_000), tmp_path / "trace")
    with pytest.raises(InputError, match="no post has a tag"):
        write_trace(posts.where("size(tags) = 0"), TraceOptions(users=1), tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_files_begin_where_so_many_rows_are_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "FILE_ROWS", 10)
    firsts, before = file_starts({60: 6, 61: 6, 63: 20, 70: 1})
    assert (firsts.tolist(), before.tolist()) == ([60, 63, 70], [0, 12, 32])
