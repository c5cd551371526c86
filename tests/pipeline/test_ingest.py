"""Ingestion end to end: mixed files in one call, with nothing lost silently."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from post_samples import KICKOFF_ID, write_all
from pyspark.sql import SparkSession

from thyme.model.errors import InputError
from thyme.pipeline import dataset
from thyme.pipeline.formats.mapped import parse_map
from thyme.pipeline.formats.posts import Pseudonyms
from thyme.pipeline.ingest import REJECTED_PART, IngestOptions, ingest
from thyme.pipeline.schemas import POSTS

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
    for name in ("ana'", "bob", "eve", "did:plc", "social.example", KICKOFF_ID):
        assert name not in everything


def test_an_unknown_file_stops_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path / "in")
    with pytest.raises(InputError, match=r"own\.parquet: a Parquet file with the columns who, when, said; expected"):
        ingest(spark, [str(tmp_path / "in")], tmp_path / "posts")
    assert not (tmp_path / "posts").exists()
