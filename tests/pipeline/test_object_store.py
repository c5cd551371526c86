"""Datasets in an object store on loopback: the same rows as in a folder, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from post_samples import write_all
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.pipeline.manifest import MANIFEST, damage_of, read_manifest
from thyme.pipeline.posts.formats.mapped import parse_map
from thyme.pipeline.posts.ingest import IngestOptions, ingest
from thyme.pipeline.schemas import POSTS, REJECTED, spark_schema
from thyme.pipeline.spark import dataset
from thyme.places import Remote, place_of

NUMBERS = spark_schema((("id", "int64"),))


def numbers_of(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


def test_executors_write_objects_that_the_list_names_and_readers_take_no_others(
    spark: SparkSession, store: str
) -> None:
    place = place_of(f"{store}/numbers")
    assert isinstance(place, Remote)
    dataset.write_once(spark.range(0, 100, 1, 3), place, made_from="a test")
    listed = read_manifest(place)
    assert (len(listed.files), listed.rows, listed.made_from) == (3, 100, "a test")
    (place / "part-00000-of-a-lost-task.parquet").write_bytes((place / min(listed.files)).read_bytes())
    assert numbers_of(dataset.read(spark, place, NUMBERS)) == list(range(100))
    assert dataset.read_table(place).num_rows == 100
    with pytest.raises(InputError, match="exists already"):
        dataset.write_once(spark.range(3), place)


def test_a_dataset_without_its_list_is_none_and_damage_is_told_and_removed(spark: SparkSession, store: str) -> None:
    place = place_of(f"{store}/numbers")
    assert isinstance(place, Remote)
    dataset.write_once(spark.range(10), place)
    part = place / min(read_manifest(place).files)
    content = part.read_bytes()
    part.write_bytes(content[:-4])
    assert "bytes and not" in damage_of(place)
    with pytest.raises(InputError, match="the dataset is damaged"):
        dataset.read(spark, place, NUMBERS)
    part.write_bytes(content)
    assert damage_of(place) == ""
    (place / MANIFEST).remove()
    with pytest.raises(InputError, match="there is no complete dataset"):
        dataset.read(spark, place, NUMBERS)
    with pytest.raises(InputError, match="is not empty, and not a complete dataset"):
        dataset.write_once(spark.range(3), place)
    heard: list[str] = []
    assert not dataset.kept(place, heard.append)
    assert heard == [f"numbers: {MANIFEST} is missing"]
    assert not place.exists()


def test_a_job_that_fails_leaves_nothing(spark: SparkSession, store: str) -> None:
    place = place_of(f"{store}/numbers")
    broken = spark.range(0, 10, 1, 2).select(sf.when(sf.col("id") == 9, sf.raise_error(sf.lit("broken"))).alias("id"))
    with pytest.raises(Exception, match="broken"):
        dataset.write_once(broken, place)
    assert not place.exists()


def test_no_rows_are_still_a_dataset_with_columns(spark: SparkSession, store: str) -> None:
    place = dataset.write_once(spark.range(10).where("id > 10"), f"{store}/none")
    assert dataset.read(spark, place, NUMBERS).count() == 0


def test_posts_are_ingested_from_the_store_into_the_store_as_from_and_into_folders(
    spark: SparkSession, store: str, tmp_path: Path
) -> None:
    write_all(tmp_path / "in")
    for file in (tmp_path / "in").iterdir():
        if file.suffix in (".bz2", ".parquet", ".zip"):
            Remote(f"{store}/in/{file.name}").write_bytes(file.read_bytes())
        else:
            file.unlink()
    (tmp_path / "in" / "own.csv").write_text("who,when,said\nana,2016-06-10T19:00:00Z,#one\nana,never,#two\n")
    Remote(f"{store}/in/own.csv").write_bytes((tmp_path / "in" / "own.csv").read_bytes())
    options = IngestOptions(parse_map("author=who,at=when,text=said"))
    here = ingest(spark, [str(tmp_path / "in")], tmp_path / "posts", options)
    there = ingest(spark, [f"{store}/in"], place_of(f"{store}/posts"), options)
    assert there == here
    order = ["id", "at"]
    own = dataset.read(spark, tmp_path / "posts", POSTS).orderBy(*order).collect()
    stored = place_of(f"{store}/posts")
    assert dataset.read(spark, stored, POSTS).orderBy(*order).collect() == own
    rejected = [name for name in read_manifest(stored).files if name.startswith("_rejected/")]
    assert dataset.read_files(spark, [stored / name for name in rejected], REJECTED).count() == sum(
        here.rejected.values()
    )
    with pytest.raises(InputError, match="no such object, folder or pattern"):
        ingest(spark, [f"{store}/in/*.nothing"], place_of(f"{store}/other"), options)
