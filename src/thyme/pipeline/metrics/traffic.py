"""What the network did: traffic by layer, energy, storage, and how evenly nodes bear it (Thyme FGCS §9.3, Fig. 10).

PHY counts what is on the air, with all headers, retransmissions and acknowledgements; `sent` what protocols hand to
the link; `forwarded` what is sent on behalf of others; `control` what routing sends for itself. The load of a node is
what it puts on the air. Gini's coefficient is 0 where all nodes bear the same, near 1 where one bears all; the hot
spot is the largest load over the mean.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from thyme.model.records import TrafficKind
from thyme.pipeline.metrics.tallies import aggregate, exact_mean, exact_sum


def traffic_totals() -> dict[str, Column]:
    """Aggregates of a run: `<kind>.frames` and `<kind>.bytes` of each kind of traffic, and `control.share`."""
    totals: dict[str, Column] = {}
    for kind in TrafficKind:
        name = kind.replace(" ", "_")
        totals[f"{name}.frames"] = _sum_of(kind, "count")
        totals[f"{name}.bytes"] = _sum_of(kind, "size_bytes")
    sent = _sum_of(TrafficKind.SENT, "size_bytes")
    totals["control.share"] = sf.when(sent > 0, _sum_of(TrafficKind.CONTROL, "size_bytes") / sent)
    return totals


def presence_totals() -> dict[str, Column]:
    """Aggregates of a run: how often nodes joined, left and moved, and how long joining took."""
    totals = {f"{kind}.events": sf.count(sf.when(sf.col("kind") == kind, True)) for kind in ("joined", "left", "moved")}
    return totals | {"joining_s.mean": exact_mean(sf.when(sf.col("kind") == "joined", sf.col("value")))}


def energy_metrics(events: DataFrame) -> DataFrame:
    """`energy.joules` of the network, by radio state, the mean and largest of a node, and for each operation that
    succeeded (what the network spent, idling included, over what users got for it)."""
    used = events.where(sf.col("kind") == "energy")
    states = aggregate(used.withColumn("kind", sf.concat(sf.lit("energy."), "name")), {"joules": _joules()}, "kind")
    nodes = used.groupBy("run", "node").agg(_joules().alias("joules"))
    joules = sf.col("joules")
    figures = {
        "energy.joules": exact_sum(joules),
        "energy.node_joules.mean": exact_mean(joules),
        "energy.node_joules.max": sf.max(joules),
    }
    succeeded = sf.count(sf.when(sf.col("kind") == "succeeded", True))
    spent = exact_sum(sf.when(sf.col("kind") == "energy", sf.col("value")))
    each = aggregate(events, {"energy.operation_joules.mean": sf.when(succeeded > 0, spent / succeeded)})
    return states.unionByName(aggregate(nodes, figures)).unionByName(each)


def load_metrics(events: DataFrame, runs: DataFrame) -> DataFrame:
    """`load.gini` and `load.hot_spot` of bytes on the air, and the same for what is `stored`. If `runs` has a
    column `nodes`, nodes that did nothing count as well."""
    air = events.where(sf.col("kind") == str(TrafficKind.PHY_SENT)).withColumn("what", sf.lit("load"))
    held = events.where(sf.col("kind") == "stored").withColumn("what", sf.concat(sf.lit("stored."), "name"))
    loads = air.unionByName(held).groupBy("run", "what", "node").agg(sf.sum("size_bytes").cast("double").alias("load"))
    order = Window.partitionBy("run", "what").orderBy("load", "node")
    ranked = loads.withColumn("rank", sf.row_number().over(order))
    total, present = sf.sum("load"), sf.count("*")
    if "nodes" in runs.columns:
        ranked = ranked.join(sf.broadcast(runs.select("run", "nodes")), on="run", how="left")
        nodes = sf.greatest(present, sf.coalesce(sf.max("nodes"), present))
    else:
        nodes = present
    weighted = sf.sum(sf.col("load") * sf.col("rank")) + (nodes - present) * total
    gini = 2 * weighted / (nodes * total) - (nodes + 1) / nodes
    figures = {
        "gini": sf.when(total > 0, gini),
        "hot_spot": sf.when(total > 0, sf.max("load") * nodes / total),
        "mean_bytes": total / nodes,
        "max_bytes": sf.max("load"),
    }
    return aggregate(ranked, figures, "what")


def held_metrics(events: DataFrame) -> DataFrame:
    """How many objects and the like nodes hold, and whatever was sampled over time."""
    held = events.where(sf.col("kind") == "stored").groupBy("run", "name", "node").agg(sf.sum("count").alias("held"))
    number = sf.col("held").cast("double")
    stored = aggregate(held.withColumn("name", sf.concat(sf.lit("stored."), "name")), _items(number), "name")
    sampled = events.where(sf.col("kind") == "sampled").withColumn("name", sf.concat(sf.lit("sampled."), "name"))
    value = sf.col("value")
    last = sf.max_by("value", sf.struct("at_s", "node", "value"))
    figures = {"mean": exact_mean(value), "max": sf.max(value), "last": last}
    return stored.unionByName(aggregate(sampled, figures, "name"))


def _items(number: Column) -> dict[str, Column]:
    return {"items.mean": exact_mean(number), "items.max": sf.max(number)}


def _sum_of(kind: TrafficKind, column: str) -> Column:
    return sf.sum(sf.when(sf.col("kind") == str(kind), sf.col(column)).otherwise(0))


def _joules() -> Column:
    return exact_sum(sf.col("value"))
