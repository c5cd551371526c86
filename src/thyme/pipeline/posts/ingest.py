"""From anyone's files to a dataset of posts.

Files are split into parts that tasks read on their own. Records that should have been posts and are none are kept with
file, line and reason, in the part `_rejected` of the dataset, which readers of posts do not see. The same post met
several times (`posts.formats.identity`) is one post, with all its tags; spellings of a tag that differ in
accents only become the most used one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.mapped import ColumnMap
from thyme.pipeline.posts.formats.opening import Source
from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms
from thyme.pipeline.posts.formats.sources import find_files, plan_sources
from thyme.pipeline.posts.merging import distinct_posts, find_copies, merge_accents
from thyme.pipeline.posts.parsing import (
    COUNT_COLUMNS,
    OWNED_COLUMNS,
    OWNED_PART,
    PARSED_REJECTED,
    POSTS_PART,
    SOURCE_COLUMNS,
    ParseSources,
)
from thyme.pipeline.posts.parsing import REJECTED_PART as REJECTED_FILES
from thyme.pipeline.schemas import (
    POST_COLUMNS,
    REJECTED,
    REJECTED_COLUMNS,
    Columns,
    arrow_schema,
    conform,
    spark_schema,
)
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.pipeline.spark.dataset import Draft
from thyme.pipeline.spark.keeping import job
from thyme.places import Place, Remote, place_of, whole_place

REJECTED_PART = "_rejected"
MAX_SORTED_HERE = 1_000_000
"""Up to so many rejected records are ordered by one task."""
_LINES_BEFORE: Columns = (("number", "int64"), ("before", "int64"))
_TOLD = re.compile(r"thyme\.model\.errors\.InputError: (.+)")


class IngestOptions(msgspec.Struct, frozen=True):
    columns: ColumnMap | None = None
    pseudonyms: Pseudonyms | None = None
    merge_accents: bool = True
    join_text: bool = False
    """Cells that a row has too many belong to its text, even if most rows of the file have some."""


class Counts(msgspec.Struct, frozen=True):
    """How many records were read: posts, those with an owner, those with an accented tag, and others."""

    posts: int
    owned: int
    accented: int
    rejected: int
    skipped: int


class IngestSummary(msgspec.Struct, frozen=True):
    """What came of it: `rejected` by reason, most frequent first; `formats` by number of files."""

    files: int
    posts: int
    repeated: int
    skipped: int
    rejected: dict[str, int]
    formats: dict[str, int]


def ingest(
    spark: SparkSession,
    patterns: Sequence[str],
    out: Place,
    options: IngestOptions = IngestOptions(),  # noqa: B008 - a frozen record
    tell: Callable[[str], None] = lambda stage: None,
) -> IngestSummary:
    """Read all files into the dataset `out`; `tell` hears what is being done."""
    tell("recognising files")
    return ingest_sources(spark, plan_ingestion(patterns, out, options), out, options, tell)


def plan_ingestion(
    patterns: Sequence[str], out: Place, options: IngestOptions, pass_over: Callable[[Place], None] = lambda file: None
) -> list[Source]:
    """All that can be found out, and found wrong, before Spark is needed; `pass_over` hears of hidden files."""
    dataset.check_place(out)
    return plan_sources(find_files(patterns, pass_over), options.columns, options.join_text)


def input_bytes(sources: Sequence[Source]) -> int:
    """How large the files are that the sources are parts of."""
    return sum(_file_bytes(place_of(path)) for path in {source.path for source in sources})


def _file_bytes(place: Place) -> int:
    return place.size_bytes() if isinstance(place, Remote) else place.stat().st_size


def ingest_sources(
    spark: SparkSession,
    sources: Sequence[Source],
    out: Place,
    options: IngestOptions,
    tell: Callable[[str], None] = lambda stage: None,
) -> IngestSummary:
    """Read what was planned into the dataset `out`."""
    with dataset.drafting(out) as draft, job():
        beside = draft.scratch
        tell(f"reading {len({source.path for source in sources})} files in {len(sources)} parts")
        with _told_by_workers():
            counts, before = parse_all(spark, sources, beside, options.pseudonyms)
        surplus = 0
        if counts.posts:
            tell("removing repetitions")
            surplus = _write_posts(spark, beside, draft, counts, options)
        else:
            draft.add(_nothing(POST_COLUMNS))
        rejected = _write_rejected(spark, beside / REJECTED_FILES, draft, counts.rejected, before)
    formats = Counter(form for _, form in sorted({(source.name, source.format) for source in sources}))
    return IngestSummary(
        files=len({source.name for source in sources}),
        posts=counts.posts - surplus,
        repeated=surplus,
        skipped=counts.skipped,
        rejected=rejected,
        formats=dict(formats),
    )


def _write_posts(spark: SparkSession, parsed: Place, draft: Draft, counts: Counts, options: IngestOptions) -> int:
    """The posts as they are kept; how many copies were merged into others."""
    read = _parsed_posts(spark, parsed, counts)
    copies = find_copies(read)
    respelled = options.merge_accents and counts.accented > 0
    if not copies.keys and not counts.owned and not respelled and draft.adopt(parsed / POSTS_PART):
        return 0
    posts = distinct_posts(read, copies, owned=counts.owned > 0)
    draft.write(merge_accents(posts) if respelled else posts)
    return copies.surplus


def _parsed_posts(spark: SparkSession, parsed: Place, counts: Counts) -> DataFrame:
    """All posts as they were read, with their owners, if they have any."""
    parts = []
    if counts.posts > counts.owned:
        worldwide = dataset.read_folder(spark, parsed / POSTS_PART, spark_schema(POST_COLUMNS))
        parts.append(worldwide.withColumn("owner", sf.lit("")))
    if counts.owned:
        parts.append(dataset.read_folder(spark, parsed / OWNED_PART, spark_schema(OWNED_COLUMNS)))
    return reduce(DataFrame.unionByName, parts)


@contextmanager
def _told_by_workers() -> Iterator[None]:
    """What workers found wrong with the input, as they said it, instead of Spark's account of how they ended."""
    try:
        yield
    except Exception as error:
        told = _TOLD.search(str(error))
        if told is None:
            raise
        raise InputError(told[1].strip()) from error


def parse_all(
    spark: SparkSession, sources: Sequence[Source], folder: Place, pseudonyms: Pseudonyms | None
) -> tuple[Counts, list[int]]:
    """Have workers read every source into the folder, each as a task of its own; how many records of each kind, and how
    many lines of its file come before each source."""
    packed = [msgspec.json.encode(source).decode() for source in sources]
    table = pa.table([list(range(len(packed))), packed], schema=arrow_schema(SOURCE_COLUMNS))
    frame = from_arrow(spark, table, spark_schema(SOURCE_COLUMNS))
    spread = frame.repartitionByRange(len(sources), "number") if len(sources) > 1 else frame.coalesce(1)
    parsed = map_arrow(spread, ParseSources(str(whole_place(folder)), pseudonyms), spark_schema(COUNT_COLUMNS))
    totals = parsed.toArrow().sort_by("number")
    sums = {name: pc.sum(totals[name]).as_py() or 0 for name in Counts.__struct_fields__}
    return Counts(**sums), lines_before(sources, totals["lines"].to_pylist())


def lines_before(sources: Sequence[Source], lines: Sequence[int]) -> list[int]:
    """How many lines of its file come before each source, which follow each other if they are parts of one file."""
    before: list[int] = []
    for number, source in enumerate(sources):
        goes_on = source.start > 0 and source.kind in ("lines", "table")
        before.append(before[-1] + lines[number - 1] if goes_on else 0)
    return before


def _write_rejected(
    spark: SparkSession, parsed: Place, draft: Draft, number: int, before: Sequence[int]
) -> dict[str, int]:
    """What could not be read, in order, and how often for which reason."""
    if not number:
        draft.add(_nothing(REJECTED_COLUMNS), part=REJECTED_PART)
        return {}
    found = dataset.read_folder(spark, parsed, spark_schema(PARSED_REJECTED))
    if any(before):
        table = pa.table([range(len(before)), before], schema=arrow_schema(_LINES_BEFORE))
        offsets = sf.broadcast(from_arrow(spark, table, spark_schema(_LINES_BEFORE)))
        found = found.join(offsets, on="number", how="inner").withColumn("line", sf.col("line") + sf.col("before"))
    rejected = conform(found, REJECTED)
    order = ("file", "line", "reason", "record")
    ordered = rejected.coalesce(1).sortWithinPartitions(*order)
    draft.write(ordered if number <= MAX_SORTED_HERE else rejected.orderBy(*order), REJECTED_PART)
    gist = sf.regexp_extract("reason", "^[^;:]*", 0)
    reason = sf.regexp_replace(sf.regexp_replace(gist, "'[^']*'", "…"), "[0-9]+", "n")
    counted = rejected.groupBy(reason.alias("reason")).agg(sf.count("*").alias("rows"))
    return {row["reason"]: row["rows"] for row in counted.orderBy(sf.desc("rows"), "reason").collect()}


def _nothing(columns: Columns) -> pa.Table:
    return arrow_schema(columns).empty_table()
