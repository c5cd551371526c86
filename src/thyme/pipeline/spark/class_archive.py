"""Spark's Java classes as Java itself keeps them ready: read once, checked once, and mapped into memory from then on.

Starting Spark and its first query take half the processor time with it, as most of that goes into reading some 20,000
classes. The archive (Java's "class data sharing") is made once, when Thyme is set up (`make install`, or
`python -m thyme.pipeline.spark.class_archive`); its name says which Java and Spark it belongs to, and Java ignores one
that does not fit. It is a file in the user's cache, of some 180 MB, which may be deleted at any time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import Window
from pyspark.sql import functions as sf

from thyme.drafts import drafted
from thyme.pipeline.schemas import METRIC_COLUMNS, METRICS, arrow_schema
from thyme.pipeline.spark.arrow import from_arrow, map_arrow, map_groups
from thyme.pipeline.spark.java import QUIET, archive_of, find_java
from thyme.pipeline.spark.session import JAVA_OPTIONS, brief_work, spark_session

EXIT_PATIENCE_S = 300.0
"""Writing takes Java some seconds after its work is done."""


def make_archive() -> Path:
    """The archive, made now or earlier. A Java of its own does a little of everything, and leaves it when it ends."""
    archive = archive_of(find_java())
    if not archive.is_file():
        with drafted(archive) as draft:
            _write(draft)
            if not draft.is_file():
                raise OSError(f"{find_java()} keeps no classes")
    return archive


def _write(draft: Path) -> None:
    options = brief_work()
    options[JAVA_OPTIONS] += f" -XX:ArchiveClassesAtExit={draft} {QUIET}"
    spark = spark_session("classes", "local[2]", **options)
    process: Any = SparkContext._gateway.proc  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="thyme-classes-") as folder:
        _do_a_little_of_everything(spark, folder)
    spark.stop()
    process.stdin.close()
    process.wait(EXIT_PATIENCE_S)


def _do_a_little_of_everything(spark: Any, folder: str) -> None:
    rows = pa.table([["a", "b"], ["x", "y"], [1.0, 2.0]], schema=arrow_schema(METRIC_COLUMNS))
    frame = map_groups(map_arrow(from_arrow(spark, rows, METRICS), _same, METRICS), ["run"], _same, METRICS)
    ranked = frame.withColumn("rank", sf.row_number().over(Window.partitionBy("run").orderBy("value")))
    listed = ranked.groupBy("run").agg(
        sf.collect_list("value").alias("values"), sf.sum(sf.col("value").cast("decimal(29,9)"))
    )
    listed.join(sf.broadcast(frame), on="run", how="left").orderBy("run").write.parquet(f"file://{folder}/one")
    back = spark.read.parquet(f"file://{folder}/one")
    back.select("run", sf.explode("values").alias("value")).unionByName(
        frame.select("run", "value")
    ).distinct().toArrow()
    back.join(frame.hint("merge"), on="run", how="left_semi").count()


def _same(what: Any) -> Any:
    return what


if __name__ == "__main__":
    made = make_archive()
    sys.stdout.write(f"{made} ({made.stat().st_size / 1e6:.0f} MB)\n")
