"""A trial of live nodes measured as a simulated run is: by its events, against the truth of what was issued in it.

A trial is of one machine's processes, so its events fit into one: no Spark is started for it.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from thyme.pipeline.metrics.by_run import measure_run, read_events
from thyme.pipeline.metrics.whole_run import truth_of
from thyme.pipeline.truth import whole
from thyme.pipeline.truth.issued_table import issued_table

_TRIAL = "trial"


def measure_trial(events: Path, trace: Path, nodes: int) -> dict[str, float]:
    """The metrics of a trial by name, from the Parquet files of its events and of the operations that were planned."""
    happened = read_events(events)
    planned = pq.read_table(trace, columns=list(whole.COLUMNS))
    truth = truth_of(issued_table(planned, happened))
    return {row["metric"]: row["value"] for row in measure_run(happened, _TRIAL, nodes, truth).to_pylist()}
