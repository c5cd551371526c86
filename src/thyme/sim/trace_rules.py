"""What makes a list of operations a trace that can be played (Thyme FGCS §3).

Operations are numbered in time order; whatever is deleted or unsubscribed was inserted or subscribed earlier by
the same node; names are used once; tags, queries and frames are those of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TypeVar

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.objects import MAX_SUMMARY_BYTES, MAX_TAGS, MAX_TRACE_BYTES
from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.model.tags import normalise_tag

Name = TypeVar("Name", str, int)


class _Seen:
    """What the trace has created and removed so far."""

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
