"""What DRIP's and SocialCast's evaluations count as delivered, and how much could have been.

Both count pairs of a published event and a subscriber that has not published it itself. The pipeline's ground truth
says which subscriptions want an event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.truth.expected import Truth
from thyme.sim.traces import table_from_operations


def expected_pairs(operations: Sequence[Operation]) -> set[tuple[str, int]]:
    """Pairs of an event's name and a node that should be notified: a subscriber that has not published it. Nodes that
    publish the same event use the same name."""
    truth = Truth(table_from_operations(operations))
    objects, subscriptions = len(truth.objects.keys), len(truth.subscriptions.keys)
    found, asking = np.divmod(np.arange(objects * subscriptions), max(1, subscriptions))
    wanted = truth.judge(asking, found)
    names = [key.rpartition("@")[0] for key in truth.objects.keys.to_pylist()]
    nodes = [int(key.rpartition("@")[2]) for key in truth.subscriptions.keys.to_pylist()]
    pairs = {(names[one], nodes[who]) for one, who in zip(found[wanted].tolist(), asking[wanted].tolist(), strict=True)}
    return pairs - {(one.oid, int(one.node)) for one in operations if one.kind == OperationKind.INSERT}


def deliveries(events: pa.Table, columns: Sequence[str]) -> list[dict[str, Any]]:
    """These columns of the notifications, without publishers' own objects."""
    rows = rows_of(events, "notified").select(["object", "subscription", *columns]).to_pylist()
    return [row for row in rows if row["object"].split("@")[1] != row["subscription"].split("@")[1]]


def rows_of(events: pa.Table, kind: str) -> pa.Table:
    return events.filter(pc.equal(events["kind"], kind))
