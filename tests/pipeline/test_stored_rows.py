"""Rows that tasks read by themselves are those of the dataset, in the columns and types that were declared."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from thyme.model.errors import InputError
from thyme.pipeline.schemas import METRIC_COLUMNS, METRICS, TRACE, arrow_schema, spark_schema
from thyme.pipeline.spark import dataset, stored_rows
from thyme.pipeline.spark.stored_rows import open_rows

ROWS = [{"run": f"run {number // 3}", "metric": f"m{number}", "value": number / 7} for number in range(20)]


def no_spark() -> SparkSession:
    raise AssertionError("Spark was asked for")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Three files, one of them with no rows."""
    with dataset.drafting(tmp_path / "metrics") as draft:
        for number, rows in enumerate((ROWS[:12], [], ROWS[12:])):
            draft.add(pa.Table.from_pylist(rows, arrow_schema(METRIC_COLUMNS)), number)
    return tmp_path / "metrics"


def test_all_rows_can_be_had_without_spark(place: Path) -> None:
    rows = open_rows(no_spark, place, METRICS)
    assert rows.number == 20
    assert rows.here(["value", "run"]).to_pylist() == [{"value": row["value"], "run": row["run"]} for row in ROWS]


def test_tasks_have_every_row_once(spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(table: pa.Table) -> pa.Table:
        return pa.concat_tables([table, table])

    monkeypatch.setattr(stored_rows, "STRETCH_ROWS", 1)
    found = open_rows(lambda: spark, place, METRICS).map(["metric"], doubled, spark_schema((("metric", "string"),)))
    assert Counter(row.metric for row in found.collect()) == Counter([row["metric"] for row in ROWS] * 2)


def test_a_dataset_of_no_rows_has_columns(tmp_path: Path) -> None:
    dataset.write_table_once(arrow_schema(METRIC_COLUMNS).empty_table(), tmp_path / "nothing")
    table = open_rows(no_spark, tmp_path / "nothing", METRICS).here(["run", "value"])
    assert (table.num_rows, table.column_names) == (0, ["run", "value"])


def test_types_are_those_that_were_declared(tmp_path: Path) -> None:
    whole = pa.table({"run": ["a"], "metric": ["b"], "value": pa.array([3], pa.int32())})
    dataset.write_table_once(whole, tmp_path / "whole")
    found = open_rows(no_spark, tmp_path / "whole", METRICS).here(["value"])
    assert found.schema.field("value").type == pa.float64()


def test_missing_columns_and_damage_are_told(place: Path) -> None:
    with pytest.raises(InputError, match="lacks the columns operation, at_s"):
        open_rows(no_spark, place, TRACE)
    (place / "part-00002.parquet").unlink()
    with pytest.raises(InputError, match=r"part-00002\.parquet is missing"):
        open_rows(no_spark, place, METRICS)
