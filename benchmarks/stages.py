"""The stages of the pipeline as the benchmark runs them: from a file to a dataset, and a number to check."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.manifest import read_manifest
from thyme.pipeline.metrics.writing import PlayedRuns, write_expected, write_run_metrics
from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.runs.run import EVENTS_FILE
from thyme.pipeline.schemas import EVENTS, POSTS, TRACE, conform
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.session import spark_session
from thyme.pipeline.traces.behaviour import Rates
from thyme.pipeline.traces.trace import TraceOptions, write_trace

_RUN = "bench"


def ingest_lines(source: Path, out: Path) -> int:
    """How many posts were read."""
    return ingest(spark_session(_RUN), [str(source)], out).posts


def bench_options(posts: Path, subscriptions: int) -> TraceOptions:
    """Of a trace in which every user with a tagged post takes part."""
    frame = dataset.read(spark_session(_RUN), posts, POSTS)
    users = frame.where(sf.size("tags") > 0).select("author").distinct().count()
    hourly = subscriptions / users / 3.0
    rates = Rates(
        subscriptions_first_per_hour=hourly,
        subscriptions_rest_per_hour=hourly,
        deletes_per_hour=0.05,
        unsubscribes_per_hour=hourly / 10.0,
    )
    return TraceOptions(users=users, rates=rates)


def trace_words(options: TraceOptions) -> list[str]:
    """The same for the command."""
    names = ("subscriptions_first_per_hour", "subscriptions_rest_per_hour", "deletes_per_hour", "unsubscribes_per_hour")
    settings = [f"rates.{name}={getattr(options.rates, name)!r}" for name in names]
    return ["--users", str(options.users), *(word for setting in settings for word in ("--set", setting))]


def make_bench_trace(posts: Path, out: Path, options: TraceOptions) -> None:
    write_trace(dataset.read(spark_session(_RUN), posts, POSTS), options, out)


def count_truth(trace: Path, out: Path) -> int:
    """How many notifications a perfect execution gives."""
    write_expected(spark_session(_RUN), {"": trace}, out)
    return int(pc.sum(dataset.read_table(out)["expected"]).as_py() or 0)


def make_bench_events(trace: Path, out: Path) -> None:
    """The events of a run in which each operation succeeds and each object is notified once, as a study keeps them."""
    events = _made_up_events(dataset.read(spark_session(_RUN), trace, TRACE))
    with dataset.drafting(out / "made") as draft:
        draft.write(events.coalesce(1))
    (out / _RUN).mkdir()
    next((out / "made").glob("*.parquet")).rename(out / _RUN / EVENTS_FILE)


def run_bench_metrics(trace: Path, events: Path) -> int:
    """How many metrics the made-up run has, measured with the truth that belongs to it."""
    runs = PlayedRuns((_RUN,), ("",), (0,), (False,), {"": trace})
    expected = write_expected(spark_session(_RUN), runs.paths, events / "expected")
    write_run_metrics(spark_session(_RUN), events, runs, expected, events / "metrics")
    return read_manifest(events / "metrics").rows


def _made_up_events(trace: DataFrame) -> DataFrame:
    key = sf.concat_ws("@", sf.coalesce("oid", sf.lit("")), sf.col("node").cast("string"))
    latency_s = (sf.col("operation") % 997) / 1000.0
    rows = trace.select(
        "at_s", "node", "operation", sf.col("kind").alias("name"), key.alias("object"), latency_s.alias("value")
    )
    issued = rows.withColumns({"kind": sf.lit("issued"), "subscription": sf.lit("")})
    succeeded = rows.withColumns({"kind": sf.lit("succeeded"), "subscription": sf.lit("")})
    inserted = rows.where(sf.col("name") == "insert")
    notified = inserted.withColumns({"kind": sf.lit("notified"), "subscription": sf.lit("0@0"), "name": sf.lit("")})
    sent = inserted.withColumns({"kind": sf.lit("phy sent"), "subscription": sf.lit(""), "name": sf.lit("data")})
    more = {
        "run": sf.lit(_RUN),
        "peer": sf.lit(-1),
        "count": sf.lit(1),
        "size_bytes": sf.lit(100),
        "reason": sf.lit(""),
    }
    everything = issued.unionByName(succeeded).unionByName(notified).unionByName(sent)
    return conform(everything.withColumns(more), EVENTS)
