"""Traces as files: what the pipeline wrote as Parquet, or a person as CSV, read back as operations.

In CSV the tags of an object are separated by `;` (one inside a tag has a backslash before it, and so has a backslash),
absent cells are empty, `now` as a frame's start or end means the time of the operation, and the column `operation` may
be left out: rows are then numbered in time order.
Every fault of a trace is told with its file and row (`check_operations`).

Operations are numbered in time order; whatever is deleted or unsubscribed was inserted or subscribed earlier by the
same node; names are used once; tags, queries and frames are those of the model (Thyme FGCS §3).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from random import Random
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId
from thyme.model.objects import MAX_SUMMARY_BYTES, MAX_TAGS, MAX_TRACE_BYTES
from thyme.model.operations import MAX_TRACE_OPERATIONS, TRACE_COLUMNS, Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.model.tags import normalise_tag
from thyme.places import Place, arrow_path, for_arrow, place_of

Name = TypeVar("Name", str, int)


class _Seen:
    """Objects and subscriptions that the trace has created and removed so far."""

    def __init__(self) -> None:
        self.at_s = 0.0
        self.objects: dict[tuple[str, int], bool] = {}
        self.subscriptions: dict[tuple[int, int], bool] = {}
        self.queries: dict[str, str] = {}


def faults_of(operations: Sequence[Operation]) -> Iterator[tuple[int, str]]:
    """Each fault with the index of its operation."""
    seen = _Seen()
    for index, operation in enumerate(operations):
        fault = _fault(index, operation, seen)
        if fault:
            yield index, fault


def _fault(index: int, operation: Operation, seen: _Seen) -> str:
    if operation.operation != index:
        return f"its number is {operation.operation}; expected {index}, as operations are numbered from 0 in order"
    if not isfinite(operation.at_s) or operation.at_s < seen.at_s:
        return f"at_s is {operation.at_s}; expected at least {seen.at_s}, the time of the row before"
    if operation.node < 0:
        return f"node is {operation.node}; expected a number from 0"
    seen.at_s = operation.at_s
    match operation.kind:
        case OperationKind.INSERT:
            return _insert_fault(operation, seen)
        case OperationKind.DELETE:
            return _removal_fault((operation.oid, operation.node), seen.objects, "object", "inserted")
        case OperationKind.SUBSCRIBE:
            return _subscribe_fault(operation, seen)
        case OperationKind.UNSUBSCRIBE:
            return _removal_fault((operation.sid, operation.node), seen.subscriptions, "subscription", "made")
        case _:
            return f"{operation.kind} cannot stand in a trace: it reacts to notifications"


def _insert_fault(operation: Operation, seen: _Seen) -> str:
    key = (operation.oid, operation.node)
    if not operation.oid:
        return "an insert needs an oid"
    if key in seen.objects:
        return f"node {operation.node} inserted the object {operation.oid!r} before; expected another oid"
    if not 0 < len(operation.tags) <= MAX_TAGS:
        return f"an insert has {len(operation.tags)} tags; expected from 1 to {MAX_TAGS}"
    for tag in operation.tags:
        try:
            normal = normalise_tag(tag)
        except InputError as error:
            return str(error)
        if normal != tag:
            return f"the tag {tag!r} is not normalised; expected {normal!r}"
    if not 0 <= operation.size_bytes <= MAX_TRACE_BYTES or not 0 <= operation.summary_bytes <= MAX_SUMMARY_BYTES:
        return (
            f"size_bytes is {operation.size_bytes} and summary_bytes {operation.summary_bytes}; "
            f"expected at most {MAX_TRACE_BYTES} and {MAX_SUMMARY_BYTES}"
        )
    seen.objects[key] = True
    return ""


def _subscribe_fault(operation: Operation, seen: _Seen) -> str:
    key = (operation.sid, operation.node)
    if operation.sid < 0:
        return f"sid is {operation.sid}; a subscribe needs a number from 0"
    if key in seen.subscriptions:
        return f"node {operation.node} used the sid {operation.sid} before; expected another"
    try:
        TimeFrame(operation.start_s, operation.end_s)
    except InputError as error:
        return str(error)
    if operation.query not in seen.queries:
        seen.queries[operation.query] = _query_fault(operation.query)
    seen.subscriptions[key] = True
    return seen.queries[operation.query]


def _query_fault(text: str) -> str:
    try:
        return "" if parse_query(text).dnf() else f"the query {text!r} can never match"
    except InputError as error:
        return f"the query {text!r}: {error}"


def _removal_fault(key: tuple[Name, int], present: dict[tuple[Name, int], bool], noun: str, verb: str) -> str:
    if key not in present:
        return f"there is no {noun} {key[0]!r} that node {key[1]} {verb} earlier"
    if not present[key]:
        return f"the {noun} {key[0]!r} is gone already"
    present[key] = False
    return ""


MAX_FAULTS_TOLD = 10
TAG_SEPARATOR = ";"
_TAG_PIECES = re.compile(r"\\[\\;]|[^\\;]+|;|\\")
"""An escaped character, plain text, a separator, or a backslash before anything else, which stands for itself."""
_NAMES = tuple(name for name, _ in TRACE_COLUMNS)
_NEEDED = ("at_s", "node", "kind")
_TYPES = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string(), "list<string>": pa.list_(pa.string())}
TRACE_SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in TRACE_COLUMNS])
EXAMPLE_TAGS = ("goal", "food", "music")
EXAMPLE_FIRST_S, EXAMPLE_ASKED_S, EXAMPLE_LAST_S = 62.0, 75.0, 112.0
"""In the example, all have joined by the first; most ask before the posts come."""
EXAMPLE_MIN_USERS = 2


def read_trace(path: Place | str) -> list[Operation]:
    """The operations of a trace, checked: a CSV file, a Parquet file or a folder of them."""
    path = place_of(path)
    if not path.exists():
        raise InputError(f"{path}: no such trace; expected a CSV file, a Parquet file or a dataset of them")
    operations = read_unchecked(path)
    check_operations(operations, str(path))
    return operations


def read_unchecked(path: Place) -> list[Operation]:
    if isinstance(path, Path) and path.suffix == ".csv":
        return _read_csv(path)
    try:
        table = pq.read_table(arrow_path(path), **for_arrow(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error}); a CSV trace ends in .csv") from error
    missing = [name for name in _NAMES if name not in table.column_names]
    if missing:
        raise InputError(f"{path}: not a trace, it lacks the columns {', '.join(missing)}")
    try:
        return operations_from_table(table.select(_NAMES))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def operations_from_table(table: pa.Table) -> list[Operation]:
    """The rows of a trace table as operations, in their order of number."""
    if table.num_rows > MAX_TRACE_OPERATIONS:
        raise InputError(f"the trace has {table.num_rows} operations; at most {MAX_TRACE_OPERATIONS} can be simulated")
    try:
        rows = table.select(_NAMES).sort_by("operation").to_pylist()
    except pa.ArrowException as error:
        raise InputError(f"the trace cannot be ordered by its column operation ({error})") from error
    return [_operation(number, row) for number, row in enumerate(rows, start=1)]


def _operation(number: int, row: dict[str, object]) -> Operation:
    try:
        return msgspec.convert({name: value for name, value in row.items() if value is not None}, Operation)
    except msgspec.ValidationError as error:
        raise InputError(f"row {number} of the trace: {error}") from error


def table_from_operations(operations: Sequence[Operation]) -> pa.Table:
    rows = [msgspec.to_builtins(operation) for operation in operations]
    return pa.Table.from_pylist(rows, schema=TRACE_SCHEMA)


def write_csv(operations: Sequence[Operation], path: Path | str) -> None:
    """The trace as a person can read and change it."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_NAMES)
        for operation in operations:
            cells = msgspec.to_builtins(operation)
            cells["tags"] = join_tags(cells["tags"])
            writer.writerow(["" if cells[name] is None else cells[name] for name in _NAMES])


def join_tags(tags: Sequence[str]) -> str:
    """Tags as one cell of a CSV trace."""
    return TAG_SEPARATOR.join(tag.replace("\\", "\\\\").replace(TAG_SEPARATOR, "\\" + TAG_SEPARATOR) for tag in tags)


def split_tags(cell: str) -> list[str]:
    """The tags of one cell of a CSV trace."""
    pieces = _TAG_PIECES.findall(cell)
    tags = [""]
    for piece in pieces:
        if piece == TAG_SEPARATOR:
            tags.append("")
        else:
            tags[-1] += piece[1:] if len(piece) == 2 and piece[0] == "\\" else piece
    return [tag for tag in tags if tag]


def check_operations(operations: Sequence[Operation], source: str) -> None:
    """InputError with the faults of the trace, each with its row, the first few of them."""
    faults = [f"{source}, row {row + 1}: {fault}" for row, fault in faults_of(operations)]
    if faults:
        more = f"\n… and {len(faults) - MAX_FAULTS_TOLD} more" if len(faults) > MAX_FAULTS_TOLD else ""
        raise InputError("\n".join(faults[:MAX_FAULTS_TOLD]) + more)


def _read_csv(path: Path) -> list[Operation]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            operations = list(_csv_operations(csv.DictReader(file), path))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as CSV in UTF-8 ({error})") from error
    if any(operation.operation < 0 for operation in operations):
        ordered = sorted(operations, key=lambda operation: operation.at_s)
        return [msgspec.structs.replace(one, operation=number) for number, one in enumerate(ordered)]
    return operations


def _csv_operations(reader: csv.DictReader[str], path: Path) -> Iterator[Operation]:
    header = reader.fieldnames or []
    unknown = [name for name in header if name not in _NAMES]
    missing = [name for name in _NEEDED if name not in header]
    if unknown or missing:
        told = [f"unknown: {', '.join(unknown)}"] * bool(unknown) + [f"missing: {', '.join(missing)}"] * bool(missing)
        raise InputError(f"{path}, header: {'; '.join(told)}; expected columns among {', '.join(_NAMES)}")
    for number, row in enumerate(reader, start=1):
        if None in row or None in row.values():
            raise InputError(f"{path}, row {number}: expected {len(header)} cells, as the header has")
        cells = {name: cell for name, cell in row.items() if cell != ""}
        fields: dict[str, object] = {"operation": -1, **cells}
        for name in ("start_s", "end_s"):
            if cells.get(name, "").lower() == "now":
                fields[name] = cells.get("at_s", "")
        fields["tags"] = split_tags(cells.get("tags", ""))
        try:
            yield msgspec.convert(fields, Operation, strict=False)
        except msgspec.ValidationError as error:
            raise InputError(f"{path}, row {number}: {error}") from error


def example_operations(users: int, seed: int = 1) -> list[Operation]:
    """A small example trace: within one minute, a third of the users subscribe to one tag each, and every user inserts
    one object."""
    if users < EXAMPLE_MIN_USERS:
        raise InputError(f"users is {users}; expected at least {EXAMPLE_MIN_USERS}")
    draws = Random(f"{seed}/example trace")
    drawn: list[tuple[float, int, str]] = []
    for node in range(users):
        if node % 3 == 0:
            drawn.append((round(draws.uniform(EXAMPLE_FIRST_S, EXAMPLE_ASKED_S), 3), node, "ask"))
        drawn.append((round(draws.uniform(EXAMPLE_FIRST_S, EXAMPLE_LAST_S), 3), node, "post"))
    found = []
    for number, (at_s, node, what) in enumerate(sorted(drawn)):
        tag = draws.choice(EXAMPLE_TAGS)
        if what == "ask":
            found.append(Operation(number, at_s, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query=tag))
        else:
            text = f"{tag}, seen by {node}"
            insert = Operation(number, at_s, NodeId(node), OperationKind.INSERT, oid="first", tags=(tag,), text=text)
            found.append(insert)
    return found
