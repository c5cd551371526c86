"""Finished runs measured one by one, each where a task reads its events and its trace as tables.

Runs have nothing to do with each other, so nothing passes between tasks; a trace that several runs of a task played is
looked at once. A run and its trace have to fit into one process (`fits`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from thyme.pipeline.metrics.figures import run_figures
from thyme.pipeline.metrics.intervals import rank_of
from thyme.pipeline.metrics.whole_run import CODED, COLUMNS, Truth, sum_run, truth_of
from thyme.pipeline.runs.run import EVENTS_FILE
from thyme.pipeline.schemas import (
    METRIC_COLUMNS,
    METRICS,
    SUMMARY_COLUMNS,
    TRACE,
    Columns,
    arrow_schema,
    spark_schema,
)
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.pipeline.spark.stored_rows import StoredRows
from thyme.pipeline.truth import whole
from thyme.pipeline.truth.issued_table import issued_table
from thyme.pipeline.truth.written import LIGHT_OPERATIONS
from thyme.places import Place, arrow_path, for_arrow, place_of, whole_place

LIGHT_BYTES = 256 * 1024 * 1024
"""Of the events of one run, as they are kept: some 2 GB in memory."""
RUN_COLUMNS: Columns = (("run", "string"), ("trace", "string"), ("nodes", "int64"), ("churn", "bool"))
POINT_COLUMNS: Columns = (("point", "int64"), *SUMMARY_COLUMNS)


def fits(events_bytes: int, operations: int) -> bool:
    """Whether a process can measure a run whose events take so much room and whose trace has so many operations."""
    return events_bytes <= LIGHT_BYTES and operations <= LIGHT_OPERATIONS


def measure_by_run(spark: SparkSession, folder: Place, runs: pa.Table, traces: Mapping[str, Place]) -> pa.Table:
    """The metrics of each run of a table in RUN_COLUMNS, in order; `traces` tells where each trace is kept."""
    places = {name: str(whole_place(place)) for name, place in traces.items()}
    listed = from_arrow(spark, runs.sort_by([("trace", "ascending"), ("run", "ascending")]), spark_schema(RUN_COLUMNS))
    found = map_arrow(listed, MeasureRuns(str(whole_place(folder)), places), METRICS).toArrow()
    return found.sort_by([("run", "ascending"), ("metric", "ascending")]).cast(arrow_schema(METRIC_COLUMNS))


class MeasureRuns(msgspec.Struct, frozen=True):
    """Turns batches of runs into their metrics."""

    folder: str
    traces: Mapping[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name, trace, truth = "", pa.table({}), None
        for batch in batches:
            for run in batch.to_pylist():
                if run["trace"] != name or truth is None:
                    name, trace = run["trace"], read_trace(place_of(self.traces[run["trace"]]))
                    truth = truth_of(trace)
                events = read_events(place_of(self.folder) / run["run"] / EVENTS_FILE)
                own = truth_of(issued_table(trace, events)) if run["churn"] else truth
                yield from measure_run(events, run["run"], run["nodes"], own).to_batches()


def measure_run(events: pa.Table, run: str, nodes: int | None, truth: Truth | None) -> pa.Table:
    """The metrics of one run."""
    return run_figures(sum_run(events, run, nodes, truth))


def read_trace(place: Place) -> pa.Table:
    """What the truth needs of a trace."""
    return StoredRows(_no_spark, place, TRACE).here(whole.COLUMNS)


def _no_spark() -> SparkSession:
    raise AssertionError("a task has no session")


def read_events(place: Place) -> pa.Table:
    """What metrics need of the events in a file; its pages are held against their checksums."""
    options = {**for_arrow(place), "page_checksum_verification": True, "read_dictionary": list(CODED)}
    with pq.ParquetFile(arrow_path(place), **options) as file:
        return file.read(columns=list(COLUMNS), use_threads=False)


def summarise(metrics: pa.Table, points: Sequence[tuple[str, int]]) -> pa.Table:
    """Mean, deviation and interval of each metric over the runs of each point, as `table.point_metrics` has them;
    `points` pairs run and point."""
    of_run: dict[str, list[int]] = {}
    for run, point in points:
        of_run.setdefault(run, []).append(point)
    values: dict[tuple[int, str], list[float]] = {}
    for row in metrics.to_pylist():
        for point in of_run.get(row["run"], ()):
            values.setdefault((point, row["metric"]), []).append(row["value"])
    rows = [(*key, *_summary(np.sort(found))) for key, found in sorted(values.items(), key=_by_bytes)]
    columns = zip(*rows, strict=True) if rows else [()] * len(POINT_COLUMNS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, arrow_schema(POINT_COLUMNS), strict=True)]
    return pa.table(arrays, schema=arrow_schema(POINT_COLUMNS))


def _by_bytes(item: tuple[tuple[int, str], list[float]]) -> tuple[int, bytes]:
    (point, metric), _ = item
    return point, metric.encode()


def _summary(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float | None, ...]:
    """Mean, deviation, low, high and number of sorted values, which are added one after the other."""
    runs = len(values)
    mean = float(np.cumsum(values)[-1]) / runs
    if runs == 1:
        return mean, None, None, None, runs
    squares = float(np.cumsum((values - mean) * (values - mean))[-1])
    rank = rank_of(runs)
    return mean, float(np.sqrt(squares / (runs - 1))), float(values[rank - 1]), float(values[-rank]), runs
