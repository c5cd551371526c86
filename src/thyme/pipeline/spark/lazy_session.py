"""A Spark session that starts when it is first needed: what finds all its results ready never waits for one."""

from __future__ import annotations

from typing import TypeAlias

from pyspark.sql import SparkSession

from thyme.pipeline.spark.connect import shown
from thyme.pipeline.spark.driver import stop
from thyme.pipeline.spark.given import chosen_master, given_settings
from thyme.pipeline.spark.session import brief_work, spark_session, steady_java

Session: TypeAlias = SparkSession
"""For the signatures of those who have no other use for Spark's names."""


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
