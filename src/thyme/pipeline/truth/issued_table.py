"""What was asked for in a run with churn, as `issued` says it, of a trace and events that are tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thyme.pipeline.coded_tags import as_numpy
from thyme.pipeline.truth.issued import CRASHED
from thyme.pipeline.truth.life_columns import of_kind


def issued_table(trace: pa.Table, events: pa.Table) -> pa.Table:
    """The operations of the trace that were issued, and the ends of what crashed nodes wanted."""
    issued = events.filter(pc.equal(events["kind"], "issued"))["operation"]
    asked = trace.filter(pa.array(np.isin(as_numpy(trace["operation"]), as_numpy(issued))))
    ended = _ended_by_crashes(asked, events)
    return pa.concat_tables([asked, pa.Table.from_pylist(ended, trace.schema)]) if ended else asked


def _ended_by_crashes(asked: pa.Table, events: pa.Table) -> list[dict[str, Any]]:
    """An unsubscribe, in the instant of its node's crash, of each subscription that stood until then."""
    left = events.filter(pc.and_(pc.equal(events["kind"], "left"), pc.equal(events["reason"], CRASHED)))
    rows = left.group_by("node").aggregate([("at_s", "max")]).to_pylist()
    crashed = {row["node"]: row["at_s_max"] for row in rows}
    if not crashed:
        return []
    revoked = {(row["node"], row["sid"]) for row in of_kind(asked, "unsubscribe").to_pylist()}
    ended = [
        {**row, "at_s": crashed[row["node"]], "kind": "unsubscribe", "query": "", "start_s": None, "end_s": None}
        for row in of_kind(asked, "subscribe").to_pylist()
        if (row["node"], row["sid"]) not in revoked and row["at_s"] <= crashed.get(row["node"], -np.inf)
    ]
    # Numbers order a trace: the end takes the number after the last operation before the crash.
    at_s, operation = as_numpy(asked["at_s"]), as_numpy(asked["operation"])
    numbers = {when_s: int(operation[at_s <= when_s].max()) + 1 for when_s in {row["at_s"] for row in ended}}
    return [{**row, "operation": numbers[row["at_s"]]} for row in ended]
