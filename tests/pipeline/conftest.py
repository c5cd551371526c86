"""One Spark session for all tests of the pipeline: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from thyme.pipeline.spark.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    small = {"spark.sql.shuffle.partitions": "2", "spark.sql.codegen.wholeStage": "false"}
    session = spark_session("tests", "local[2]", **small)
    yield session
    session.stop()
