"""What is told of a trace is what its operations amount to."""

from __future__ import annotations

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.traces.outline import STEP_S, outline_of
from thyme.sim.traces import table_from_operations

OPERATIONS = [
    Operation(0, 60.0, NodeId(3), OperationKind.SUBSCRIBE, sid=0, query="a"),
    Operation(1, 69.9, NodeId(1), OperationKind.INSERT, oid="x", tags=("a",)),
    Operation(2, 70.0, NodeId(0), OperationKind.INSERT, oid="y", tags=("a",)),
    Operation(3, 95.0, NodeId(1), OperationKind.DELETE, oid="x"),
]


def test_an_outline_counts_kinds_nodes_and_steps() -> None:
    outline = outline_of(table_from_operations(OPERATIONS).to_batches())
    assert outline.kinds == {"delete": 1, "insert": 2, "subscribe": 1}
    assert (outline.operations, outline.inserts, outline.nodes) == (4, 2, 3)
    assert outline.publishers == (0, 1)
    assert (outline.when.first_s, outline.when.last_s) == (60.0, 95.0)
    assert round(outline.inserting.lasts_s, 6) == 0.1
    assert {step * STEP_S: number for step, number in outline.paces["insert"].items()} == {60.0: 1, 70.0: 1}


def test_how_rows_are_split_and_ordered_does_not_matter() -> None:
    table = table_from_operations(OPERATIONS)
    whole = outline_of(table.to_batches())
    assert outline_of(table.take([3, 1, 0, 2]).to_batches(max_chunksize=1)) == whole


def test_nothing_has_an_outline_too() -> None:
    outline = outline_of([])
    assert (outline.operations, outline.nodes, outline.when.lasts_s) == (0, 0, 0.0)
