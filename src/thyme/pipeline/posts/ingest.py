"""From anyone's files to a dataset of posts: read, merge copies, write.

The data source (`posts.source`) reads parts of files in tasks. Records that should have been posts and are none are
kept with file, line and reason, in the part `_rejected` of the dataset, which readers of posts do not see. The same
post read several times is one post, with all its tags; spellings of a tag that differ in accents only become the most
used one. Posts are written in order of time, in folders by day; where files begin depends on the posts alone.

A dataset can be extended (`append`): only files that it does not know are read, and it becomes what one ingestion of
all files gives. For that, two columns are kept beside those of a post: `owner` and, where tags were respelled,
`spelled`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.pipeline.identity import identity_of
from thyme.pipeline.manifest import read_manifest
from thyme.pipeline.posts.formats.file_parts import find_files, plan_parts
from thyme.pipeline.posts.formats.mapped import ColumnMap
from thyme.pipeline.posts.formats.opening import FilePart
from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms
from thyme.pipeline.posts.merging import distinct_posts, merge_accents, with_counted_ids
from thyme.pipeline.posts.source import PART, POST, read_records
from thyme.pipeline.posts.source import REJECTED as REJECTED_KIND
from thyme.pipeline.schemas import (
    POST_COLUMNS,
    REJECTED,
    Columns,
    arrow_schema,
    conform,
    spark_schema,
)
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.spark.driver import described
from thyme.pipeline.spark.keeping import job, keep
from thyme.places import Place, Remote

REJECTED_PART = "_rejected"
FILE_ROWS = 250_000
"""A file of posts has so many, and those of the minute in which it reaches them; a day begins a new file."""
STORED_COLUMNS: Columns = (*POST_COLUMNS, ("owner", "string"), ("spelled", "list<string>"))
_FILES: Columns = (("minute", "int64"), ("file", "int64"))
_LINES_BEFORE: Columns = (("part", "int64"), ("before", "int64"))
_TOLD = re.compile(r"thyme\.model\.errors\.InputError: (.+)")
_MINUTES_PER_DAY = 1_440


class IngestOptions(msgspec.Struct, frozen=True):
    columns: ColumnMap | None = None
    pseudonyms: Pseudonyms | None = None
    merge_accents: bool = True
    join_text: bool = False
    """Cells that a row has too many belong to its text, even if most rows of the file have some."""


class IngestSummary(msgspec.Struct, frozen=True):
    """What came of it: `rejected` by reason, most frequent first; `formats` by number of files."""

    files: int
    posts: int
    repeated: int
    skipped: int
    rejected: dict[str, int]
    formats: dict[str, int]


class Ingestion(msgspec.Struct, frozen=True):
    """What is to be read, in parts, and the files that these belong to with their sizes. With `before`, the dataset is
    there and is extended."""

    parts: list[FilePart]
    inputs: dict[str, int]
    before: dict[str, int] = {}


def ingest(
    spark: SparkSession,
    patterns: Sequence[str],
    out: Place,
    options: IngestOptions = IngestOptions(),  # noqa: B008 - a frozen record
    tell: Callable[[str], None] = lambda stage: None,
    append: bool = False,
) -> IngestSummary:
    """Read all files into the dataset `out`; `tell` receives what is being done."""
    tell("recognising files")
    return ingest_parts(spark, plan_ingestion(patterns, out, options, append=append), out, options, tell)


def plan_ingestion(
    patterns: Sequence[str],
    out: Place,
    options: IngestOptions,
    pass_over: Callable[[Place], None] = lambda file: None,
    append: bool = False,
) -> Ingestion:
    """Everything that can be found out, and found wrong, before Spark is needed; `pass_over` receives hidden files."""
    before = _inputs_of(out, options) if append else {}
    if not append:
        dataset.check_place(out)
    files = find_files(patterns, pass_over)
    sizes = {str(file): _file_bytes(file) for file in files}
    changed = [name for name, size in sizes.items() if before.get(name, size) != size]
    if changed:
        raise InputError(f"{changed[0]}: has changed since {out} was made from it; ingest all files into a new dataset")
    new = [file for file in files if str(file) not in before]
    parts = plan_parts(new, options.columns, options.join_text) if new or not append else []
    return Ingestion(parts, {str(file): sizes[str(file)] for file in new}, before)


def _inputs_of(out: Place, options: IngestOptions) -> dict[str, int]:
    """The files that a dataset was ingested from; InputError unless it was, with the same options."""
    dataset.check(out)
    manifest = read_manifest(out)
    if not manifest.inputs:
        raise InputError(f"{out}: was not made by `thyme posts ingest`, so nothing can be appended")
    if manifest.made_from != _made_from(options):
        raise InputError(f"{out}: was ingested with other options; append with the same ones")
    return manifest.inputs


def _made_from(options: IngestOptions) -> str:
    return f"files, with options {identity_of(options)}"


def _file_bytes(place: Place) -> int:
    return place.size_bytes() if isinstance(place, Remote) else place.stat().st_size


def ingest_parts(
    spark: SparkSession,
    ingestion: Ingestion,
    out: Place,
    options: IngestOptions,
    tell: Callable[[str], None] = lambda stage: None,
) -> IngestSummary:
    """Read what was planned into the dataset `out`."""
    parts = ingestion.parts
    if not parts:  # nothing is new
        return IngestSummary(0, read_manifest(out).rows, 0, 0, {}, {})
    inputs = ingestion.before | ingestion.inputs
    with (
        job(),
        described(spark, "posts", f"ingest {len(ingestion.inputs)} files in {len(parts)} parts"),
        _told_by_workers(),
        dataset.drafting(out, _made_from(options), inputs, replace=bool(ingestion.before)) as draft,
    ):
        tell(f"reading {len(ingestion.inputs)} files in {len(parts)} parts")
        records = keep(read_records(spark, parts, options.pseudonyms))
        parts_told, reasons = _told_of(records)
        tell("merging copies")
        posts = records.where(sf.col("kind") == POST).select(*(name for name, _ in POST_COLUMNS), "owner")
        rejected = _rejected(records, lines_before(parts, parts_told["line"].to_pylist()))
        read = sum(parts_told["posts"].to_pylist())
        if ingestion.before:
            read += read_manifest(out).rows
            stored = dataset.frame_of(spark, out, spark_schema(STORED_COLUMNS))
            posts = posts.unionByName(with_counted_ids(stored))
            rejected = rejected.unionByName(dataset.frame_of(spark, out, REJECTED, REJECTED_PART))
        draft.write(_stored_posts(posts, options), by=["day"])
        draft.write(rejected.repartition(1).sortWithinPartitions("file", "line", "reason", "record"), REJECTED_PART)
    number = read_manifest(out).rows
    formats = Counter(form for _, form in sorted({(part.name, part.format) for part in parts}))
    return IngestSummary(
        files=len({part.name for part in parts}),
        posts=number,
        repeated=read - number,
        skipped=sum(parts_told["skipped"].to_pylist()),
        rejected=reasons,
        formats=dict(formats),
    )


def _told_of(records: DataFrame) -> tuple[pa.Table, dict[str, int]]:
    """How many lines, posts and skipped records each part has, in order; and how many records were rejected for which
    reason, most frequent first."""
    gist = sf.regexp_extract("reason", "^[^;:]*", 0)
    reason = sf.regexp_replace(sf.regexp_replace(gist, "'[^']*'", "…"), "[0-9]+", "n").alias("reason")
    numbers = [sf.max(name).alias(name) for name in ("line", "posts", "skipped")]
    grouped = records.where(sf.col("kind") != POST).groupBy("kind", "part", reason)
    found = grouped.agg(sf.count("*").alias("rows"), *numbers).toArrow().sort_by("part")
    is_part = pc.equal(found["kind"], PART)
    rejected = found.filter(pc.invert(is_part)).group_by("reason").aggregate([("rows", "sum")]).to_pylist()
    ranked = sorted(rejected, key=lambda row: (-row["rows_sum"], row["reason"].encode()))
    return found.filter(is_part), {row["reason"]: row["rows_sum"] for row in ranked}


def _stored_posts(posts: DataFrame, options: IngestOptions) -> DataFrame:
    """Each post once, in the columns that are kept, with `day`, in order of time."""
    whole = distinct_posts(posts)
    nothing = sf.lit(None).cast("array<string>")
    spelled = merge_accents(whole) if options.merge_accents else whole.withColumn("spelled", nothing)
    minute = sf.floor(sf.unix_micros("at") / 60e6).cast("long").alias("minute")
    counted = whole.groupBy(minute).agg(sf.count("*").alias("posts")).toArrow().sort_by("minute")
    files = file_numbers(counted["minute"].to_pylist(), counted["posts"].to_pylist())
    table = pa.table([counted["minute"], files], schema=arrow_schema(_FILES))
    placed = spelled.withColumn("minute", minute).join(
        sf.broadcast(from_arrow(posts.sparkSession, table, spark_schema(_FILES))), on="minute", how="inner"
    )
    day = placed.withColumn("day", sf.to_date("at").cast("string"))
    ordered = day.repartitionById(files[-1] + 1 if files else 1, sf.col("file").cast("int"))
    return conform(ordered.sortWithinPartitions("day", "at", "id"), spark_schema(STORED_COLUMNS), "day")


def file_numbers(minutes: Sequence[int], posts: Sequence[int]) -> list[int]:
    """The number of the file that the posts of each minute are in."""
    files: list[int] = []
    rows = 0
    for place, (minute, number) in enumerate(zip(minutes, posts, strict=True)):
        same_day = place > 0 and minute // _MINUTES_PER_DAY == minutes[place - 1] // _MINUTES_PER_DAY
        begins = not same_day or rows >= FILE_ROWS
        files.append((files[-1] if files else -1) + begins)
        rows = number if begins else rows + number
    return files


@contextmanager
def _told_by_workers() -> Iterator[None]:
    """What tasks found wrong with the input, as they said it, instead of Spark's account of how they ended."""
    try:
        yield
    except Exception as error:
        told = _TOLD.search(str(error))
        if told is None or isinstance(error, InputError):
            raise
        raise InputError(told[1].strip()) from error


def lines_before(parts: Sequence[FilePart], lines: Sequence[int]) -> list[int]:
    """How many lines of its file come before each part; the parts of one file follow each other."""
    before: list[int] = []
    for number, part in enumerate(parts):
        goes_on = part.start > 0 and part.kind in ("lines", "table")
        before.append(before[-1] + lines[number - 1] if goes_on else 0)
    return before


def _rejected(records: DataFrame, before: Sequence[int]) -> DataFrame:
    """What could not be read, with lines as numbered in the files."""
    table = pa.table([range(len(before)), before], schema=arrow_schema(_LINES_BEFORE))
    offsets = sf.broadcast(from_arrow(records.sparkSession, table, spark_schema(_LINES_BEFORE)))
    found = records.where(sf.col("kind") == REJECTED_KIND).join(offsets, on="part", how="inner")
    return conform(found.withColumn("line", sf.col("line") + sf.col("before")), REJECTED)
