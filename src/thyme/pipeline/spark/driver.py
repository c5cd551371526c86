"""What only the driver of a Spark application knows of it, asked of it wherever it is.

Everything else that the pipeline does is said to Spark in the same words, whether its driver is in this process or
behind a Spark Connect server (`spark.connect`). These few things are not: here is all the difference there is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from thyme.places import S3_ADDRESSES

BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""By this variable PySpark knows which kind of session its functions are for."""
JOB_GROUP, JOB_TEXT = "spark.jobGroup.id", "spark.job.description"
MAX_CORES = 100_000
"""So many rows are split among the cores of a cluster to see how many those are."""


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


@contextmanager
def described(spark: SparkSession, stage: str, text: str) -> Iterator[None]:
    """Jobs that this thread starts here belong to a stage of the pipeline and have a description, by which the pages
    and logs of Spark show them. Behind a server, they have the stage as a tag."""
    if is_elsewhere(spark):
        spark.addTag(stage)
        try:
            yield
        finally:
            spark.removeTag(stage)
        return
    context = spark.sparkContext
    before = [(name, context.getLocalProperty(name)) for name in (JOB_GROUP, JOB_TEXT)]
    context.setLocalProperty(JOB_GROUP, stage)
    context.setLocalProperty(JOB_TEXT, text)
    try:
        yield
    finally:
        for name, value in before:
            context.setLocalProperty(name, value)  # type: ignore[arg-type]


def tell_workers(spark: SparkSession) -> None:
    """Have all workers know where stores are, as this process does; `equipped` does it where they cannot be told."""
    if not is_elsewhere(spark):
        spark.sparkContext.environment.update(_addresses())


def equipped(spark: SparkSession, function: BatchFunction) -> BatchFunction:
    """The function with what its worker has to know of this process."""
    addresses = _addresses()
    return Equipped(addresses, function) if addresses and is_elsewhere(spark) else function


def _addresses() -> dict[str, str]:
    return {name: os.environ[name] for name in S3_ADDRESSES if name in os.environ}


class Equipped(msgspec.Struct, frozen=True):
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
