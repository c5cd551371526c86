"""A Spark session that starts when it is first needed: what finds all its results ready never waits for one."""

from __future__ import annotations

import io
from typing import TypeAlias

from pyarrow import csv
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.spark.connect import shown
from thyme.pipeline.spark.driver import stop
from thyme.pipeline.spark.given import chosen_master, given_settings
from thyme.pipeline.spark.session import brief_work, spark_session, steady_java
from thyme.places import Place

Session: TypeAlias = SparkSession
Frame: TypeAlias = DataFrame
"""For the signatures of those who have no other use for Spark's names."""


def read_csv(spark: Session, place: Place) -> Frame:
    """A small CSV file with a header, such as a study's `metrics.csv`."""
    table = csv.read_csv(io.BytesIO(place.read_bytes()))
    return from_arrow(spark, table, from_arrow_schema(table.schema))


class LazySession:
    """The session of a job; `brief` if it has little to compute. `close` stops it if this job started it; one that was
    there before is left alone."""

    def __init__(self, app: str, master: str = "", brief: bool = False) -> None:
        self._app = app
        self._master = master
        self._brief = brief
        self._spark: SparkSession | None = None
        self._own = False

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            self._own = SparkSession.getActiveSession() is None
            settings = brief_work() if self._brief else steady_java()
            self._spark = spark_session(self._app, self._master, **settings)
        return self._spark

    def need(self) -> SparkSession:
        """Have it now; everything until `close` shares it."""
        return self.spark

    @property
    def master(self) -> str:
        """Where it runs, or would, as it may be shown."""
        return shown(chosen_master(self._master, given_settings()))

    @property
    def started(self) -> bool:
        return self._spark is not None

    def close(self) -> None:
        if self._spark is not None and self._own:
            stop(self._spark)
        self._spark = None
