"""What DRIP's and SocialCast's evaluations count as delivered, and how much could have been (the ground truth of both).

Both count pairs of a message and a subscriber other than its publisher, where subscriptions come before messages, last
to the end, and ask for any of some tags, of which a message has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind

MAX_KNOWN_QUERIES = 4_096
"""Of which the tags are remembered; runs of an evaluation have the same few."""


def expected_deliveries(operations: Sequence[Operation]) -> int:
    """How many pairs there are."""
    wanted = wanted_by(operations)
    published = [operation for operation in operations if operation.kind == OperationKind.INSERT]
    return sum(len(wanted.get(operation.tags[0], set()) - {operation.node}) for operation in published)


def wanted_by(operations: Sequence[Operation]) -> dict[str, set[int]]:
    """Who asks for each tag."""
    wanted: dict[str, set[int]] = {}
    for operation in operations:
        if operation.kind == OperationKind.SUBSCRIBE:
            for tag in _tags(operation.query):
                wanted.setdefault(tag, set()).add(operation.node)
    return wanted


def deliveries(events: pa.Table, columns: Sequence[str]) -> list[dict[str, Any]]:
    """These columns of what subscribers were notified of, without a publisher's own."""
    rows = rows_of(events, "notified").select(["object", "subscription", *columns]).to_pylist()
    return [row for row in rows if row["object"].split("@")[1] != row["subscription"].split("@")[1]]


def rows_of(events: pa.Table, kind: str) -> pa.Table:
    return events.filter(pc.equal(events["kind"], kind))


@lru_cache(maxsize=MAX_KNOWN_QUERIES)
def _tags(query: str) -> frozenset[str]:
    return frozenset(parse_query(query).tags())
