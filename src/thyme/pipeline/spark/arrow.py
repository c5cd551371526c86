"""Arrow in and out of Spark, the only way in which Python code touches rows here.

Spark asks for an older pandas whenever Python functions are set up, even where, as here, rows travel as Arrow
batches and pandas is never involved; that one warning is not passed on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from thyme.pipeline.spark.driver import BatchFunction, equipped

TableFunction = Callable[[pa.Table], pa.Table]
PairFunction = Callable[[pa.Table, pa.Table], pa.Table]
ArrayFunction = Callable[[pa.Array], pa.Array]


def map_arrow(frame: DataFrame, function: BatchFunction, schema: StructType) -> DataFrame:
    """The batches of each partition, turned into other batches."""
    with no_pandas_advice():
        return frame.mapInArrow(equipped(frame.sparkSession, function), schema)


def map_groups(frame: DataFrame, by: Sequence[str], function: TableFunction, schema: StructType) -> DataFrame:
    """The rows of each group, turned into other rows where they are."""
    with no_pandas_advice():
        return frame.groupBy(*by).applyInArrow(function, schema)


def map_pairs(
    left: DataFrame, right: DataFrame, by: Sequence[str], function: PairFunction, schema: StructType
) -> DataFrame:
    """The rows of each group in two frames, turned into other rows by a function of both tables."""
    with no_pandas_advice():
        return left.groupBy(*by).cogroup(right.groupBy(*by)).applyInArrow(function, schema)


def column_function(function: ArrayFunction, type_: str) -> Callable[[Column], Column]:
    """A function of one column, whose other columns stay with Spark."""

    def apply(values: pa.Array) -> pa.Array:
        return function(values)

    with no_pandas_advice():
        return cast(Callable[[Column], Column], arrow_udf(apply, type_))  # type: ignore[call-overload]


def from_arrow(spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
    with no_pandas_advice():
        return spark.createDataFrame(table, schema=schema)


@contextmanager
def no_pandas_advice() -> Iterator[None]:
    """While this lasts, that warning is not heard."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
