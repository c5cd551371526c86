"""Ingestion end to end: mixed files in one call, with nothing lost silently."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from post_samples import KICKOFF_ID, page, scraped, status, write_all
from pyspark.sql import SparkSession

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.mapped import parse_map
from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms
from thyme.pipeline.posts.ingest import (
    REJECTED_PART,
    IngestOptions,
    file_numbers,
    ingest,
    ingest_parts,
    plan_ingestion,
)
from thyme.pipeline.posts.source import register
from thyme.pipeline.schemas import POSTS, REJECTED
from thyme.pipeline.spark import dataset

MAP = parse_map("author=who,at=when,text=said")


def test_every_format_in_one_call(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path / "in")
    told: list[str] = []
    summary = ingest(spark, [str(tmp_path / "in")], tmp_path / "posts", IngestOptions(MAP), told.append)
    posts = {row.id: row for row in dataset.read(spark, tmp_path / "posts", POSTS).collect()}
    assert len(posts) == summary.posts
    kickoff = posts[KICKOFF_ID]
    assert kickoff.tags == ["euro2016", "fra"]
    assert kickoff.text == "Allez #Euro2016 and #Euro20…"
    assert summary.formats == {
        "Bluesky Jetstream": 1,
        "GetOldTweets": 2,
        "Mastodon": 1,
        "Parquet": 1,
        "TAGS": 1,
        "Twitter v1.1": 1,
        "X API v2": 1,
        "snscrape": 1,
    }
    assert (summary.files, summary.skipped) == (9, 4)
    assert summary.repeated == 8
    own = sorted((row.tags for row in posts.values() if row.author in ("ana", "bob") and "golo" in row.tags), key=str)
    assert own == [["golo"], ["golo"]]
    rejected = pq.read_table(tmp_path / "posts" / REJECTED_PART).to_pylist()
    assert sum(summary.rejected.values()) == len(rejected) == 4
    places = {(Path(row["file"]).name, row["line"]) for row in rejected}
    assert places == {("stream.json.gz", 3), ("page.json", 1), ("old.csv", 9), ("old.csv", 10)}
    assert all(row["reason"] and row["record"] for row in rejected)
    assert told[0] == "recognising files"
    assert pq.read_table(tmp_path / "posts").num_rows == summary.posts


def test_pseudonymised_posts_name_nobody(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path / "in")
    (tmp_path / "in" / "own.parquet").unlink()
    hidden = IngestOptions(pseudonyms=Pseudonyms(b"key"))
    ingest(spark, [str(tmp_path / "in" / "*")], tmp_path / "posts", hidden)
    everything = str(pq.read_table(tmp_path / "posts").to_pylist())
    everything += str(pq.read_table(tmp_path / "posts" / REJECTED_PART).to_pylist()).replace(str(tmp_path), "")
    for name in ("ana'", "yesterday", "bob", "eve", "did:plc", "social.example", KICKOFF_ID):
        assert name not in everything


def test_an_unknown_file_stops_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path / "in")
    with pytest.raises(InputError, match=r"own\.parquet: a Parquet file with the columns who, when, said; expected"):
        ingest(spark, [str(tmp_path / "in")], tmp_path / "posts")
    assert not (tmp_path / "posts").exists()


def mapped_file(path: Path, rows: list[tuple[str, str, int, str]]) -> str:
    lines = [f"{key},{who},{1465585200 + second},{said}\n" for key, who, second, said in rows]
    path.write_text("key,who,when,said\n" + "".join(lines))
    return str(path)


def test_posts_of_different_files_that_share_a_counted_id_stay_whole(spark: SparkSession, tmp_path: Path) -> None:
    one = mapped_file(tmp_path / "one.csv", [("1", "ana", 0, "a long text of ana #a"), ("2", "ana", 5, "again #x")])
    two = mapped_file(tmp_path / "two.csv", [("1", "bob", 9, "of bob #b"), ("2", "Ana", 5, "again #y")])
    columns = parse_map("id=key,author=who,at=when,text=said")
    summary = ingest(spark, [one, two], tmp_path / "posts", IngestOptions(columns))
    rows = dataset.read(spark, tmp_path / "posts", POSTS).orderBy("at").collect()
    assert [(row.author.lower(), row.text[:9], row.tags) for row in rows] == [
        ("ana", "a long te", ["a"]),
        ("ana", "again #y", ["x", "y"]),
        ("bob", "of bob #b", ["b"]),
    ]
    assert [row.id.split("~")[0] for row in rows] == ["1", "2", "1"]
    assert len({row.id for row in rows}) == 3
    assert rows[1].id == "2"
    assert (summary.posts, summary.repeated) == (3, 1)


def test_a_tweet_is_one_post_in_whatever_format_it_comes(spark: SparkSession, tmp_path: Path) -> None:
    short = {**page()["data"][0], "author_id": "7"}
    (tmp_path / "v1.json").write_text(json.dumps(status()))
    (tmp_path / "v2.json").write_text(json.dumps({"data": [short]}))
    (tmp_path / "sns.json").write_text(json.dumps(scraped()))
    own = mapped_file(tmp_path / "own.csv", [(KICKOFF_ID, "ana", 0, "mine #own"), ("9", "ana", 0, "x")])
    columns = parse_map("id=key,author=who,at=when,text=said")
    files = [str(tmp_path / name) for name in ("v1.json", "v2.json", "sns.json")]
    ingest(spark, [*files, own], tmp_path / "posts", IngestOptions(columns))
    posts = {row.id: row for row in dataset.read(spark, tmp_path / "posts", POSTS).collect()}
    assert sorted(posts) == [KICKOFF_ID, "9"]
    assert (posts[KICKOFF_ID].author, posts[KICKOFF_ID].text) == ("ana", "a long one #EURO2016")
    assert posts[KICKOFF_ID].tags == ["euro2016", "own"]
    again = ingest(spark, [str(tmp_path / "posts"), files[0], own], tmp_path / "again", IngestOptions(columns))
    assert (again.posts, again.repeated) == (2, 3)


def test_a_file_gone_missing_fails_the_job_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "v1.json").write_text(json.dumps(status()))
    planned = plan_ingestion([str(tmp_path / "v1.json")], tmp_path / "posts", IngestOptions())
    (tmp_path / "v1.json").unlink()
    with pytest.raises(InputError, match=r"^/.*v1\.json: the Spark workers cannot read it.*at the same path$"):
        ingest_parts(spark, planned, tmp_path / "posts", IngestOptions())
    assert list(tmp_path.iterdir()) == []


def test_posts_are_written_in_order_of_time_in_folders_by_day(spark: SparkSession, tmp_path: Path) -> None:
    rows = [[(f"{n}{k}", "ana", n * 43_200 - k, f"{k} #a") for k in range(3)] for n in range(4)]
    days = [mapped_file(tmp_path / f"{number}.csv", of_day) for number, of_day in enumerate(rows)]
    ingest(spark, days, tmp_path / "posts", IngestOptions(parse_map("id=key,author=who,at=when,text=said")))
    folders = sorted(folder.name for folder in (tmp_path / "posts").glob("day=*"))
    assert folders == ["day=2016-06-10", "day=2016-06-11", "day=2016-06-12"]
    for folder in folders:
        (file,) = (tmp_path / "posts" / folder).glob("*.parquet")
        times = pq.ParquetFile(file).read(columns=["at"])["at"].to_pylist()
        assert times == sorted(times)
        assert {f"day={when:%Y-%m-%d}" for when in times} == {folder}


def test_files_of_posts_begin_with_a_day_or_after_many_posts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thyme.pipeline.posts.ingest.FILE_ROWS", 10)
    assert file_numbers([5, 6, 7, 1_439, 1_440], [6, 6, 1, 1, 1]) == [0, 0, 1, 1, 2]


def test_appending_gives_the_dataset_of_all_files_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """With a copy, a counted id that two people share, and a spelling that only all files together decide."""
    columns = IngestOptions(parse_map("id=key,author=who,at=when,text=said"))
    rows = [("1", "ana", 0, "a #golo"), ("2", "ana", 5, "#golo"), ("3", "eve", 6, "#golô")]
    one = mapped_file(tmp_path / "one.csv", rows)
    two = mapped_file(tmp_path / "two.csv", [("1", "bob", 9, "of bob #golô"), ("2", "Ana", 5, "again #golô")])
    with (tmp_path / "two.csv").open("a") as file:
        file.write("short\n")
    three = mapped_file(tmp_path / "three.csv", [("7", "kim", 90_000, "#b"), ("1", "ana", 0, "a longer text #golo")])
    whole = ingest(spark, [one, two, three], tmp_path / "whole", columns)
    grown = tmp_path / "grown"
    ingest(spark, [one], grown, columns)
    assert {tag for row in dataset.read(spark, grown, POSTS).collect() for tag in row.tags} == {"golo"}
    second = ingest(spark, [one, two], grown, columns, append=True)
    assert (second.files, second.posts, second.repeated) == (1, 4, 1)
    third = ingest(spark, [str(tmp_path / "*.csv")], grown, columns, append=True)
    assert (third.files, third.posts, third.repeated, whole.posts) == (1, 5, 1, 5)
    nothing = ingest(spark, [one, two], grown, columns, append=True)
    assert (nothing.files, nothing.posts) == (0, 5)
    for schema, part in ((POSTS, ""), (REJECTED, REJECTED_PART)):
        frames = [dataset.frame_of(spark, tmp_path / name, schema, part).collect() for name in ("whole", "grown")]
        assert sorted(frames[0]) == sorted(frames[1]) != []
    assert {tag for row in dataset.read(spark, grown, POSTS).collect() for tag in row.tags} == {"b", "golô"}
    dataset.check(grown)


def test_what_cannot_be_appended_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    columns = IngestOptions(parse_map("id=key,author=who,at=when,text=said"))
    one = mapped_file(tmp_path / "one.csv", [("1", "ana", 0, "a #golo")])
    ingest(spark, [one], tmp_path / "posts", columns)
    with pytest.raises(InputError, match="was ingested with other options"):
        plan_ingestion([one], tmp_path / "posts", IngestOptions(merge_accents=False), append=True)
    with pytest.raises(InputError, match="no complete dataset"):
        plan_ingestion([one], tmp_path / "nothing", columns, append=True)
    mapped_file(tmp_path / "one.csv", [("1", "ana", 0, "a #golo"), ("2", "ana", 0, "b")])
    with pytest.raises(InputError, match=r"one\.csv: has changed since"):
        plan_ingestion([one], tmp_path / "posts", columns, append=True)


def test_tweet_archives_can_be_read_as_a_data_source(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path / "in")
    register(spark)
    posts = spark.read.format("thyme_posts").option("map", "author=who,at=when,text=said").load(str(tmp_path / "in"))
    assert posts.schema == POSTS
    assert posts.where("array_contains(tags, 'euro2016')").count() >= 3
    assert "BatchScan thyme_posts" in posts._jdf.queryExecution().toString()
    files = [str(tmp_path / "in" / name) for name in ("old.csv", "page.json")]
    kinds = spark.read.format("thyme_posts").option("records", "all").load(files).groupBy("kind").count().collect()
    assert {row.kind: row["count"] for row in kinds} == {"post": 8, "rejected": 3, "part": 2}
