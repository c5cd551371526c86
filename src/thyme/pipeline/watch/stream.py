"""Logs of live nodes under watch, by Structured Streaming: a folder's logs in, sliding windows out, as they happen.

How logs that grow reach the stream is told in `increments`, what the windows hold in `windows`. Staged files, positions
in the logs and Spark's checkpoint are in one folder: a temporary one, so that the next watch reads the logs from the
beginning, or one that the user chose, so that it goes on where it stopped. Windows can be written as Parquet: each
batch of the stream is a folder `batch=N`, written again if the batch is repeated; the row of a window in the latest
batch is its current one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from thyme.drafts import write_file
from thyme.model.errors import InputError
from thyme.pipeline.spark.connect import is_remote, shown
from thyme.pipeline.spark.dataset import local_uri
from thyme.pipeline.spark.given import chosen_master, given_settings
from thyme.pipeline.spark.session import spark_session
from thyme.pipeline.watch.increments import LogFolder
from thyme.pipeline.watch.windows import (
    OBSERVED,
    WatchOptions,
    WindowFigures,
    observe_lines,
    parse_events,
    read_lines,
    sliding_windows,
)


class Watched(msgspec.Struct, frozen=True):
    """What is known by now; windows in order of time, then of what they tell."""

    windows: list[WindowFigures]
    events: int
    malformed: int
    late: int
    """Rows that came too late, counted after Spark summed those of one batch, window and kind."""
    logs: int
    torn: int


class WatchPlaces(msgspec.Struct, frozen=True):
    """What outlives a watch, if anything: where windows are written, and where it goes on after a restart."""

    sink: Path | None = None
    checkpoint: Path | None = None


class LogStream:
    """A folder of logs as a stream. `poll` stages what was added to the logs; the stream takes it from there."""

    def __init__(
        self, spark: SparkSession, folder: Path, work: Path, options: WatchOptions, sink: Path | None = None
    ) -> None:
        self._options = options
        self._sink = sink
        self._checkpoint = work / "checkpoint"
        staging = work / "increments"
        self._logs = LogFolder(folder, staging)
        self._windows: dict[tuple[float, str], WindowFigures] = {}
        self._counts = (0, 0, 0)
        self._counted_batches = 0
        self._stream = sliding_windows(observe_lines(parse_events(read_lines(spark, staging))), options)

    def poll(self) -> bool:
        """Stage what was added to the logs; whether anything was."""
        return self._logs.poll()

    def begin(self, once: bool = False) -> StreamingQuery:
        """Start the stream: until it is stopped, or `once` over what has been staged."""

        def take(batch: DataFrame, number: int) -> None:
            rows = batch.persist()
            self._take(rows.collect())
            if self._sink is not None:
                rows.write.mode("overwrite").parquet(local_uri(self._sink / f"batch={number}"))
            rows.unpersist()

        writer = self._stream.writeStream.outputMode("update").foreachBatch(take)
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        if once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{self._options.every_s} seconds").start()

    def count(self, query: StreamingQuery) -> None:
        """Add up what the query says of its latest batches, of which Spark remembers a hundred."""
        for progress in query.recentProgress:
            observed = progress.observedMetrics.get(OBSERVED)
            if observed is None or progress.batchId < self._counted_batches:
                continue
            self._counted_batches = progress.batchId + 1
            late = sum(operator.numRowsDroppedByWatermark for operator in progress.stateOperators)
            events, malformed, too_late = self._counts
            told = observed["malformed"]
            self._counts = (events + observed["lines"] - told, malformed + told, too_late + late)

    def watched(self) -> Watched:
        known = self._windows
        return Watched([known[key] for key in sorted(known)], *self._counts, self._logs.logs, self._logs.torn)

    def _take(self, rows: list[Row]) -> None:
        """Spark calls this from a thread of its own, so the windows are replaced, never changed."""
        changed = [WindowFigures(**row.asDict()) for row in rows]
        windows = self._windows | {(each.from_s, each.what): each for each in changed}
        newest = sorted({from_s for from_s, _ in windows})[-self._options.max_windows :]
        self._windows = {key: each for key, each in windows.items() if key[0] >= newest[0]}


def watch_once(
    folder: Path,
    options: WatchOptions,
    master: str = "",
    places: WatchPlaces = WatchPlaces(),  # noqa: B008 - a frozen record
) -> Watched:
    """What the logs in a folder tell now; with a checkpoint, since the last call."""
    with _watching(folder, options, master, places) as watch:
        if not watch.poll() and places.checkpoint is None:
            raise InputError(f"{folder}: contains no events; expected the .jsonl or .parquet logs of live nodes")
        query = watch.begin(once=True)
        query.awaitTermination()
        watch.count(query)
        return watch.watched()


def watch_on(
    folder: Path,
    options: WatchOptions,
    show: Callable[[Watched], None],
    master: str = "",
    over: Callable[[], bool] = lambda: False,
    places: WatchPlaces = WatchPlaces(),  # noqa: B008 - a frozen record
) -> None:
    """Show what the logs tell, again and again, until interrupted, or until nothing more will come."""
    with _watching(folder, options, master, places) as watch:
        watch.poll()
        query = watch.begin()
        try:
            ended = False
            while query.isActive and not ended:
                ended = over()
                watch.poll()
                if ended:
                    query.processAllAvailable()
                else:
                    time.sleep(options.every_s)
                watch.count(query)
                show(watch.watched())
            if not ended:
                query.awaitTermination()
        finally:
            query.stop()


@contextmanager
def _watching(folder: Path, options: WatchOptions, master: str, places: WatchPlaces) -> Iterator[LogStream]:
    where = chosen_master(master, given_settings())
    if is_remote(where):
        raise InputError(
            f"--master {shown(where)}: a crowd cannot be watched through Spark Connect, as the batches of a stream "
            "would stay at the server; watch it on this machine (--master local[*]) or on the cluster itself"
        )
    spark = spark_session("watch", master, **{"spark.sql.shuffle.partitions": str(options.partitions)})
    if places.checkpoint is not None:
        _take_checkpoint(places.checkpoint, folder, options)
        yield LogStream(spark, folder, places.checkpoint, options, places.sink)
        return
    if places.sink is not None and places.sink.exists():
        raise InputError(f"{places.sink}: exists already; choose another place, or continue with --checkpoint")
    with tempfile.TemporaryDirectory(prefix="thyme-watch-", ignore_cleanup_errors=True) as work:
        yield LogStream(spark, folder, Path(work), options, places.sink)


def _take_checkpoint(checkpoint: Path, folder: Path, options: WatchOptions) -> None:
    """Make the folder that of this watch; InputError if it belongs to another one."""
    file = checkpoint / "watch.json"
    ours = {"logs": str(folder.resolve()), "window_s": options.window_s, "slide_s": options.slide_s}
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)
        if file.is_file():
            theirs = msgspec.json.decode(file.read_bytes())
            if theirs != ours:
                raise InputError(f"{checkpoint}: is the checkpoint of another watch, {theirs}; choose another folder")
        elif any(checkpoint.iterdir()):
            raise InputError(f"{checkpoint}: is not empty and is not a checkpoint; choose a new folder")
        write_file(file, msgspec.json.encode(ours))
    except OSError as error:
        raise InputError(f"{checkpoint}: cannot be written ({error.strerror}); choose another folder") from error
