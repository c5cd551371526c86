"""Live events over sliding windows: success, latency, notifications and traffic, as functions of DataFrames.

Lines become events of the declared schema; a line that is not an event is counted and left out. Each event counts in
every window that its own time (`at_s`) falls into. Success is the share of the operations that ended in a window that
succeeded: live operations always end, by a timeout if by nothing else, so a window never waits for those under way.
Events that come later than `late_s` behind the newest are dropped and counted, which bounds what Spark has to keep.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from thyme.model.errors import InputError
from thyme.model.records import EVENT_COLUMNS, OperationKind, TrafficKind
from thyme.pipeline.schemas import Columns, conform, spark_schema

NOTIFICATIONS = "notifications"
TRAFFIC = "traffic"
MAX_AT_S = 253_402_300_799.0
"""The last second of the year 9999, the last that Spark's timestamps take."""
MAX_FIGURE = 1e12
"""Latencies, counts and sizes beyond it are nonsense, and could not be added up."""
MIN_SPAN_S = 0.1
MAX_SPAN_S = 1_000_000.0
MAX_OVERLAP = 1_000
"""In how many windows an event may count."""
P95_ACCURACY = 1_000
"""The p95 is a measured latency whose rank is off by at most a thousandth; this bounds the memory of a window."""
WINDOW_COLUMNS: Columns = (
    ("from_s", "float64"),
    ("to_s", "float64"),
    ("what", "string"),
    ("issued", "int64"),
    ("succeeded", "int64"),
    ("failed", "int64"),
    ("notified", "int64"),
    ("success", "float64"),
    ("latency_mean_s", "float64"),
    ("latency_p95_s", "float64"),
    ("air_frames", "int64"),
    ("air_bytes", "int64"),
    ("control_frames", "int64"),
    ("control_bytes", "int64"),
    ("dropped_frames", "int64"),
    ("dropped_bytes", "int64"),
)
LINES = StructType([StructField("value", StringType())])
WINDOWS = spark_schema(WINDOW_COLUMNS)
_LIVE_EVENTS = spark_schema(EVENT_COLUMNS)
_UNREAD = "_unread"
_TRAFFIC = {"air": TrafficKind.PHY_SENT, "control": TrafficKind.CONTROL, "dropped": TrafficKind.DROPPED}
_OPERATIONS = ("issued", "succeeded", "failed")
OBSERVED = "lines"
_EXACT = "decimal(29,9)"
"""Sums of nanoseconds come out the same in any order; those of floats do not."""


class WatchOptions(msgspec.Struct, frozen=True):
    window_s: float = 60.0
    slide_s: float = 10.0
    late_s: float = 60.0
    """How far behind the newest event one may come and still count; nodes write traffic every ten seconds."""
    every_s: float = 2.0
    """How often the logs are looked at."""
    max_windows: int = 1_000
    """How many of the newest windows are kept to be shown."""
    partitions: int = 2
    """Into how many parts Spark splits its windows; a crowd's events are few."""

    def __post_init__(self) -> None:
        for name, value, low in (
            ("window", self.window_s, MIN_SPAN_S),
            ("slide", self.slide_s, MIN_SPAN_S),
            ("late", self.late_s, 0.0),
            ("every", self.every_s, MIN_SPAN_S),
        ):
            if not low <= value <= MAX_SPAN_S:
                raise InputError(f"{name} is {value} s; expected {low} to {MAX_SPAN_S}")
        if self.slide_s > self.window_s:
            raise InputError(f"slide is {self.slide_s} s; expected no more than the window, {self.window_s} s")
        if self.window_s / self.slide_s > MAX_OVERLAP:
            raise InputError(
                f"slide is {self.slide_s} s; expected at least {self.window_s / MAX_OVERLAP} s with this window"
            )


class WindowFigures(msgspec.Struct, frozen=True):
    """One row of WINDOWS: the operations of one kind, the notifications or the traffic of a window."""

    from_s: float
    to_s: float
    what: str
    issued: int
    succeeded: int
    failed: int
    notified: int
    success: float | None
    latency_mean_s: float | None
    latency_p95_s: float | None
    air_frames: int
    air_bytes: int
    control_frames: int
    control_bytes: int
    dropped_frames: int
    dropped_bytes: int


def read_lines(spark: SparkSession, staging: Path) -> DataFrame:
    """The lines of files that appear in a folder, each file once; what has been read is deleted."""
    return spark.readStream.schema(LINES).option("cleanSource", "delete").text(str(staging))


def parse_events(lines: DataFrame) -> DataFrame:
    """Events with the columns of `EVENT_COLUMNS`, and `malformed`: whether the line was none."""
    schema = StructType([*_LIVE_EVENTS.fields, StructField(_UNREAD, StringType())])
    read = lines.select(sf.from_json("value", schema, {"columnNameOfCorruptRecord": _UNREAD}).alias("event"))
    event = read.select("event.*")
    bounds = {"at_s": (0.0, MAX_AT_S)} | dict.fromkeys(("value", "count", "size_bytes"), (-MAX_FIGURE, MAX_FIGURE))
    operation = sf.col("kind").isin(*_OPERATIONS)
    whole = sf.col(_UNREAD).isNull() & sf.col("node").isNotNull() & sf.col("kind").isNotNull()
    whole &= ~operation | sf.col("name").isin(*(str(kind) for kind in OperationKind))
    for name, (low, high) in bounds.items():
        whole &= sf.col(name).between(low, high)
    return conform(event, _LIVE_EVENTS, (~sf.coalesce(whole, sf.lit(False))).alias("malformed"))


def observe_lines(events: DataFrame) -> DataFrame:
    """The same events; how many lines there were and how many of them malformed is told beside them."""
    lines = sf.count(sf.lit(1)).alias("lines")
    return events.observe(OBSERVED, lines, sf.count_if(sf.col("malformed")).alias("malformed"))


def sliding_windows(events: DataFrame, options: WatchOptions) -> DataFrame:
    """WINDOWS of the events that are not malformed, streaming or not."""
    kind, value = sf.col("kind"), sf.col("value")
    what = (
        sf.when(kind.isin(*_OPERATIONS), sf.col("name"))
        .when(kind == "notified", sf.lit(NOTIFICATIONS))
        .when(kind.isin(*(str(traffic) for traffic in TrafficKind)), sf.lit(TRAFFIC))
    )
    told = (
        events.where(~sf.col("malformed"))
        .select(sf.timestamp_seconds("at_s").alias("at"), what.alias("what"), "kind", "value", "count", "size_bytes")
        .where(sf.col("what").isNotNull())
        .withWatermark("at", _interval(options.late_s))
    )
    span = sf.window("at", _interval(options.window_s), _interval(options.slide_s))
    latency_s = sf.when(kind.isin("succeeded", "notified"), value)
    grouped = told.groupBy(span, "what").agg(
        *(_number_of(name).alias(name) for name in (*_OPERATIONS, "notified")),
        _exact_mean(latency_s).alias("latency_mean_s"),
        sf.percentile_approx(latency_s, 0.95, P95_ACCURACY).alias("latency_p95_s"),
        *(
            sf.sum(sf.when(kind == str(traffic), sf.col(column)).otherwise(0)).alias(f"{name}_{unit}")
            for name, traffic in _TRAFFIC.items()
            for unit, column in (("frames", "count"), ("bytes", "size_bytes"))
        ),
    )
    ended = sf.col("succeeded") + sf.col("failed")
    return conform(
        grouped.withColumns(
            {
                "from_s": _seconds(sf.col("window.start")),
                "to_s": _seconds(sf.col("window.end")),
                "success": sf.when(ended > 0, sf.col("succeeded") / ended),
            }
        ),
        WINDOWS,
    )


def _number_of(kind: str) -> Column:
    return sf.count_if(sf.col("kind") == kind)


def _seconds(timestamp: Column) -> Column:
    return sf.unix_micros(timestamp) / 1e6


def _exact_mean(value: Column) -> Column:
    return sf.sum(value.cast(_EXACT)).cast("double") / sf.count(value)


def _interval(seconds: float) -> str:
    return f"{round(seconds * 1e6)} microseconds"
