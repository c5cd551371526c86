"""What the metrics of a run are made of: its events summed once, by kind, name and node, as far as anybody asks.

One pass over the events adds up counts, bytes and joules; another gathers the values whose order matters (latencies,
delays, samples). Notified pairs are counted and held against the truth in one join. What comes of them is one small
table per run (`COLUMNS`), from which `run_figures` works everything out where the run's rows are. Names that mean
nothing to any metric, such as those of messages, are not kept apart.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from thyme.model.records import TrafficKind
from thyme.pipeline.metrics.tallies import NODES, PAIRS, WANTED
from thyme.pipeline.truth.oracle import judge_pairs

GATHERED = ("succeeded", "notified", "sampled")
NAMED = ("issued", "succeeded", "energy", "stored", "sampled")
BY_NODE = (str(TrafficKind.PHY_SENT), "stored", "energy")
VALUED = ("energy", "joined")
USED = (*TrafficKind, *NAMED, *BY_NODE, *VALUED, "notified", "failed", "left", "moved")
_EXACT = "decimal(29,9)"
"""Adding floats depends on their order, which Spark does not promise; nanoseconds and nanojoules do not."""
COLUMNS = {
    "run": "string",
    "kind": "string",
    "name": "string",
    "node": "long",
    "rows": "long",
    "count": "long",
    "most": "long",
    "size_bytes": "long",
    "total": "decimal(38,9)",
    "values": "array<double>",
    "last": "double",
}


def sum_events(events: DataFrame) -> DataFrame:
    """The sums of each run's events, in the columns of `COLUMNS`."""
    kind = sf.col("kind")
    used = events.where(kind.isin(*map(str, USED)))
    name = sf.when(kind.isin(*NAMED), sf.col("name")).otherwise("").alias("name")
    node = sf.when(kind.isin(*BY_NODE), sf.col("node")).otherwise(-1).alias("node")
    value = sf.when(kind.isin(*VALUED), sf.col("value").cast(_EXACT))
    summed = used.groupBy("run", "kind", name, node).agg(
        sf.count("*").alias("rows"),
        sf.sum("count").alias("count"),
        sf.max("count").alias("most"),
        sf.sum("size_bytes").alias("size_bytes"),
        sf.sum(value).alias("total"),
    )
    return _tall(summed).unionByName(_tall(_gathered(events)))


def _gathered(events: DataFrame) -> DataFrame:
    """The values of each run, kind and name; of samples, the last one too."""
    kept = events.where(sf.col("kind").isin(*GATHERED))
    sample = sf.when(sf.col("kind") == "sampled", sf.struct("at_s", "node", "value"))
    gathered = kept.groupBy("run", "kind", "name").agg(
        sf.collect_list("value").alias("values"), sf.max(sample).alias("sample")
    )
    return gathered.withColumn("last", sf.col("sample.value"))


def count_pairs(
    events: DataFrame, runs: DataFrame, trace: DataFrame | None = None, expected: DataFrame | None = None
) -> DataFrame:
    """What each of the `runs` was notified of, and, with a trace and its expected counts, what it should have been."""
    notified = events.where(sf.col("kind") == "notified")
    pairs = notified.groupBy("run", "subscription", "object").agg(sf.count("*").alias("times"))
    right: Column = sf.lit(None)
    rows = []
    if trace is not None and expected is not None:
        pairs = judge_pairs(pairs.join(sf.broadcast(runs.select("run", "trace")), on="run", how="inner"), trace)
        right = sf.sum(sf.col("expected").cast("long"))
        totals = expected.groupBy("trace").agg(sf.sum("expected").alias("count"))
        wanted = runs.select("run", "trace").join(totals, on="trace", how="left")
        rows.append(_tall(wanted, WANTED))
    found = pairs.groupBy("run").agg(
        sf.count("*").alias("rows"), sf.sum("times").alias("count"), right.alias("size_bytes")
    )
    nodes = sf.col("nodes") if "nodes" in runs.columns else sf.lit(None)
    rows.append(_tall(runs.select("run", nodes.alias("count")), NODES))
    whole = _tall(found, PAIRS)
    for one in rows:
        whole = whole.unionByName(one)
    return whole


def _tall(frame: DataFrame, kind: str | None = None) -> DataFrame:
    """The frame in the columns of `COLUMNS`, empty where it has none; `kind` marks rows that are no events."""
    marked = frame if kind is None else frame.withColumn("kind", sf.lit(kind))
    return marked.select(
        *[
            (sf.col(name) if name in marked.columns else sf.lit(None)).cast(type_).alias(name)
            for name, type_ in COLUMNS.items()
        ]
    )
