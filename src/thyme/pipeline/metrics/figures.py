"""All metrics of one run, from its sums: a function that runs where the sums are, with no need of Spark."""

from __future__ import annotations

import pyarrow as pa

from thyme.model.records import OperationKind
from thyme.pipeline.metrics.notifications import delivery_figures, recall_figures
from thyme.pipeline.metrics.outcomes import operation_figures
from thyme.pipeline.metrics.tallies import RunSums
from thyme.pipeline.metrics.traffic import (
    energy_figures,
    held_figures,
    load_figures,
    presence_figures,
    sampled_figures,
    traffic_figures,
)
from thyme.pipeline.schemas import METRIC_COLUMNS, arrow_schema

FIGURES = (
    traffic_figures,
    presence_figures,
    delivery_figures,
    recall_figures,
    operation_figures,
    energy_figures,
    load_figures,
    held_figures,
    sampled_figures,
)


def lowest(found: dict[str, float]) -> dict[str, float]:
    """`lowest.success`: of the kind of operation that does worst, notifications among them by their recall, where it is
    known. A request for the next batch of past matches is a part of its subscription, of which there may be one or two
    in a run, and what it does not bring is missing in the recall."""
    shares = [
        value
        for name, value in found.items()
        if (name.endswith(".success") and name != f"{OperationKind.MORE}.success") or name == "recall"
    ]
    return {"lowest.success": min(shares)} if "recall" in found else {}


def run_figures(table: pa.Table) -> pa.Table:
    """The metrics of one run from its sums; what cannot be computed is left out."""
    sums = RunSums(table)
    found = {name.replace(" ", "_"): value for part in FIGURES for name, value in part(sums) if value is not None}
    found |= lowest(found)
    columns = [[sums.run] * len(found), list(found), [float(value) for value in found.values()]]
    return pa.table(columns, schema=arrow_schema(METRIC_COLUMNS))
