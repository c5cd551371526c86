"""The ground truth of a trace as a dataset: counted in one process, or by Spark if the trace is too large for that."""

from __future__ import annotations

import pyarrow as pa

from thyme.pipeline.schemas import EXPECTED_COLUMNS, arrow_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.keeping import job
from thyme.pipeline.spark.stored_rows import StoredRows
from thyme.pipeline.truth.oracle import expected_counts
from thyme.pipeline.truth.whole import COLUMNS, WholeTruth
from thyme.places import Place

LIGHT_OPERATIONS = 5_000_000
"""Up to so many operations are one table: some 2 GB."""


def write_expected(trace: StoredRows, place: Place) -> Place:
    """How many objects each subscription of the trace is to be told of, in the schema EXPECTED."""
    if trace.number > LIGHT_OPERATIONS:
        with job():
            return dataset.write_once(expected_counts(trace.frame()), place)
    truth = WholeTruth(trace.here(COLUMNS))
    keys = truth.subscriptions.keys
    columns = [pa.repeat("", len(keys)), keys, truth.counts()]
    return dataset.write_table_once(pa.table(columns, schema=arrow_schema(EXPECTED_COLUMNS)), place)
