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
from thyme.pipeline.posts.ingest import REJECTED_PART, IngestOptions, ingest, ingest_sources, plan_ingestion
from thyme.pipeline.schemas import POSTS
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
    rows = dataset.read(spark, tmp_path / "posts", POSTS).orderBy("at_s").collect()
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
    sources = plan_ingestion([str(tmp_path / "v1.json")], tmp_path / "posts", IngestOptions())
    (tmp_path / "v1.json").unlink()
    with pytest.raises(InputError, match=r"^/.*v1\.json: not there for the workers.*at the same path$"):
        ingest_sources(spark, sources, tmp_path / "posts", IngestOptions())
    assert list(tmp_path.iterdir()) == []


def test_posts_are_the_same_whether_their_files_stay_as_read_or_are_written_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = [json.dumps(status() | {"id_str": str(int(KICKOFF_ID) + n), "text": f"n {n}"}) for n in range(30)]
    (tmp_path / "one.jsonl").write_text("\n".join(lines))
    (tmp_path / "two.jsonl").write_text("\n".join(lines[10:20]))
    once = ingest(spark, [str(tmp_path / "one.jsonl")], tmp_path / "once")
    twice = ingest(spark, [str(tmp_path / "*.jsonl")], tmp_path / "twice")
    assert (once.posts, once.repeated, twice.posts, twice.repeated) == (30, 0, 30, 10)
    assert [file.name for file in (tmp_path / "once").glob("*.parquet")] == ["part-00000.parquet"]
    kept, merged = (pq.read_table(tmp_path / name).sort_by("id") for name in ("once", "twice"))
    assert kept.column_names == POSTS.names
    assert kept.to_pylist() == merged.to_pylist()
    dataset.check(tmp_path / "once")
