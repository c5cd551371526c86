"""A dataset appears whole or not at all, and never changes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.pipeline.schemas import POST_COLUMNS, POSTS, arrow_schema, spark_schema
from thyme.pipeline.spark import dataset

ROW = {"id": "1", "author": "ana", "at": datetime(2016, 7, 10, tzinfo=UTC), "text": "olá #Golo", "tags": ["golo"]}


def test_both_writers_give_the_same_dataset(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([ROW], schema=arrow_schema(POST_COLUMNS))
    dataset.write_once(table, tmp_path / "one")
    frame = dataset.read(spark, tmp_path / "one", POSTS)
    dataset.write_once(frame, tmp_path / "two")
    again = dataset.read(spark, tmp_path / "two", POSTS)
    assert again.toArrow().to_pylist() == [ROW]
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


class _Elsewhere:
    """A frame that is written on a machine with folders of its own."""

    @property
    def write(self) -> _Elsewhere:
        return self

    def options(self, **given: str) -> _Elsewhere:
        return self

    def partitionBy(self, *columns: str) -> _Elsewhere:  # noqa: N802 - Spark's name
        return self

    def parquet(self, uri: str) -> None:
        assert uri.startswith("file:///")


def test_what_spark_wrote_to_another_machine_s_folder_is_no_dataset_here(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="machines do not see this folder as this one does") as wrong,
        dataset.drafting(tmp_path / "numbers") as draft,
    ):
        draft.write(_Elsewhere())  # type: ignore[arg-type]
    assert str(wrong.value).startswith(f"{tmp_path}: ")
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_of_another_kind_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    dataset.write_once(spark.range(3), tmp_path / "numbers")
    with pytest.raises(InputError, match="lacks the columns author, at, text, tags"):
        dataset.read(spark, tmp_path / "numbers", POSTS)
    with pytest.raises(InputError, match="no complete dataset"):
        dataset.read(spark, tmp_path / "nothing", POSTS)


@pytest.mark.parametrize("name", ["a b", "a%20b", "[1]{x,y}", "col:on#?*", "ü'\"\\"])
def test_any_name_that_a_folder_can_have_will_do(spark: SparkSession, tmp_path: Path, name: str) -> None:
    dataset.write_once(spark.range(3), tmp_path / name / "numbers")
    numbers = dataset.read(spark, tmp_path / name / "numbers", spark_schema((("id", "int64"),)))
    assert numbers.count() == 3


def test_spark_is_told_of_this_file_system_whatever_its_own_is(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    before = settings.get("fs.defaultFS")
    settings.set("fs.defaultFS", "hdfs://nobody.invalid:9000")
    monkeypatch.chdir(tmp_path)
    try:
        dataset.write_once(spark.range(3), "numbers")
        assert dataset.read(spark, "numbers", spark_schema((("id", "int64"),))).count() == 3
    finally:
        settings.set("fs.defaultFS", before)
    assert dataset.exists(tmp_path / "numbers")


@pytest.mark.parametrize("place", ["/proc/nope/posts", "file/posts", "x" * 300])
def test_a_place_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    table = pa.Table.from_pylist([ROW], schema=arrow_schema(POST_COLUMNS))
    with pytest.raises(InputError, match=r": cannot be written \(.+\); choose another place"):
        dataset.write_once(table, tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_looking_whether_a_place_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    dataset.check_place(tmp_path / "new" / "folders" / "posts")
    assert list(tmp_path.iterdir()) == []
