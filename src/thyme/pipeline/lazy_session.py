"""A Spark session that starts when it is first needed: what finds all its results ready never waits for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from thyme.pipeline.session import spark_session

BRIEF_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For jobs of a minute: a quick compiler instead of a thorough one halves the processor time of a small study."""
_JAVA_OPTIONS = "JDK_JAVA_OPTIONS"


class LazySession:
    """The session of a job; `brief` if it has little to compute. `close` stops it if this job started it; one that was
    there before is left alone."""

    def __init__(self, app: str, master: str, brief: bool = False) -> None:
        self._app = app
        self._master = master
        self._brief = brief
        self._spark: SparkSession | None = None
        self._own = False

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            self._own = SparkSession.getActiveSession() is None
            with _java_options(BRIEF_JAVA if self._brief else ""):
                self._spark = spark_session(self._app, self._master)
        return self._spark

    @property
    def started(self) -> bool:
        return self._spark is not None

    def close(self) -> None:
        if self._spark is not None and self._own:
            self._spark.stop()
        self._spark = None


@contextmanager
def _java_options(options: str) -> Iterator[None]:
    """Java started meanwhile gets these options, unless the person at the machine has chosen others."""
    if not options or _JAVA_OPTIONS in os.environ:
        yield
        return
    os.environ[_JAVA_OPTIONS] = options
    try:
        yield
    finally:
        del os.environ[_JAVA_OPTIONS]
