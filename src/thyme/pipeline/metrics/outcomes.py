"""What became of users' operations: success and latency, per kind and over all (Thyme FGCS §9.3, Fig. 11).

Success is the share of issued operations that succeeded; one that neither succeeded nor failed before the run ended
did not succeed. Latency is that of the operations that succeeded.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.metrics.tallies import aggregate, spread

_ALL = "all"


def operation_metrics(events: DataFrame) -> DataFrame:
    """`<kind>.issued`, `.success`, `.latency_s.mean` …, for each kind of operation and for `all`."""
    kept = events.where(sf.col("kind").isin("issued", "succeeded")).select("run", "kind", "name", "value")
    both = kept.unionByName(kept.withColumn("name", sf.lit(_ALL)))
    succeeded = sf.col("kind") == "succeeded"
    issued = sf.count(sf.when(~succeeded, True))
    latency_s = sf.when(succeeded, sf.col("value"))
    figures = {
        "issued": issued,
        "success": sf.when(issued > 0, sf.count(sf.when(succeeded, True)) / issued),
        **spread(latency_s, "latency_s"),
    }
    return aggregate(both, figures, "name")
