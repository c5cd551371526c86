"""From events to the metrics of runs (`run_metrics`) and of points (`point_metrics`), as functions of DataFrames.

A metric is a row ⟨run, metric, value⟩. A run is one group: an Arrow function inside Spark computes its metrics from its
events and the operations of its trace. A point is what several runs have in common; its metrics have a mean, a
deviation and an interval (`intervals`), computed by Spark expressions.

Success is the share of issued operations that succeeded; one that neither succeeded nor failed before the run ended
did not succeed. Latency is that of the operations that succeeded. Recall is the number of distinct notified pairs that
a perfect execution would notify, over the number of all such pairs; other notified pairs are spurious. The delay of a
notification counts from the time at which a perfect execution would have notified (Thyme FGCS §9.2, §9.3, Fig. 11).

Traffic (Thyme FGCS §9.3, Fig. 10): PHY counts what is on the air, with all headers, retransmissions and
acknowledgements; `sent` what protocols hand to the link; `forwarded` what of it is passed on for others; `control` what
routing transmits for itself (a simulated frame that expires in a queue does not count), and its share is that of the
air: control frames with their headers in all that radios send, or without them (`control.payload`). The load of a node
is what it puts on the air. Gini's coefficient is 0 where all nodes bear the same, near 1 where one bears all; the hot
spot is the largest load over the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from thyme.model.records import OperationKind, TrafficKind
from thyme.pipeline.metrics.intervals import MAX_TABLED_RUNS, rank_of
from thyme.pipeline.metrics.run_events import COLUMNS, KINDS, Figures, RunEvents, exact_mean, spread
from thyme.pipeline.schemas import METRIC_COLUMNS, METRICS, SUMMARIES, Columns, arrow_schema, conform
from thyme.pipeline.spark.arrow import map_pairs
from thyme.pipeline.truth import expected as truths
from thyme.pipeline.truth.expected import Truth, issued_operations

_PRESENCE = ("joined", "left", "moved")


def traffic_figures(run: RunEvents) -> Figures:
    """`<kind>.frames` and `<kind>.bytes` of each kind of traffic, `control.share` and `control.payload.share`."""
    if not run.any:
        return
    for kind in TrafficKind:
        yield f"{kind}.frames", run.total(kind, "count")
        yield f"{kind}.bytes", run.total(kind, "size_bytes")
    air, control = (run.total(kind, "size_bytes") for kind in (TrafficKind.PHY_SENT, TrafficKind.PHY_CONTROL))
    payload = run.total(TrafficKind.CONTROL, "size_bytes")
    yield "control.share", control / air if air and (control or not payload) else None
    yield "control.payload.share", payload / air if air else None


def presence_figures(run: RunEvents) -> Figures:
    """How often nodes joined, left and moved, and how long joining took."""
    if not run.any:
        return
    for kind in _PRESENCE:
        yield f"{kind}.events", run.count(kind)
    spent_s = run.exact("joined")
    yield "joining_s.mean", None if spent_s is None else float(spent_s) / run.count("joined")


def energy_figures(run: RunEvents) -> Figures:
    """`energy.joules` of the network, by radio state, the mean and largest of a node, and for each operation that
    succeeded (what the network spent, idling included, over what users got for it)."""
    spent = run.exact("energy")
    if spent is None:
        return
    for name in run.names("energy"):
        yield f"energy.{name}.joules", float(sum(run.by_node("energy", "value", name)))
    nodes = run.by_node("energy", "value")
    yield "energy.joules", float(spent)
    yield "energy.node_joules.mean", float(spent) / len(nodes)
    yield "energy.node_joules.max", float(max(nodes))
    succeeded = run.count("succeeded")
    yield "energy.operation_joules.mean", float(spent) / succeeded if succeeded else None


def load_figures(run: RunEvents) -> Figures:
    """`load.gini` and `load.hot_spot` of bytes on the air, and the same for what is `stored`. Where the run's number of
    nodes is known, nodes that did nothing count as well."""
    nodes = run.nodes
    yield from _evenness("load", run.by_node(TrafficKind.PHY_SENT, "size_bytes"), nodes)
    for name in run.names("stored"):
        yield from _evenness(f"stored.{name}", run.by_node("stored", "size_bytes", name), nodes)


def _evenness(what: str, loads: Sequence[int], known_nodes: int) -> Figures:
    if not loads:
        return
    nodes, total = max(len(loads), known_nodes), sum(loads)
    weighted = sum(load * rank for rank, load in enumerate(sorted(loads), 1)) + (nodes - len(loads)) * total
    yield f"{what}.gini", 2 * weighted / (nodes * total) - (nodes + 1) / nodes if total else None
    yield f"{what}.hot_spot", max(loads) * nodes / total if total else None
    yield f"{what}.mean_bytes", total / nodes
    yield f"{what}.max_bytes", max(loads)


def stored_figures(run: RunEvents) -> Figures:
    """How many objects and the like nodes hold."""
    for name in run.names("stored"):
        held = run.by_node("stored", "count", name)
        yield f"stored.{name}.items.mean", sum(held) / len(held)
        yield f"stored.{name}.items.max", max(held)


def sampled_figures(run: RunEvents) -> Figures:
    """Whatever was sampled over time."""
    for name in run.names("sampled"):
        values = run.values("sampled", name)
        yield f"sampled.{name}.mean", exact_mean(values)
        yield f"sampled.{name}.max", float(values[-1])
        yield f"sampled.{name}.last", run.last("sampled", name)


RUN_COLUMNS: Columns = (("run", "string"), ("trace", "string"), ("nodes", "int64"), ("churn", "bool"))
_TRIAL = "trial"
_ALL = "all"


def operation_figures(run: RunEvents) -> Figures:
    """`<kind>.issued`, `.success`, `.latency_s.mean` …, for each kind of operation and for `all`."""
    names: list[str | None] = [*run.names("issued", "succeeded")]
    for name in [*names, None] if names else []:
        shown = _ALL if name is None else name
        issued, succeeded = run.count("issued", name), run.count("succeeded", name)
        yield f"{shown}.issued", issued
        yield f"{shown}.success", succeeded / issued if issued else None
        yield from spread(run.values("succeeded", name), f"{shown}.latency_s")


def notification_figures(run: RunEvents) -> Figures:
    """`notification.latency_s.…`, `.hops.mean`, `.hops.max`, `.received` (distinct pairs of subscription and object),
    `.repeated`; with a truth, `recall`, `notification.expected`, `.correct` and `.spurious`."""
    told = run.notifications
    yield from spread(run.values("notified"), "notification.latency_s")
    yield "notification.hops.mean", run.total("notified", "count") / told.total if told.total else None
    yield "notification.hops.max", run.most("notified", "count")
    yield "notification.received", told.distinct
    yield "notification.repeated", told.total - told.distinct
    if told.known:
        expected = told.expected or 0
        yield "recall", told.correct / expected if expected else None
        yield "notification.expected", expected
        yield "notification.correct", told.correct
        yield "notification.spurious", told.distinct - told.correct


def lowest(found: dict[str, float]) -> dict[str, float]:
    """`lowest.success`: that of the kind of operation with the lowest success, where notifications count by their
    recall; only if the recall is known. A request for more past matches is part of its subscription and does not count
    by itself: a run has one or two of them, and what they fail to deliver lowers the recall."""
    shares = [
        value
        for name, value in found.items()
        if (name.endswith(".success") and name != f"{OperationKind.MORE}.success") or name == "recall"
    ]
    return {"lowest.success": min(shares)} if "recall" in found else {}


FIGURES = (
    traffic_figures,
    presence_figures,
    notification_figures,
    operation_figures,
    energy_figures,
    load_figures,
    stored_figures,
    sampled_figures,
)


def run_metrics(events: DataFrame, runs: DataFrame, traces: DataFrame, expected: DataFrame) -> DataFrame:
    """Every metric of every run, in the schema METRICS.

    `runs` has the columns RUN_COLUMNS. `traces` and `expected` (`truth.expected`) have the column `trace`, by which
    runs name the trace that they played. Runs without churn share the expected notifications of their trace; in a run
    with churn, those of the operations that it issued are expected.
    """
    totals = expected.groupBy("trace").agg(sf.sum("expected").alias("expected"))
    known = runs.select("run", "trace", "nodes", "churn").join(totals, on="trace", how="left")
    operations = traces.select("trace", *truths.COLUMNS).join(sf.broadcast(known), on="trace", how="inner")
    played = known.unionByName(operations, allowMissingColumns=True).drop("trace")
    happened = events.where(sf.col("kind").isin(*KINDS)).select("run", *COLUMNS)
    return map_pairs(happened, played, ["run"], _measure, METRICS)


def _measure(events: pa.Table, played: pa.Table) -> pa.Table:
    if not played.num_rows:  # events of a run that is not among `runs`
        return arrow_schema(METRIC_COLUMNS).empty_table()
    run, nodes, churn, expected = (played[name][0].as_py() for name in ("run", "nodes", "churn", "expected"))
    operations = played.select(truths.COLUMNS).filter(played["operation"].is_valid())
    return measure_run(events, run, nodes, operations, churn, expected)


def measure_run(
    events: pa.Table, run: str, nodes: int, trace: pa.Table, churn: bool, expected: int | None = None
) -> pa.Table:
    """The metrics of one run; what cannot be computed is left out."""
    truth = Truth(issued_operations(trace, events) if churn else trace)
    if churn:
        expected = int(truth.counts().sum())
    measured = RunEvents(events, nodes, truth, expected)
    found = {name.replace(" ", "_"): value for part in FIGURES for name, value in part(measured) if value is not None}
    found |= lowest(found)
    columns = [[run] * len(found), list(found), [float(value) for value in found.values()]]
    return pa.table(columns, schema=arrow_schema(METRIC_COLUMNS))


def measure_trial(events: Path, trace: Path, nodes: int) -> dict[str, float]:
    """The metrics of a trial of live nodes by name, from the Parquet files of its events and of its planned operations.
    It is one run, so Spark is not needed."""
    happened, planned = pq.read_table(events, columns=list(COLUMNS)), pq.read_table(trace, columns=list(truths.COLUMNS))
    rows = measure_run(happened, _TRIAL, nodes, planned, churn=True).to_pylist()
    return {row["metric"]: row["value"] for row in rows}


def point_metrics(metrics: DataFrame, points: DataFrame, by: Sequence[str]) -> DataFrame:
    """⟨by…, metric, mean, deviation, low, high, runs⟩ over the runs of each point; `points` has run and `by`.

    With one run there is no deviation and no interval.
    """
    values = metrics.join(sf.broadcast(points.select("run", *by)), on="run", how="inner")
    grouped = values.groupBy(*by, "metric").agg(sf.array_sort(sf.collect_list("value")).alias("values"))
    runs = sf.size("values")
    mean = sf.aggregate("values", sf.lit(0.0), lambda total, value: total + value) / runs
    squares = sf.aggregate(
        "values", sf.lit(0.0), lambda total, value: total + (value - sf.col("mean")) * (value - sf.col("mean"))
    )
    deviation = sf.when(sf.col("runs") > 1, sf.sqrt(squares / (sf.col("runs") - 1)))
    ranks = sf.array(*[sf.lit(rank_of(number)) for number in range(1, MAX_TABLED_RUNS + 1)])
    tabled = sf.element_at(ranks, sf.least(sf.col("runs"), sf.lit(MAX_TABLED_RUNS)).cast("int"))
    rank = sf.greatest(sf.lit(1), sf.floor(tabled * sf.greatest(sf.lit(1.0), sf.col("runs") / MAX_TABLED_RUNS)))
    ends = {"low": rank, "high": -rank}
    several = sf.col("runs") > 1
    summed = (
        grouped.select(*by, "metric", "values", runs.cast("long").alias("runs"), mean.alias("mean"))
        .withColumn("deviation", deviation)
        .withColumns({name: sf.when(several, sf.element_at("values", at.cast("int"))) for name, at in ends.items()})
    )
    return conform(summed, SUMMARIES, *by)
