"""The ground truth agrees with the matching index, and says what a perfect execution would."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from oracle_worlds import notified, random_world
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.model.operations import TRACE_COLUMNS, Operation
from thyme.pipeline.schemas import TRACE, spark_schema
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.truth import oracle, running_counts
from thyme.sim.traces import check_operations, table_from_operations

WORLDS = 120
NAMED = spark_schema((*TRACE_COLUMNS, ("trace", "string")))


@pytest.fixture(scope="module")
def worlds() -> dict[str, list[Operation]]:
    return {f"world {seed}": random_world(seed) for seed in range(WORLDS)}


@pytest.fixture(scope="module")
def traces(spark: SparkSession, worlds: dict[str, list[Operation]]) -> DataFrame:
    tables = []
    for name, operations in worlds.items():
        check_operations(operations, name)
        table = table_from_operations(operations)
        tables.append(table.append_column("trace", pa.array([name] * table.num_rows, pa.string())))
    return from_arrow(spark, pa.concat_tables(tables), NAMED).persist()


@pytest.fixture(scope="module")
def truth(worlds: dict[str, list[Operation]]) -> set[tuple[str, str, str]]:
    return {(name, *pair) for name, operations in worlds.items() for pair in notified(operations)}


def test_the_pairs_are_those_of_the_matching_index_when_hot_tags_are_shared(
    traces: DataFrame, truth: set[tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle, "SHARE_ROWS", 2)
    rows = [tuple(row) for row in oracle.expected_pairs(traces).collect()]
    assert len(truth) > 5 * WORLDS
    assert len(rows) == len(set(rows))
    assert set(rows) == truth


@pytest.mark.parametrize("stretch_s", [running_counts.STRETCH_S, 0.5])
def test_the_counts_are_those_of_the_matching_index(
    traces: DataFrame,
    worlds: dict[str, list[Operation]],
    truth: set[tuple[str, str, str]],
    stretch_s: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running_counts, "STRETCH_S", stretch_s)
    counts = {(row.trace, row.subscription): row.expected for row in oracle.expected_counts(traces).collect()}
    numbers = Counter((name, subscription) for name, subscription, _ in truth)
    everyone = [(name, str(o.subscription_key)) for name, operations in worlds.items() for o in operations if o.query]
    assert counts == {key: numbers[key] for key in everyone}


def test_given_pairs_are_judged_one_by_one(
    spark: SparkSession, traces: DataFrame, worlds: dict[str, list[Operation]], truth: set[tuple[str, str, str]]
) -> None:
    some = list(worlds)[:10]
    all_pairs = [
        (name, str(s.subscription_key), str(o.object_key))
        for name in some
        for s in worlds[name]
        for o in worlds[name]
        if s.query and o.tags
    ]
    unknown = [(some[0], "99@9", "x@9")]
    pairs = spark.createDataFrame([*all_pairs, *unknown], "trace string, subscription string, object string")
    judged = oracle.judge_pairs(pairs, traces).collect()
    assert len(judged) == len(all_pairs) + 1
    assert {tuple(row)[:3] for row in judged if row.expected} == {pair for pair in truth if pair[0] in some}


def test_a_trace_without_a_name_is_one_trace(spark: SparkSession, worlds: dict[str, list[Operation]]) -> None:
    operations = worlds["world 3"]
    frame = from_arrow(spark, table_from_operations(operations), TRACE)
    assert {tuple(row)[1:] for row in oracle.expected_pairs(frame).collect()} == notified(operations)


def test_no_plan_has_a_cross_join(traces: DataFrame) -> None:
    for frame in (oracle.expected_pairs(traces), oracle.expected_counts(traces)):
        plan = frame._jdf.queryExecution().toString()
        assert "CartesianProduct" not in plan
        assert "NestedLoopJoin" not in plan
        assert "Join" in plan


def test_single_tags_are_counted_without_listing_matches(spark: SparkSession) -> None:
    size = 3_000
    numbers = spark.range(size)
    inserts = numbers.select(
        (sf.col("id") * 2).alias("operation"),
        sf.col("id").cast("double").alias("at_s"),
        sf.lit(0).alias("node"),
        sf.lit("insert").alias("kind"),
        sf.col("id").cast("string").alias("oid"),
        sf.array(sf.lit("hot")).alias("tags"),
    )
    subscribes = numbers.select(
        (sf.col("id") * 2 + 1).alias("operation"),
        sf.col("id").cast("double").alias("at_s"),
        sf.lit(1).alias("node"),
        sf.lit("subscribe").alias("kind"),
        sf.col("id").alias("sid"),
        sf.lit("hot").alias("query"),
    )
    trace = inserts.unionByName(subscribes, allowMissingColumns=True)
    empty = {name: sf.lit(None) for name in ("text", "size_bytes", "summary_bytes", "start_s", "end_s")}
    counts = oracle.expected_counts(trace.withColumns(empty))
    total = counts.agg(sf.sum("expected").alias("total"), sf.count("*").alias("rows")).first()
    assert total is not None
    assert (total.total, total.rows) == (size * size, size)
