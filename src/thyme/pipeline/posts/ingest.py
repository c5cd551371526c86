"""From anyone's files to a dataset of posts.

Files are split into parts that tasks read on their own. Records that should have been posts and are none are kept with
file, line and reason, in the part `_rejected` of the dataset, which readers of posts do not see. The same post met
several times (`posts.formats.identity`) is one post, with all its tags; spellings of a tag that differ in
accents only become the most used one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.identity import id_owner, is_worldwide
from thyme.pipeline.posts.formats.mapped import ColumnMap
from thyme.pipeline.posts.formats.opening import Source
from thyme.pipeline.posts.formats.posts import ParsedPost, Skipped
from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms
from thyme.pipeline.posts.formats.reading import Rejected, read_source
from thyme.pipeline.posts.formats.sources import find_files, plan_sources
from thyme.pipeline.schemas import POSTS, REJECTED, arrow_schema, conform, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow, map_arrow

BATCH_ROWS = 5_000
MAX_SPELLINGS = 200_000
REJECTED_PART = "_rejected"
OWNER_SIGN = "~"
_PARSED = (
    ("status", "string"),
    ("file", "string"),
    ("line", "int64"),
    ("reason", "string"),
    ("record", "string"),
    ("id", "string"),
    ("owner", "string"),
    ("author", "string"),
    ("at_s", "float64"),
    ("text", "string"),
    ("tags", "list<string>"),
    ("skipped", "int64"),
)
_TOLD = re.compile(r"thyme\.model\.errors\.InputError: (.+)")
_SOURCES = StructType([StructField("source", StringType())])


class IngestOptions(msgspec.Struct, frozen=True):
    columns: ColumnMap | None = None
    pseudonyms: Pseudonyms | None = None
    merge_accents: bool = True


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
    out: Path,
    options: IngestOptions = IngestOptions(),  # noqa: B008 - a frozen record
    tell: Callable[[str], None] = lambda stage: None,
) -> IngestSummary:
    """Read all files into the dataset `out`; `tell` hears what is being done."""
    tell("recognising files")
    return ingest_sources(spark, plan_ingestion(patterns, out, options), out, options, tell)


def plan_ingestion(patterns: Sequence[str], out: Path, options: IngestOptions) -> list[Source]:
    """All that can be found out, and found wrong, before Spark is needed."""
    dataset.check_place(out)
    return plan_sources(find_files(patterns), options.columns)


def ingest_sources(
    spark: SparkSession,
    sources: Sequence[Source],
    out: Path,
    options: IngestOptions,
    tell: Callable[[str], None] = lambda stage: None,
) -> IngestSummary:
    """Read what was planned into the dataset `out`."""
    with dataset.drafting(out) as draft:
        beside = draft.with_name("parsed")
        tell(f"reading {len({source.path for source in sources})} files in {len(sources)} parts")
        with _told_by_workers():
            read_all(spark, sources, options.pseudonyms).write.parquet(dataset.local_uri(beside))
        parsed = dataset.read_folder(spark, beside, spark_schema(_PARSED))
        tell("removing repetitions")
        posts = distinct_posts(parsed.where(sf.col("status") == "post"))
        if options.merge_accents:
            posts = merge_accents(posts)
        posts.orderBy("at_s", "id").write.parquet(dataset.local_uri(draft))
        rejected = parsed.where(sf.col("status") == "rejected")
        ordered = conform(rejected, REJECTED).orderBy("file", "line", "reason", "record")
        ordered.write.parquet(dataset.local_uri(draft / REJECTED_PART))
        return _summary(spark, parsed, draft, sources)


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


def read_all(spark: SparkSession, sources: Sequence[Source], pseudonyms: Pseudonyms | None = None) -> DataFrame:
    """Every record of the sources, posts or not, one part of the work per source."""
    packed = pa.table({"source": [msgspec.json.encode(source).decode() for source in sources]})
    frame = from_arrow(spark, packed, _SOURCES).repartition(len(sources))
    return map_arrow(frame, ReadSources(pseudonyms), spark_schema(_PARSED))


class ReadSources(msgspec.Struct, frozen=True):
    """Reads the sources in batches of their descriptions."""

    pseudonyms: Pseudonyms | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch["source"].to_pylist():
                yield from self._read(msgspec.json.decode(packed, type=Source))

    def _read(self, source: Source) -> Iterator[pa.RecordBatch]:
        rows: list[dict[str, object]] = []
        skipped = 0
        for result in read_source(source):
            if isinstance(result, Skipped):
                skipped += 1
                continue
            rows.append(self._row(source, result))
            if len(rows) >= BATCH_ROWS:
                yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)
                rows = []
        if skipped:
            rows.append({"status": "skipped", "file": source.name, "skipped": skipped})
        yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)

    def _row(self, source: Source, result: ParsedPost | Rejected) -> dict[str, object]:
        if isinstance(result, Rejected):
            record = "" if self.pseudonyms else _clean(result.record)
            reason = _clean(result.public_reason if self.pseudonyms else result.reason)
            return {"status": "rejected", "file": source.name, "line": result.line, "reason": reason, "record": record}
        post = self.pseudonyms.of(result) if self.pseudonyms else result
        return {
            "status": "post",
            "file": source.name,
            "id": _clean(post.id),
            "owner": "" if is_worldwide(result) else id_owner(post),
            "author": _clean(post.author),
            "at_s": post.at_s,
            "text": _clean(post.text),
            "tags": [_clean(tag) for tag in post.tags],
        }


def distinct_posts(posts: DataFrame) -> DataFrame:
    """Each post once, with the longest text, the earliest time and the tags of all copies. Where copies name the author
    differently, the last by spelling is taken: a name rather than a number. Posts of different owners that share an id
    get their owner added to it."""
    longest = sf.struct(sf.length("text").alias("length"), "text")
    merged = posts.groupBy("id", "owner").agg(
        sf.max(longest).alias("best"),
        sf.max("author").alias("author"),
        sf.min("at_s").alias("at_s"),
        sf.array_sort(sf.array_distinct(sf.flatten(sf.collect_list("tags")))).alias("tags"),
    )
    named = merged.select("id", "owner", "author", "at_s", sf.col("best.text").alias("text"), "tags")
    if posts.where(sf.col("owner") != "").isEmpty():
        return conform(named, POSTS)
    sharing = sf.count("*").over(Window.partitionBy("id"))
    told_apart = sf.concat_ws(OWNER_SIGN, "id", "owner")
    ambiguous = (sharing > 1) & (sf.col("owner") != "")
    return conform(named.withColumn("id", sf.when(ambiguous, told_apart).otherwise(sf.col("id"))), POSTS)


def merge_accents(posts: DataFrame) -> DataFrame:
    """Tags that differ in accents only get the spelling that is used most."""
    used = posts.select(sf.explode("tags").alias("tag")).groupBy("tag").agg(sf.count("*").alias("uses"))
    accented = used.where(~sf.col("tag").rlike(r"^[\x00-\x7F]*$"))
    spellings = _most_used(accented.orderBy(sf.desc("uses"), "tag").limit(MAX_SPELLINGS), used)
    return map_arrow(posts, _Respelled(spellings), POSTS) if spellings else posts


def plain(tag: str) -> str:
    """The tag without accents."""
    parts = unicodedata.normalize("NFD", tag)
    return unicodedata.normalize("NFC", "".join(one for one in parts if not unicodedata.combining(one)))


def _most_used(accented: DataFrame, used: DataFrame) -> dict[str, str]:
    tags = accented.toArrow().to_pylist()
    candidates = sorted({plain(row["tag"]) for row in tags})
    if not candidates:
        return {}
    spark = used.sparkSession
    names = from_arrow(spark, pa.table({"source": candidates}), _SOURCES).withColumnRenamed("source", "tag")
    bare = used.join(names, on="tag", how="inner").toArrow().to_pylist()
    groups: dict[str, dict[str, int]] = {}
    for row in [*tags, *bare]:
        groups.setdefault(plain(row["tag"]), {})[row["tag"]] = row["uses"]
    spellings = {}
    for group in groups.values():
        best = min(group, key=lambda tag: (-group[tag], tag))
        spellings.update({tag: best for tag in group if tag != best})
    return spellings


class _Respelled(msgspec.Struct, frozen=True):
    spellings: dict[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            spelled = [sorted({self.spellings.get(tag, tag) for tag in tags}) for tags in batch["tags"].to_pylist()]
            place = batch.schema.get_field_index("tags")
            yield batch.set_column(place, "tags", pa.array(spelled, pa.list_(pa.string())))


def _summary(spark: SparkSession, parsed: DataFrame, posts: Path, sources: Sequence[Source]) -> IngestSummary:
    gist = sf.regexp_extract("reason", "^[^;:]*", 0)
    reason = sf.regexp_replace(sf.regexp_replace(gist, "'[^']*'", "…"), "[0-9]+", "n")
    counts = parsed.groupBy("status", reason.alias("reason")).agg(
        sf.count("*").alias("rows"), sf.sum("skipped").alias("skipped")
    )
    rows = counts.orderBy(sf.desc("rows"), "reason").collect()
    number = dataset.read_folder(spark, posts).count()
    read = sum(row["rows"] for row in rows if row["status"] == "post")
    formats = Counter(form for _, form in sorted({(source.name, source.format) for source in sources}))
    return IngestSummary(
        files=len({source.name for source in sources}),
        posts=number,
        repeated=read - number,
        skipped=sum(row["skipped"] for row in rows if row["status"] == "skipped"),
        rejected={row["reason"]: row["rows"] for row in rows if row["status"] == "rejected"},
        formats=dict(formats),
    )


def _clean(text: str) -> str:
    """Without lone surrogates, which JSON can carry and no file of text can."""
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode()


_ARROW = arrow_schema(_PARSED)
