"""The declared schemas of the pipeline's datasets, for Spark and for Arrow alike.

Traces and events have their columns in the model, because the simulator and the live runtime write them too;
the pipeline adds what tells several traces or runs in one dataset apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from thyme.model.operations import TRACE_COLUMNS
from thyme.model.records import EVENT_COLUMNS

_TYPES: dict[str, tuple[DataType, pa.DataType]] = {
    "string": (StringType(), pa.string()),
    "int64": (LongType(), pa.int64()),
    "float64": (DoubleType(), pa.float64()),
    "bool": (BooleanType(), pa.bool_()),
    "binary": (BinaryType(), pa.binary()),
    "timestamp": (TimestampType(), pa.timestamp("us", "UTC")),
    "list<string>": (ArrayType(StringType()), pa.list_(pa.string())),
}

Columns = tuple[tuple[str, str], ...]

POST_COLUMNS: Columns = (
    ("id", "string"),
    ("author", "string"),
    ("at", "timestamp"),
    ("text", "string"),
    ("tags", "list<string>"),
)
REJECTED_COLUMNS: Columns = (
    ("file", "string"),
    ("line", "int64"),
    ("reason", "string"),
    ("record", "string"),
)
EXPECTED_COLUMNS: Columns = (("trace", "string"), ("subscription", "string"), ("expected", "int64"))
METRIC_COLUMNS: Columns = (("run", "string"), ("metric", "string"), ("value", "float64"))
SUMMARY_COLUMNS: Columns = (
    ("metric", "string"),
    ("mean", "float64"),
    ("deviation", "float64"),
    ("low", "float64"),
    ("high", "float64"),
    ("runs", "int64"),
)


def spark_schema(columns: Columns) -> StructType:
    return StructType([StructField(name, _TYPES[kind][0]) for name, kind in columns])


def arrow_schema(columns: Columns) -> pa.Schema:
    return pa.schema([(name, _TYPES[kind][1]) for name, kind in columns])


POSTS = spark_schema(POST_COLUMNS)
REJECTED = spark_schema(REJECTED_COLUMNS)
TRACE = spark_schema(TRACE_COLUMNS)
EVENTS = spark_schema((("run", "string"), *EVENT_COLUMNS))
EXPECTED = spark_schema(EXPECTED_COLUMNS)
METRICS = spark_schema(METRIC_COLUMNS)
SUMMARIES = spark_schema(SUMMARY_COLUMNS)


def conform(frame: DataFrame, schema: StructType, *extra: str | Column) -> DataFrame:
    """Exactly the columns of the schema, with its types, after any `extra` ones (the keys of a dataset)."""
    columns = [sf.col(field.name).cast(field.dataType).alias(field.name) for field in schema.fields]
    return frame.select(*extra, *columns)


def timestamps(at_s: npt.NDArray[np.float64]) -> pa.Array:
    """Seconds since 1970 as timestamps."""
    micros = np.rint(np.nan_to_num(at_s) * 1e6).astype(np.int64)
    return pa.array(micros).cast(pa.timestamp("us", "UTC"))


def seconds(at: Column) -> Column:
    """A timestamp as seconds since 1970."""
    return sf.unix_micros(at) / 1e6
