"""A trace made of a dataset of posts and written as a dataset.

There are three ways to the same rows, by how many posts there are. Few are one table in this process, and need no
Spark. Up to `LIGHT_POSTS`, tasks read posts as tables (`spark.stored_rows`), tell what they find in them, and at last
write the pieces of the trace (`numbering`); what they find is put together here. More posts than that, and posts that
are dealt out, are Spark's alone (`trace.make_trace`), in which nothing has to fit into one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import functions as sf

from thyme.drafts import drafted
from thyme.pipeline.manifest import write_checked
from thyme.pipeline.schemas import TRACE, Columns, arrow_schema, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import TableFunction, from_arrow, map_arrow
from thyme.pipeline.spark.drafting import Draft
from thyme.pipeline.spark.keeping import job
from thyme.pipeline.spark.stored_rows import StoredRows
from thyme.pipeline.traces.inserting import (
    AUTHOR_COLUMNS,
    FOUND_COLUMNS,
    MINUTE_COLUMNS,
    CountAuthors,
    FindUses,
    Inserting,
    Window,
    count_minutes,
)
from thyme.pipeline.traces.numbering import PIECE_COLUMNS, Pieces, cut, filled, in_order, other_table, with_numbers
from thyme.pipeline.traces.sizes import ObjectSizes, sized_table
from thyme.pipeline.traces.summing import (
    Uses,
    choose_users,
    deleting,
    draw_operations,
    other_operations,
    rows_per_second,
)
from thyme.pipeline.traces.trace import MAX_LIGHT_USERS, TraceOptions, busiest_minute_s, make_trace
from thyme.places import Place, Remote, whole_place

FEW_POSTS = 50_000
"""Up to so many are read at once: 20 MB."""
LIGHT_POSTS = 4_000_000
"""Up to so many, what is found in them fits into this process: their authors, tags, and objects that may be deleted,
some 400 MB at most."""
_SEEN = ["at_s", "tags"]
_WHOLE = ["id", "author", "at_s", "tags", "text"]


def write_trace(posts: StoredRows, options: TraceOptions, place: Place, made_from: str = "") -> Place:
    """The trace of the posts as a dataset at this place."""
    number = posts.number
    if options.authors == "deal" or number > LIGHT_POSTS or options.users > MAX_LIGHT_USERS:
        with job():
            return dataset.write_once(make_trace(posts.frame(), options), place, made_from=made_from)
    look = _here(posts) if number <= FEW_POSTS else _in_tasks(posts)
    plan = _plan(look, options)
    with dataset.drafting(place, made_from) as draft:
        if number <= FEW_POSTS:
            draft.add(plan.whole(posts.here(_WHOLE)))
        else:
            _write_by_tasks(plan, posts, draft)
    return place


Look = Callable[[list[str], TableFunction, Columns], pa.Table]
"""Applies a function to all posts, given the columns that it needs; what it found, in the given columns."""


def _here(posts: StoredRows) -> Look:
    table = posts.here(_WHOLE)
    return lambda columns, function, found: function(table)


def _in_tasks(posts: StoredRows) -> Look:
    def look(columns: list[str], function: TableFunction, found: Columns) -> pa.Table:
        return posts.map(columns, function, spark_schema(found)).toArrow()

    return look


class TracePlan(msgspec.Struct, frozen=True):
    """All that the operations of a trace are made from, besides the posts: who inserts what, the pieces of the trace,
    and what is not inserted."""

    inserting: Inserting
    sizes: ObjectSizes
    seed: int
    pieces: Pieces
    others: pa.Table

    def whole(self, posts: pa.Table) -> pa.Table:
        """The trace as one table."""
        rows = in_order(pa.concat_tables([filled(self._inserts(posts)), self.others]))
        return with_numbers(rows, 0)

    def split(self, posts: pa.Table) -> pa.Table:
        """The inserts in packed tables, by the pieces that they belong to."""
        return self.pieces.split(self._inserts(posts))

    def _inserts(self, posts: pa.Table) -> pa.Table:
        return sized_table(self.inserting.inserts(posts), self.sizes, self.seed)


def _plan(look: Look, options: TraceOptions) -> TracePlan:
    start_s = options.window_start_s
    if start_s is None:
        start_s = busiest_minute_s(look(_SEEN, count_minutes, MINUTE_COLUMNS), options.compression.window_s)
    window = Window(start_s, options.compression)
    users = choose_users(look(["author", *_SEEN], CountAuthors(window), AUTHOR_COLUMNS), options)
    inserting = Inserting(window, users.authors, users.publishes)
    drawn = draw_operations(users, options)
    found = look(["id", "author", *_SEEN], FindUses(inserting, deleting(drawn), options.asks_together), FOUND_COLUMNS)
    uses = Uses(found)
    others = other_operations(drawn, uses, options)
    pieces = cut(*rows_per_second(uses.seconds(), others))
    return TracePlan(inserting, options.sizes, options.seed, pieces, other_table(others))


def _write_by_tasks(plan: TracePlan, posts: StoredRows, draft: Draft) -> None:
    packed = spark_schema(PIECE_COLUMNS)
    inserts = posts.map(_WHOLE, plan.split, packed)
    rows = inserts.unionByName(from_arrow(posts.spark(), plan.pieces.split(plan.others), packed))
    number = sf.col("piece").cast("int")
    gathered = rows.repartitionById(max(1, len(plan.pieces.firsts)), number)
    if isinstance(draft.scratch, Remote):
        draft.write(map_arrow(gathered, NumberPieces(plan.pieces), TRACE))
        return
    folder = draft.scratch / "pieces"
    map_arrow(gathered, WritePieces(plan.pieces, str(whole_place(folder))), spark_schema(_WRITTEN)).collect()
    draft.adopt(folder)


_WRITTEN: Columns = (("piece", "int64"),)


class NumberPieces(msgspec.Struct, frozen=True):
    """Turns batches of packed tables into the rows of the pieces that they belong to."""

    pieces: Pieces

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, rows in self.pieces.gathered(batches):
            yield from rows.to_batches()


class WritePieces(msgspec.Struct, frozen=True):
    """Writes them into a folder that all workers see, each as a file that is whole or not there; a task that is tried
    again writes the same."""

    pieces: Pieces
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece, rows in self.pieces.gathered(batches):
            with drafted(Path(self.folder) / f"{piece:06d}.parquet") as draft:
                write_checked(rows, draft)
            yield pa.record_batch([[piece]], schema=arrow_schema(_WRITTEN))
