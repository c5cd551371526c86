"""Traces as files: they come back as they were, and faults are told with file and row."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.traces import join_tags, read_trace, split_tags, table_from_operations, write_csv

TRACE = [
    Operation(0, 60.0, NodeId(0), OperationKind.INSERT, oid="a", tags=("goal", "por"), text='he said "olá", twice'),
    Operation(1, 61.5, NodeId(1), OperationKind.SUBSCRIBE, sid=0, query="goal & !fra", start_s=61.5),
    Operation(2, 61.5, NodeId(1), OperationKind.SUBSCRIBE, sid=1, query="por", start_s=0.0, end_s=61.0),
    Operation(3, 70.0, NodeId(0), OperationKind.INSERT, oid="b", tags=("fra",), size_bytes=64, summary_bytes=8),
    Operation(4, 80.0, NodeId(0), OperationKind.DELETE, oid="a"),
    Operation(5, 90.0, NodeId(1), OperationKind.UNSUBSCRIBE, sid=0),
]


@pytest.mark.parametrize("name", ["trace.csv", "trace.parquet"])
def test_a_trace_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.suffix == ".csv":
        write_csv(TRACE, path)
    else:
        pq.write_table(table_from_operations(TRACE), path)
    assert read_trace(path) == TRACE


def test_rows_of_a_dataset_are_put_in_order(tmp_path: Path) -> None:
    table = table_from_operations(TRACE)
    (tmp_path / "trace").mkdir()
    pq.write_table(table.slice(3), tmp_path / "trace" / "part-0.parquet")
    pq.write_table(table.slice(0, 3), tmp_path / "trace" / "part-1.parquet")
    assert read_trace(tmp_path / "trace") == TRACE


def test_a_trace_can_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "at_s,node,kind,oid,tags,text,sid,query,start_s\n"
        "65,2,subscribe,,,,0,goal,now\n"
        "61,1,insert,photo,goal;por,what a goal,,,\n"
    )
    insert, subscribe = read_trace(path)
    assert (insert.operation, insert.oid, insert.tags) == (0, "photo", ("goal", "por"))
    assert (subscribe.operation, subscribe.frame) == (1, TimeFrame(65.0, None))


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("60,0,insert,a,Goal,,", "row 1: the tag 'Goal' is not normalised; expected 'goal'"),
        ("60,0,insert,a,,,", "row 1: an insert has 0 tags"),
        ("60,0,delete,a,,,", "row 1: there is no object 'a' that node 0 inserted earlier"),
        ("60,0,subscribe,,,3,goal &", "row 1: the query 'goal &'"),
        ("60,0,subscribe,,,3,goal & !goal", "can never match"),
        ("60,0,subscribe,,,0,a\n61,0,subscribe,,,0,b", "row 2: node 0 used the sid 0 before"),
        ("60,0,insert,a,x,,\n61,0,delete,a,,,\n62,0,delete,a,,,", "row 3: the object 'a' is gone already"),
        ("soon,0,insert,a,x,,", r"row 1: .*at_s"),
        ("60,0,explode,a,x,,", r"row 1: Invalid enum value 'explode'"),
        ("60,0,retrieve,a,x,,", "row 1: retrieve cannot stand in a trace"),
        ("60,0", "row 1: expected 7 cells"),
    ],
)
def test_a_fault_is_told_with_its_row(tmp_path: Path, rows: str, fault: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("at_s,node,kind,oid,tags,sid,query\n" + rows + "\n")
    with pytest.raises(InputError, match=f"mine.csv, {fault}" if fault.startswith("row") else fault):
        read_trace(path)


def test_a_wrong_header_names_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("time,node,kind\n")
    with pytest.raises(InputError, match="unknown: time; missing: at_s; expected columns among operation, at_s"):
        read_trace(path)


def test_other_parquet_and_missing_files_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "posts.parquet")
    with pytest.raises(InputError, match="not a trace, it lacks the columns operation"):
        read_trace(tmp_path / "posts.parquet")
    with pytest.raises(InputError, match="no such trace"):
        read_trace(tmp_path / "nothing.csv")
    (tmp_path / "text.txt").write_text("hello")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_trace(tmp_path / "text.txt")


@given(st.lists(st.text(alphabet="ab;\\ ", min_size=1), max_size=4))
def test_tags_survive_a_cell_of_a_table(tags: list[str]) -> None:
    assert split_tags(join_tags(tags)) == tags


def test_a_backslash_that_escapes_nothing_stands_for_itself() -> None:
    assert split_tags(r"a\b;c\;d;") == ["a\\b", "c;d"]


@pytest.mark.parametrize(("name", "wrong"), [("kind", "dance"), ("node", None)])
def test_a_table_with_a_wrong_cell_is_told_by_its_row(name: str, wrong: object, tmp_path: Path) -> None:
    rows = table_from_operations(TRACE).to_pylist()
    rows[1][name] = wrong
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "trace.parquet")
    with pytest.raises(InputError, match=r"trace\.parquet: row 2 of the trace"):
        read_trace(tmp_path / "trace.parquet")
