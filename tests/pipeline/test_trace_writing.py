"""A trace is the same rows whichever way it was made: of one table, by tasks that read tables, or by Spark alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.pipeline.coded_tags import coded_tags
from thyme.pipeline.manifest import read_manifest
from thyme.pipeline.posts.generate import PostOptions, generate_posts
from thyme.pipeline.schemas import POST_COLUMNS, POSTS, arrow_schema
from thyme.pipeline.spark import dataset, stored_rows
from thyme.pipeline.spark.stored_rows import StoredRows, open_rows
from thyme.pipeline.traces import numbering, writing
from thyme.pipeline.traces.behaviour import Compression, QueryMix, Rates
from thyme.pipeline.traces.inserting import tidy, to_micros
from thyme.pipeline.traces.numbering import cut, in_order
from thyme.pipeline.traces.sizes import ObjectSizes
from thyme.pipeline.traces.trace import TraceOptions, make_trace
from thyme.pipeline.traces.writing import write_trace

MIXED = QueryMix(single=0.1, conjunction=0.3, disjunction=0.3, negation=0.3, tags=3)
CHOICES = {
    "the paper's": TraceOptions(users=60),
    "photos, queries of all shapes, and people who only publish": TraceOptions(
        users=80, seed=2, queries=MIXED, sizes=ObjectSizes("photos", summary_bytes=2048), publisher_share=0.5
    ),
    "everybody, much deleted, another pace": TraceOptions(
        users=300,
        seed=3,
        rates=Rates(deletes_per_hour=9.0, unsubscribes_per_hour=6.0, past_share=0.2, frame_share=0.1, frame_s=900.0),
        compression=Compression(window_s=9_600.0, duration_s=600.0, first_s=0.0),
        sizes=ObjectSizes("fixed"),
    ),
    "a given start": TraceOptions(users=10, window_start_s=PostOptions().start_s + 1_800.5, popular_share=0.1),
}


@pytest.fixture(scope="module")
def posts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> StoredRows:
    """In several files, some with several posts of one author in one instant, and some with tags twice and untagged."""
    table = pa.concat_tables(generate_posts(PostOptions(posts=3_000)))
    rows = table.to_pylist()
    for row in rows[::7]:
        row["tags"] = [*reversed(row["tags"]), *row["tags"]]
    rows += [{**row, "id": f"{row['id']}é{number}"} for row in rows[:400:3] for number in (2, 1)]
    place = tmp_path_factory.mktemp("posts") / "posts"
    with dataset.drafting(place) as draft:
        for number in range(3):
            draft.add(pa.Table.from_pylist(rows[number::3], arrow_schema(POST_COLUMNS)), number)
    return open_rows(lambda: spark, place, POSTS)


Rows = list[dict[str, Any]]


def rows_of(place: Path) -> Rows:
    rows: Rows = pq.read_table(place).sort_by("operation").to_pylist()
    return rows


def by_spark(posts: StoredRows, options: TraceOptions) -> Rows:
    rows: Rows = make_trace(posts.frame(), options).toArrow().sort_by("operation").to_pylist()
    return rows


@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_all_ways_give_the_same_trace(
    posts: StoredRows, options: TraceOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = by_spark(posts, options)
    assert len(expected) > 100
    write_trace(posts, options, tmp_path / "here")
    assert rows_of(tmp_path / "here") == expected
    monkeypatch.setattr(writing, "FEW_POSTS", 0)
    monkeypatch.setattr(numbering, "PIECE_ROWS", 150)
    monkeypatch.setattr(stored_rows, "STRETCH_ROWS", 700)
    write_trace(posts, options, tmp_path / "tasks")
    assert rows_of(tmp_path / "tasks") == expected


def test_posts_that_are_dealt_out_are_a_trace_too(posts: StoredRows, tmp_path: Path) -> None:
    options = TraceOptions(users=60, authors="deal")
    write_trace(posts, options, tmp_path / "dealt")
    assert rows_of(tmp_path / "dealt") == by_spark(posts, options)


def test_tasks_write_the_same_files_however_they_share_the_posts(
    posts: StoredRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "FEW_POSTS", 0)
    monkeypatch.setattr(numbering, "PIECE_ROWS", 400)
    write_trace(posts, TraceOptions(users=60), tmp_path / "one")
    monkeypatch.setattr(stored_rows, "STRETCH_ROWS", 500)
    write_trace(posts, TraceOptions(users=60), tmp_path / "two")
    files = read_manifest(tmp_path / "one").files
    assert len(files) > 3
    assert read_manifest(tmp_path / "two").files == files
    dataset.check(tmp_path / "one")


def test_few_posts_need_no_spark(posts: StoredRows, tmp_path: Path) -> None:
    def no_spark() -> SparkSession:
        raise AssertionError("Spark was asked for")

    write_trace(StoredRows(no_spark, posts.place, POSTS), TraceOptions(users=60), tmp_path / "trace")
    assert len(rows_of(tmp_path / "trace")) > 100


def damage(posts: StoredRows, tmp_path: Path) -> StoredRows:
    """The posts with one byte of a text changed."""
    place = tmp_path / "damaged"
    place.mkdir()
    for file in sorted(Path(str(posts.place)).iterdir()):
        (place / file.name).write_bytes(file.read_bytes())
    file = sorted(place.glob("*.parquet"))[0]
    column = pq.read_metadata(file).row_group(0).column(3)
    content = bytearray(file.read_bytes())
    content[(column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size - 10] ^= 1
    file.write_bytes(bytes(content))
    return StoredRows(posts.spark, place, POSTS)


def test_damaged_posts_are_refused_and_a_damaged_page_is_noticed_by_whoever_reads_it(
    posts: StoredRows, tmp_path: Path
) -> None:
    damaged = damage(posts, tmp_path)
    with pytest.raises(InputError, match="is damaged"):
        open_rows(posts.spark, damaged.place, POSTS)
    with pytest.raises(OSError, match="CRC"):
        damaged.here(["text"])


@pytest.mark.parametrize("few", [0, 50_000])
def test_too_few_users_or_no_tags_are_refused(
    few: int, posts: StoredRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "FEW_POSTS", few)
    with pytest.raises(InputError, match="expected at least 100000"):
        write_trace(posts, TraceOptions(users=100_000), tmp_path / "trace")
    row = {"id": "1", "author": "a", "at_s": 0.0, "text": "x", "tags": []}
    dataset.write_table_once(pa.Table.from_pylist([row], arrow_schema(POST_COLUMNS)), tmp_path / "untagged")
    with pytest.raises(InputError, match="no post has a tag"):
        write_trace(open_rows(posts.spark, tmp_path / "untagged", POSTS), TraceOptions(users=1), tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_times_are_rounded_as_they_are_written(spark: SparkSession) -> None:
    values = [60.0000625, 60.0000635, 0.0, 659.9999995, 1.0000005, 61.23456749, 0.1 + 0.2]
    frame = spark.createDataFrame([(value,) for value in values], "value double")
    expected = [row.rounded for row in frame.select(sf.round("value", 6).alias("rounded")).collect()]
    assert to_micros(np.array(values)).tolist() == expected
    assert expected[0] == 60.000063


def test_tags_are_in_order_once_and_not_too_many() -> None:
    lists = pa.chunked_array([[["b", "a", "b"], []], [["é", "z"], [f"{number:02d}" for number in range(40)]]])
    found = tidy(coded_tags(lists)).to_lists().to_pylist()
    assert found[:3] == [["a", "b"], [], ["z", "é"]]
    assert found[3] == [f"{number:02d}" for number in range(32)]
    sorted_ones = [["a", "b"], ["a"], [], ["b", "c"]]
    assert tidy(coded_tags(pa.chunked_array([sorted_ones]))).to_lists().to_pylist() == sorted_ones


def test_pieces_begin_where_so_many_rows_are_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "PIECE_ROWS", 10)
    pieces = cut([60, 61, 63, 70], [6, 6, 20, 1])
    assert (pieces.firsts, pieces.before) == ((60, 63, 70), (0, 12, 32))
    assert pieces.of(np.array([60.0, 61.9, 62.5, 63.0, 69.0, 70.5])).tolist() == [0, 0, 0, 1, 1, 2]


def test_one_node_in_one_instant_goes_by_kind_and_name() -> None:
    keys = [("subscribe", "", 1), ("insert", "é", -1), ("insert", "z", -1), ("subscribe", "", 0), ("delete", "z", -1)]
    columns = dict(zip(("kind", "oid", "sid"), map(list, zip(*keys, strict=True)), strict=True))
    rows = pa.table({"at_s": [5.0, 5.0, 5.0, 5.0, 5.0], "node": [3, 3, 3, 3, 3], **columns})
    ordered = in_order(pa.concat_tables([rows, rows.set_column(0, "at_s", [[4.0] * 5])]))
    expected = [keys[place] for place in (4, 2, 1, 3, 0)]
    assert [(row["kind"], row["oid"], row["sid"]) for row in ordered.to_pylist()] == expected * 2
