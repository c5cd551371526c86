"""Runs measured one by one have the figures that Spark works out of all of them together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.metrics.by_run import LIGHT_BYTES, fits, measure_by_run
from thyme.pipeline.metrics.finished import PlayedRuns, measure_runs
from thyme.pipeline.metrics.trials import measure_trial
from thyme.pipeline.runs.carried import pack_trace
from thyme.pipeline.runs.run import EVENTS_FILE, keep_run, play
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.keeping import job
from thyme.pipeline.truth.written import LIGHT_OPERATIONS
from thyme.sim.scenario import scenario_of
from thyme.sim.traces import table_from_operations

KIND = OperationKind
QUERIES = ("goal", "goal & !por", "por | goal", "!goal")
TRACE = [
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


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PlayedRuns]:
    """A run in which all stay and one in which some leave, of each of two approaches, as a study keeps them."""
    folder = tmp_path_factory.mktemp("study")
    packed = pack_trace(TRACE)
    dataset.write_table_once(table_from_operations(TRACE), folder / "trace")
    time = {"join_from_s": 0.5, "join_to_s": 2.0, "until_s": 20.0}
    names, churns = [], []
    for approach in ("ls", "dcs"):
        for name, churn in CHURN.items():
            scenario = scenario_of({"nodes": 6, "approach": approach, "time": time, "churn": churn}, "test")
            run = f"{approach} {name}"
            found = play(run, msgspec.msgpack.encode(scenario), packed.carry())
            keep_run(folder / "runs", scenario, packed.identity, found)
            names.append(run)
            churns.append(name == "leave")
    runs = PlayedRuns(
        tuple(names), (packed.identity,) * 4, (6,) * 4, tuple(churns), {packed.identity: folder / "trace"}
    )
    return folder / "runs", runs


def test_figures_are_the_same_run_by_run_and_all_together(spark: SparkSession, played: tuple[Path, PlayedRuns]) -> None:
    folder, runs = played
    with job():
        together = measure_runs(spark, folder, runs).toArrow().to_pylist()
    one_by_one = measure_by_run(spark, folder, runs.table(), runs.paths).to_pylist()
    assert one_by_one == sorted(together, key=lambda row: (row["run"], row["metric"]))
    figures = {(row["run"], row["metric"]): row["value"] for row in one_by_one}
    assert figures["ls stay", "notification.expected"] > figures["ls leave", "notification.expected"] > 0
    assert figures["ls stay", "recall"] == 1.0
    (trace,) = (folder.parent / "trace").glob("*.parquet")
    for run in ("ls leave", "dcs leave"):
        of_run = {metric: value for (name, metric), value in figures.items() if name == run}
        assert measure_trial(folder / run / EVENTS_FILE, trace, 6) == of_run


def test_runs_with_too_many_events_or_operations_are_left_to_spark() -> None:
    assert fits(LIGHT_BYTES, LIGHT_OPERATIONS)
    assert not fits(LIGHT_BYTES + 1, 1)
    assert not fits(1, LIGHT_OPERATIONS + 1)
