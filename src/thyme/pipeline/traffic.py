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
from thyme.pipeline.tallies import aggregate, as_metrics, exact_mean, exact_sum

_KINDS = [str(kind) for kind in TrafficKind]


def traffic_metrics(events: DataFrame) -> DataFrame:
    """`<kind>.frames` and `<kind>.bytes` of each kind of traffic, and `control.share` of what is sent."""
    kept = events.where(sf.col("kind").isin(_KINDS))
    totals = aggregate(kept, {"frames": sf.sum("count"), "bytes": sf.sum("size_bytes")}, "kind")
    sent, control = _bytes_of(TrafficKind.SENT), _bytes_of(TrafficKind.CONTROL)
    return totals.unionByName(aggregate(kept, {"control.share": sf.when(sent > 0, control / sent)}))


def energy_metrics(events: DataFrame) -> DataFrame:
    """`energy.joules` of the network, by radio state, and the mean and largest of a node."""
    used = events.where(sf.col("kind") == "energy")
    states = aggregate(used.withColumn("kind", sf.concat(sf.lit("energy."), "name")), {"joules": _joules()}, "kind")
    nodes = used.groupBy("run", "node").agg(_joules().alias("joules"))
    joules = sf.col("joules")
    figures = {
        "energy.joules": exact_sum(joules),
        "energy.node_joules.mean": exact_mean(joules),
        "energy.node_joules.max": sf.max(joules),
    }
    return states.unionByName(aggregate(nodes, figures))


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


def presence_metrics(events: DataFrame) -> DataFrame:
    """Joining, leaving and moving of nodes, how many objects and the like they hold, and whatever was sampled."""
    kinds = events.where(sf.col("kind").isin("joined", "left", "moved"))
    counts = aggregate(kinds, {"events": sf.count("*")}, "kind")
    joining = aggregate(events.where(sf.col("kind") == "joined"), {"joining_s.mean": exact_mean(sf.col("value"))})
    held = events.where(sf.col("kind") == "stored").groupBy("run", "name", "node").agg(sf.sum("count").alias("held"))
    number = sf.col("held").cast("double")
    stored = aggregate(held.withColumn("name", sf.concat(sf.lit("stored."), "name")), _items(number), "name")
    sampled = events.where(sf.col("kind") == "sampled").withColumn("name", sf.concat(sf.lit("sampled."), "name"))
    value = sf.col("value")
    last = sf.max_by("value", sf.struct("at_s", "node", "value"))
    figures = {"mean": exact_mean(value), "max": sf.max(value), "last": last}
    return as_metrics(counts.unionByName(joining).unionByName(stored).unionByName(aggregate(sampled, figures, "name")))


def _items(number: Column) -> dict[str, Column]:
    return {"items.mean": exact_mean(number), "items.max": sf.max(number)}


def _bytes_of(kind: TrafficKind) -> Column:
    return sf.sum(sf.when(sf.col("kind") == str(kind), sf.col("size_bytes")).otherwise(0))


def _joules() -> Column:
    return exact_sum(sf.col("value"))
