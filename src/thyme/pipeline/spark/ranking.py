"""Rows numbered in a global order, without ever being in one place.

They are split by ranges of the order, each range is sorted where it is, and the driver learns how many rows each holds:
a row's rank is its number in its range, plus all rows of the ranges before. A session that suits little data (by its
number of partitions) has one range, which spares Spark looking for the bounds of several.
"""

from __future__ import annotations

from itertools import accumulate

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.schemas import Columns, arrow_schema, spark_schema
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.spark.keeping import keep

_OFFSETS: Columns = (("range", "int64"), ("before", "int64"))
_PLACE_BITS = 33
"""Spark numbers rows by partition, and within it by so many bits."""


ONE_RANGE_PARTITIONS = 2
"""A session with so few partitions was started for little data."""


def ranked(frame: DataFrame, *order: str | Column) -> tuple[DataFrame, int]:
    """The frame with the column `rank` from 0, and how many rows it has. The order has to leave no ties."""
    partitions = int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    ranges = frame.coalesce(1) if partitions <= ONE_RANGE_PARTITIONS else frame.repartitionByRange(*order)
    sorted_ranges = ranges.sortWithinPartitions(*order)
    numbered = keep(sorted_ranges.withColumn("place", sf.monotonically_increasing_id()))
    placed = numbered.withColumn("range", sf.shiftright("place", _PLACE_BITS))
    if partitions <= ONE_RANGE_PARTITIONS:
        return numbered.withColumnRenamed("place", "rank"), numbered.count()
    sizes = placed.groupBy("range").agg(sf.count("*").alias("rows")).toArrow().sort_by("range")
    counts: list[int] = sizes["rows"].to_pylist()
    before = list(accumulate(counts, initial=0))
    table = pa.table([sizes["range"], pa.array(before[:-1], pa.int64())], schema=arrow_schema(_OFFSETS))
    offsets = sf.broadcast(from_arrow(frame.sparkSession, table, spark_schema(_OFFSETS)))
    rank = sf.col("before") + sf.col("place").bitwiseAND(sf.lit((1 << _PLACE_BITS) - 1))
    joined = placed.join(offsets, on="range", how="inner")
    return joined.select(*frame.columns, rank.alias("rank")), before[-1]
