"""Metrics of small runs whose figures can be worked out by hand."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.operations import TRACE_COLUMNS, Operation
from thyme.model.records import (
    Counted,
    EnergyUsed,
    Joined,
    LogRecord,
    Notified,
    OperationFailed,
    OperationIssued,
    OperationKind,
    OperationSucceeded,
    Sampled,
    Stored,
    TrafficKind,
)
from thyme.pipeline.metrics.intervals import rank_of
from thyme.pipeline.metrics.runs import measure_trial, point_metrics, run_metrics
from thyme.pipeline.metrics.writing import PlayedRuns, write_expected, write_run_metrics
from thyme.pipeline.runs.carried import pack_trace
from thyme.pipeline.runs.run import EVENTS_FILE, keep_run, play
from thyme.pipeline.schemas import EVENTS, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.truth.expected import expected_notifications
from thyme.sim.recorder import Recorder
from thyme.sim.scenario import scenario_of
from thyme.sim.traces import table_from_operations

GOAL = SubscriptionKey(0, NodeId(1))
A, B, C = (ObjectKey(name, NodeId(0)) for name in "abc")
TRACE = [
    Operation(0, 60.0, NodeId(0), OperationKind.INSERT, oid="a", tags=("goal",)),
    Operation(1, 61.0, NodeId(1), OperationKind.SUBSCRIBE, sid=0, query="goal"),
    Operation(2, 62.0, NodeId(0), OperationKind.INSERT, oid="b", tags=("goal", "por")),
    Operation(3, 63.0, NodeId(0), OperationKind.INSERT, oid="c", tags=("por",)),
]
FIRST: list[tuple[float, int, LogRecord]] = [
    (31.0, 0, Joined(1.0)),
    (32.0, 1, Joined(3.0)),
    (60.0, 0, OperationIssued(0, OperationKind.INSERT, A)),
    (60.1, 0, OperationSucceeded(0, OperationKind.INSERT, 0.1)),
    (61.0, 1, OperationIssued(1, OperationKind.SUBSCRIBE, None, GOAL)),
    (61.3, 1, OperationSucceeded(1, OperationKind.SUBSCRIBE, 0.3)),
    (62.0, 0, OperationIssued(2, OperationKind.INSERT, B)),
    (64.0, 0, OperationFailed(2, OperationKind.INSERT, 2.0, "timeout")),
    (63.0, 0, OperationIssued(3, OperationKind.INSERT, C)),
    (63.3, 0, OperationSucceeded(3, OperationKind.INSERT, 0.3)),
    (61.5, 1, Notified(GOAL, A, 0.5, 2)),
    (62.5, 1, Notified(GOAL, C, 1.5, 4)),
    (62.6, 1, Notified(GOAL, C, 1.6, 4)),
    (0.0, 0, Counted(TrafficKind.PHY_SENT, "data", 4, 300)),
    (0.0, 1, Counted(TrafficKind.PHY_SENT, "data", 1, 80)),
    (0.0, 1, Counted(TrafficKind.PHY_SENT, "ack", 2, 20)),
    (0.0, 0, Counted(TrafficKind.SENT, "Carried", 3, 200)),
    (0.0, 0, Counted(TrafficKind.CONTROL, "Update", 1, 50)),
    (0.0, 0, Counted(TrafficKind.PHY_CONTROL, "Update", 1, 120)),
    (0.0, 0, Counted(TrafficKind.RETRANSMITTED, "data", 7, 700)),
    (90.0, 0, EnergyUsed("idle", 1.5, 1000)),
    (90.0, 0, EnergyUsed("transmit", 0.5, 10)),
    (90.0, 1, EnergyUsed("idle", 4.0, 1000)),
    (90.0, 0, Stored("objects", 3, 30)),
    (70.0, 0, Sampled("active nodes", 5.0)),
    (80.0, 0, Sampled("active nodes", 8.0)),
]


def table_of(run: str, records: list[tuple[float, int, LogRecord]]) -> pa.Table:
    recorder = Recorder()
    for at_s, node, record in records:
        recorder.record(at_s, node, record)
    table = recorder.table(90.0)
    return table.add_column(0, "run", pa.array([run] * table.num_rows, pa.string()))


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    tables = [table_of(run, records) for run, records in RUNS.items()]
    return from_arrow(spark, pa.concat_tables(tables), EVENTS).persist()


RUNS = {"first": FIRST, "silent": FIRST[:2]}


@pytest.fixture(scope="module")
def figures(spark: SparkSession, events: DataFrame) -> dict[str, dict[str, float]]:
    table = table_from_operations(TRACE)
    table = table.append_column("trace", pa.array(["t"] * len(TRACE), pa.string()))
    trace = from_arrow(spark, table, spark_schema((*TRACE_COLUMNS, ("trace", "string"))))
    columns = "run string, trace string, nodes long, churn boolean"
    runs = spark.createDataFrame([("first", "t", 3, False), ("silent", "t", 3, False)], columns)
    rows = run_metrics(events, runs, trace, expected_notifications(trace)).collect()
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        assert row.metric not in found.setdefault(row.run, {})
        found[row.run][row.metric] = row.value
    return found


def close(figures: dict[str, float], **expected: float) -> None:
    for name, value in expected.items():
        key = name.replace("__", ".")
        assert figures[key] == pytest.approx(value), key


def test_success_and_latency_per_kind(figures: dict[str, dict[str, float]]) -> None:
    first = figures["first"]
    close(first, insert__issued=3, insert__success=2 / 3, subscribe__success=1, all__success=3 / 4, all__issued=4)
    close(first, insert__latency_s__mean=0.2, insert__latency_s__max=0.3, insert__latency_s__p50=0.2)
    assert "delete.success" not in first


def test_recall_counts_distinct_expected_notifications(figures: dict[str, dict[str, float]]) -> None:
    first = figures["first"]
    close(
        first,
        lowest__success=0.5,
        recall=0.5,
        notification__expected=2,
        notification__correct=1,
        notification__spurious=1,
    )
    close(first, notification__received=2, notification__repeated=1, notification__hops__mean=10 / 3)
    close(first, notification__latency_s__mean=1.2, notification__latency_s__max=1.6)
    close(figures["silent"], recall=0.0, notification__spurious=0, notification__received=0)


def test_traffic_energy_and_load(figures: dict[str, dict[str, float]]) -> None:
    first = figures["first"]
    close(first, phy_sent__bytes=400, phy_sent__frames=7, retransmitted__frames=7, control__bytes=50)
    close(first, control__share=0.3, control__payload__share=0.125, given_up__frames=0, left__events=0)
    close(figures["silent"], phy_sent__bytes=0, joined__events=2)
    assert "control.share" not in figures["silent"]
    close(first, energy__joules=6.0, energy__idle__joules=5.5, energy__node_joules__max=4.0)
    close(first, energy__operation_joules__mean=2.0)
    close(first, load__hot_spot=300 / (400 / 3), load__gini=2 * (100 * 2 + 300 * 3) / (3 * 400) - 4 / 3)
    close(first, stored__objects__gini=2 * 3 / 3 - 4 / 3, stored__objects__items__max=3, joined__events=2)
    close(first, joining_s__mean=2.0, sampled__active_nodes__last=8, sampled__active_nodes__mean=6.5)


def test_a_point_has_mean_deviation_and_interval(spark: SparkSession) -> None:
    values = [("a", "recall", 0.9), ("b", "recall", 0.8), ("c", "recall", 1.0), ("d", "recall", 0.5)]
    metrics = spark.createDataFrame(values, "run string, metric string, value double")
    points = spark.createDataFrame(
        [("a", "LS", 16), ("b", "LS", 16), ("c", "LS", 16), ("d", "LS", 36)], "run string, approach string, nodes long"
    )
    three, one = point_metrics(metrics, points, ["approach", "nodes"]).collect()
    assert list(three.asDict()) == ["approach", "nodes", "metric", "mean", "deviation", "low", "high", "runs"]
    assert (three.approach, three.nodes, three.metric, three.runs) == ("LS", 16, "recall", 3)
    assert (three.mean, three.deviation, three.low, three.high) == pytest.approx((0.9, 0.1, 0.8, 1.0))
    assert (one.mean, one.deviation, one.low, one.runs) == (0.5, None, None, 1)


def test_points_are_those_of_plain_python(spark: SparkSession) -> None:
    random = Random(5)
    points = [(f"run {number}", number % 3) for number in range(40)] + [("run 99", 7)]
    rows = [(run, metric, random.lognormvariate(0.0, 2.0)) for run, _ in points for metric in ("a", "b é", "b z")]
    frame = spark.createDataFrame(rows, "run string, metric string, value double")
    found = point_metrics(frame, spark.createDataFrame(points, "run string, point long"), ["point"]).collect()
    assert len(found) == 12
    for row in found:
        values = sorted(value for run, metric, value in rows if metric == row.metric and dict(points)[run] == row.point)
        assert (row.mean, row.runs) == (pytest.approx(fmean(values)), len(values))
        if len(values) > 1:
            rank = rank_of(len(values))
            assert (row.low, row.high) == (values[rank - 1], values[-rank])
            assert row.deviation == pytest.approx(stdev(values))


KIND = OperationKind
QUERIES = ("goal", "goal & !por", "por | goal", "!goal")
PLAYED = [
    *(Operation(n, 8.0 + n / 10, NodeId(n), KIND.SUBSCRIBE, sid=0, query=QUERIES[n % 4]) for n in range(6)),
    Operation(6, 9.0, NodeId(2), KIND.INSERT, oid="a", tags=("goal",), text="before"),
    Operation(7, 13.0, NodeId(2), KIND.DELETE, oid="a"),
    Operation(8, 15.0, NodeId(2), KIND.INSERT, oid="b", tags=("goal", "por"), text="by one who stayed"),
    Operation(9, 15.5, NodeId(4), KIND.UNSUBSCRIBE, sid=0),
    Operation(10, 16.0, NodeId(3), KIND.INSERT, oid="c", tags=("por",), text="by one who may have left"),
]
CHURN: dict[str, dict[str, Any]] = {
    "stay": {"model": "none"},
    "leave": {"model": "leave", "nodes": [1, 3], "from_s": 12.0, "to_s": 12.0},
}


def test_runs_are_measured_against_what_they_issued(spark: SparkSession, tmp_path: Path) -> None:
    packed = pack_trace(PLAYED)
    trace = dataset.write_once(table_from_operations(PLAYED), tmp_path / "trace")
    time = {"join_from_s": 0.5, "join_to_s": 2.0, "until_s": 20.0}
    for name, churn in CHURN.items():
        scenario = scenario_of({"nodes": 6, "approach": "ls", "time": time, "churn": churn}, "test")
        found = play(name, msgspec.msgpack.encode(scenario), packed.carry())
        keep_run(tmp_path / "runs", scenario, packed.identity, found)
    runs = PlayedRuns(("stay", "leave"), ("t", "t"), (6, 6), (False, True), {"t": trace})
    expected = write_expected(spark, runs.paths, tmp_path / "expected")
    metrics = write_run_metrics(spark, tmp_path / "runs", runs, expected, tmp_path / "metrics")
    rows = dataset.read_table(metrics).to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["run"], row["metric"]))
    figures = {(row["run"], row["metric"]): row["value"] for row in rows}
    assert figures["stay", "notification.expected"] > figures["leave", "notification.expected"] > 0
    assert figures["stay", "recall"] == 1.0
    (file,) = (tmp_path / "trace").glob("*.parquet")
    of_run = {metric: value for (name, metric), value in figures.items() if name == "leave"}
    assert measure_trial(tmp_path / "runs" / "leave" / EVENTS_FILE, file, 6) == of_run
