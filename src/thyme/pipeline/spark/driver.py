"""What only the driver of a Spark application knows of it, asked of it wherever it is.

Everything else that the pipeline does is said to Spark in the same words, whether its driver is in this process or
behind a Spark Connect server (`spark.connect`). These few things are not: here is all the difference there is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.places import S3_ADDRESSES

BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""By this variable PySpark knows which kind of session its functions are for."""
MAX_CORES = 100_000
"""So many rows are split among the cores of a cluster to see how many those are."""
_SIZE = re.compile(r"sizeInBytes=(?P<number>[\d.E+]+) (?P<unit>[KMGTPE]i)?B")
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def is_elsewhere(spark: SparkSession) -> bool:
    """Whether the driver is another process, behind a Spark Connect server."""
    return not isinstance(spark, SparkSession)


def stop(spark: SparkSession) -> None:
    """End the session, and behind a server what it has under way; this process may then start one of either kind."""
    spark.stop()
    os.environ.pop(CONNECT_MODE, None)


def cores_of(spark: SparkSession) -> int:
    """How many tasks run at once."""
    if not is_elsewhere(spark):
        return spark.sparkContext.defaultParallelism
    parts = spark.range(MAX_CORES).select(sf.spark_partition_id().alias("part"))
    return int(parts.agg(sf.max("part")).collect()[0][0]) + 1


def estimated_bytes(frame: DataFrame) -> int:
    """How large Spark believes a frame to be, by its plan alone."""
    plan: Any = frame
    if not is_elsewhere(frame.sparkSession):
        return int(str(plan._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    return size_in_plan(plan._explain_string(mode="cost"))


def size_in_plan(text: str) -> int:
    """The first size that an explained plan names, which is that of its result: `Statistics(sizeInBytes=1.5 MiB)`."""
    found = _SIZE.search(text)
    assert found is not None, text
    unit = _UNITS.index(found["unit"]) + 1 if found["unit"] else 0
    return int(float(found["number"]) * 1024**unit)


def tell_workers(spark: SparkSession) -> None:
    """Have all workers know where stores are, as this process does; `equipped` does it where they cannot be told."""
    if not is_elsewhere(spark):
        spark.sparkContext.environment.update(_addresses())


def equipped(spark: SparkSession, function: BatchFunction) -> BatchFunction:
    """The function with what its worker has to know of this process."""
    addresses = _addresses()
    return _Equipped(addresses, function) if addresses and is_elsewhere(spark) else function


def _addresses() -> dict[str, str]:
    return {name: os.environ[name] for name in S3_ADDRESSES if name in os.environ}


class _Equipped(msgspec.Struct, frozen=True):
    """A function of batches that finds these variables around it."""

    environment: dict[str, str]
    function: BatchFunction

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _environment(self.environment):
            yield from self.function(batches)


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
