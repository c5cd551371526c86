"""Ranks in a global order are those of sorting everything in one place, however the rows are split."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from thyme.pipeline.spark.keeping import job
from thyme.pipeline.spark.ranking import ranked

PARTITIONS = "spark.sql.shuffle.partitions"


@contextmanager
def partitions(spark: SparkSession, number: int) -> Iterator[None]:
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, number)
    try:
        yield
    finally:
        spark.conf.set(PARTITIONS, str(before))


@pytest.mark.parametrize(("parts", "ranges"), [(1, 2), (1, 5), (7, 5)])
def test_ranks_follow_the_order_and_leave_none_out(spark: SparkSession, parts: int, ranges: int) -> None:
    uses = (sf.col("id") * 37 % 11).alias("uses")
    frame = spark.range(0, 500, 1, parts).select(uses, sf.concat(sf.lit("tag"), "id").alias("tag"))
    with job(), partitions(spark, ranges):
        found, number = ranked(frame, sf.desc("uses"), "tag")
        rows = {row.tag: row.rank for row in found.collect()}
    names = sorted(((row.uses, row.tag) for row in frame.collect()), key=lambda one: (-one[0], one[1]))
    assert number == 500
    assert rows == {tag: rank for rank, (_, tag) in enumerate(names)}


@pytest.mark.parametrize("ranges", [2, 5])
def test_nothing_has_no_ranks(spark: SparkSession, ranges: int) -> None:
    with job(), partitions(spark, ranges):
        found, number = ranked(spark.range(5).where("id > 5"), "id")
        assert (number, found.count()) == (0, 0)
