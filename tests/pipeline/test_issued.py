"""The truth of a run with churn is that of what its users could ask for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.schemas import EVENTS, TRACE, spark_schema
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.truth.issued import issued_trace
from thyme.pipeline.truth.oracle import expected_counts
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of
from thyme.sim.traces import table_from_operations

KIND = OperationKind
OPERATIONS = [
    Operation(0, 8.0, NodeId(0), KIND.SUBSCRIBE, sid=0, query="goal"),
    Operation(1, 8.5, NodeId(1), KIND.SUBSCRIBE, sid=0, query="goal"),
    Operation(2, 9.0, NodeId(2), KIND.INSERT, oid="a", tags=("goal",), text="before"),
    Operation(3, 15.0, NodeId(2), KIND.INSERT, oid="b", tags=("goal",), text="by one who stayed"),
    Operation(4, 16.0, NodeId(3), KIND.INSERT, oid="c", tags=("goal",), text="by one who left"),
]


@pytest.fixture
def trace(spark: SparkSession) -> DataFrame:
    return from_arrow(spark, table_from_operations(OPERATIONS), TRACE)


def counts(spark: SparkSession, trace: DataFrame, model: str) -> dict[str, int]:
    leaving = {"nodes": [1, 3], "from_s": 12.0, "to_s": 12.0}
    churn = {"model": model, **(leaving if model == "leave" else {})}
    time = {"join_from_s": 0.5, "join_to_s": 2.0, "until_s": 20.0}
    given = {"nodes": 6, "time": time, "churn": churn, "settings": {"routing": "ondemand"}}
    events = simulate(scenario_of(given, "test"), OPERATIONS).events
    named = events.add_column(0, "run", pa.array(["r"] * events.num_rows))
    runs = spark.createDataFrame([("r", "")], spark_schema((("run", "string"), ("trace", "string"))))
    issued = issued_trace(trace, runs, from_arrow(spark, named, EVENTS))
    assert {row.trace for row in issued.select("trace").collect()} == {"r"}
    return {row.subscription: row.expected for row in expected_counts(issued).collect()}


def test_without_churn_it_is_that_of_the_trace(spark: SparkSession, trace: DataFrame) -> None:
    assert counts(spark, trace, "none") == {"0@0": 3, "0@1": 3}


def test_a_node_that_left_publishes_nothing_and_wants_nothing(spark: SparkSession, trace: DataFrame) -> None:
    assert counts(spark, trace, "leave") == {"0@0": 2, "0@1": 1}
