"""The truth of a run with churn is that of what its users could ask for."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.truth.expected import Truth, issued_operations
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


def events_of(model: str) -> pa.Table:
    leaving = {"nodes": [1, 3], "from_s": 12.0, "to_s": 12.0}
    churn = {"model": model, **(leaving if model == "leave" else {})}
    time = {"join_from_s": 0.5, "join_to_s": 2.0, "until_s": 20.0}
    given = {"nodes": 6, "time": time, "churn": churn, "settings": {"routing": "ondemand"}}
    events = simulate(scenario_of(given, "test"), OPERATIONS).events
    return events.add_column(0, "run", pa.array([model] * events.num_rows))


def counts_of(model: str) -> dict[str, int]:
    truth = Truth(issued_operations(table_from_operations(OPERATIONS), events_of(model)))
    return dict(zip(truth.subscriptions.keys.to_pylist(), truth.counts().tolist(), strict=True))


@pytest.fixture(scope="module")
def counts() -> dict[tuple[str, str], int]:
    """How many objects each subscription of each of two runs of the trace should be notified of."""
    return {(model, key): number for model in ("none", "leave") for key, number in counts_of(model).items()}


def test_without_churn_it_is_that_of_the_trace(counts: dict[tuple[str, str], int]) -> None:
    assert (counts[("none", "0@0")], counts[("none", "0@1")]) == (3, 3)


def test_a_node_that_left_publishes_nothing_and_wants_nothing(counts: dict[tuple[str, str], int]) -> None:
    assert (counts[("leave", "0@0")], counts[("leave", "0@1")]) == (2, 1)
    assert len(counts) == 4
