"""A dataset appears whole or not at all, and never changes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.pipeline import dataset
from thyme.pipeline.schemas import POST_COLUMNS, POSTS, arrow_schema, spark_schema

ROW = {"id": "1", "author": "ana", "at_s": 1.5, "text": "olá #Golo", "tags": ["golo"]}


def test_both_writers_give_the_same_dataset(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([ROW], schema=arrow_schema(POST_COLUMNS))
    dataset.write_table_once(table, tmp_path / "one")
    frame = dataset.read(spark, tmp_path / "one", POSTS)
    dataset.write_once(frame, tmp_path / "two", files=1)
    again = dataset.read(spark, tmp_path / "two", POSTS)
    assert [row.asDict() for row in again.collect()] == [ROW]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one", "two"]


def test_a_dataset_is_never_replaced(spark: SparkSession, tmp_path: Path) -> None:
    dataset.write_once(spark.range(3), tmp_path / "numbers")
    with pytest.raises(InputError, match="exists already"):
        dataset.write_once(spark.range(4), tmp_path / "numbers")
    assert dataset.read(spark, tmp_path / "numbers", spark_schema((("id", "int64"),))).count() == 3


def test_an_interrupted_job_leaves_no_dataset(spark: SparkSession, tmp_path: Path) -> None:
    broken = spark.range(1).select(sf.raise_error(sf.lit("broken")).alias("id"))
    with pytest.raises(Exception, match="broken"):
        dataset.write_once(broken, tmp_path / "numbers")
    assert not dataset.exists(tmp_path / "numbers")
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_of_another_kind_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    dataset.write_once(spark.range(3), tmp_path / "numbers")
    with pytest.raises(InputError, match="lacks the columns author, at_s, text, tags"):
        dataset.read(spark, tmp_path / "numbers", POSTS)
    with pytest.raises(InputError, match="no complete dataset"):
        dataset.read(spark, tmp_path / "nothing", POSTS)
