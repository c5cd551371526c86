"""Frames that a job keeps are there while it runs and gone afterwards."""

from __future__ import annotations

import pytest
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from thyme.pipeline.spark.keeping import job, keep


def test_a_job_lets_go_of_what_it_kept(spark: SparkSession) -> None:
    with job():
        frame = keep(spark.range(10), StorageLevel.DISK_ONLY)
        assert frame.count() == 10
        assert frame.is_cached
        assert frame.storageLevel.useDisk
    assert not frame.is_cached


def test_a_job_that_fails_lets_go_as_well(spark: SparkSession) -> None:
    frame = spark.range(11)

    def fails() -> None:
        with job():
            keep(frame).select("no such column")

    with pytest.raises(AnalysisException, match="no such column"):
        fails()
    assert not frame.is_cached


def test_an_inner_job_leaves_alone_what_the_outer_one_keeps(spark: SparkSession) -> None:
    with job():
        outer = keep(spark.range(12))
        with job():
            inner = keep(spark.range(13))
        assert outer.is_cached
        assert not inner.is_cached


def test_outside_a_job_frames_stay_until_somebody_lets_them_go(spark: SparkSession) -> None:
    frame = keep(spark.range(14))
    assert frame.is_cached
    frame.unpersist()
