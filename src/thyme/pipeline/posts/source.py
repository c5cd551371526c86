"""Posts as a Spark data source: `spark.read.format("thyme_posts").option("map", …).load(paths)`.

A partition is a part of a file; files are recognised by their content. The rows are posts. With the option `records`
set to `all`, the same read also gives what should have been a post and is none, and a summary of each part:

| kind | columns |
|---|---|
| `post` | those of a dataset of posts, and `owner` |
| `rejected` | `part`, `file`, `line` in the part, `reason`, `record` |
| `part` | `part`, `file`, and how many lines (`line`), `posts` and `skipped` records, which are not posts, it has |

When are two records the same post? Some ids name one post in the whole world: addresses (Mastodon), accounts with a
record key (Bluesky), ids made of a post's content, and Twitter's, known by the time that they carry. Any other id is a
number that someone counted: two files may both have a post 1. Such posts have an `owner`, a hash of author and second,
and are the same if id and owner are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.file_parts import find_files, plan_parts
from thyme.pipeline.posts.formats.mapped import parse_map
from thyme.pipeline.posts.formats.opening import FilePart
from thyme.pipeline.posts.formats.posts import ParsedPost, Skipped
from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms
from thyme.pipeline.posts.formats.reading import read_part
from thyme.pipeline.posts.formats.results import LineCount, Rejected
from thyme.pipeline.posts.formats.statuses import UsualPosts
from thyme.pipeline.posts.formats.times import ZONES_S, snowflake_s
from thyme.pipeline.schemas import POST_COLUMNS, Columns, arrow_schema, spark_schema, timestamps

FORMAT = "thyme_posts"
POST, REJECTED, PART = "post", "rejected", "part"
RECORD_COLUMNS: Columns = (
    ("kind", "string"),
    *POST_COLUMNS,
    ("owner", "string"),
    ("part", "int64"),
    ("file", "string"),
    ("line", "int64"),
    ("reason", "string"),
    ("record", "string"),
    ("posts", "int64"),
    ("skipped", "int64"),
)
BATCH_ROWS = 20_000
WORLDWIDE = ("did:", "made-")
_SCHEMA = arrow_schema(RECORD_COLUMNS)
_PARTS = msgspec.json.Decoder(list[FilePart])


def is_worldwide(post: ParsedPost) -> bool:
    """Whether the id alone tells the post from all others."""
    carried_s = snowflake_s(post.id)
    if carried_s is not None:
        return abs(carried_s - post.at_s) <= ZONES_S
    return post.id.startswith(WORLDWIDE) or "://" in post.id


def id_owner(post: ParsedPost) -> str:
    """What tells posts of the same id apart, where ids are not worldwide."""
    content = f"{post.author.casefold()}\n{post.at_s // 1:.0f}".encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=6).hexdigest()


def read_records(spark: SparkSession, parts: Sequence[FilePart], pseudonyms: Pseudonyms | None = None) -> DataFrame:
    """All records of these parts, in RECORD_COLUMNS."""
    register(spark)
    reader = spark.read.format(FORMAT).option("records", "all").option("parts", msgspec.json.encode(parts).decode())
    return (reader.option("key", pseudonyms.key.hex()) if pseudonyms else reader).load()


def register(spark: SparkSession) -> None:
    """Have the session know the format `thyme_posts`."""
    spark.dataSource.register(PostsDataSource)


class PostsDataSource(DataSource):
    """Options: `map` (columns of a format of its own), `join_text` (`true`: surplus cells belong to the text),
    `records` (`posts` or `all`), `key` (hexadecimal: replace authors, ids, mentions and links by keyed hashes)."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return spark_schema(POST_COLUMNS if self.options.get("records", "posts") == "posts" else RECORD_COLUMNS)

    def reader(self, schema: StructType) -> DataSourceReader:
        return PostsReader(dict(self.options), [field.name for field in schema.fields])


class PostsReader(DataSourceReader):
    """Reads parts of files; a partition is a part and its number among all."""

    def __init__(self, options: Mapping[str, str], columns: Sequence[str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        self._columns = list(columns)

    def partitions(self) -> Sequence[InputPartition]:
        given = self._options.get("parts")
        parts = _PARTS.decode(given) if given else self._plan()
        return [InputPartition((number, msgspec.json.encode(part))) for number, part in enumerate(parts)]

    def _plan(self) -> list[FilePart]:
        paths = json.loads(self._options["paths"]) if "paths" in self._options else [self._options.get("path", "")]
        if not all(paths):
            raise InputError("no files are given; expected spark.read.format('thyme_posts').load(PATHS)")
        columns = parse_map(self._options["map"]) if "map" in self._options else None
        return plan_parts(find_files(paths), columns, self._options.get("join_text", "").lower() == "true")

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        number, encoded = partition.value
        key = self._options.get("key")
        rows = PartRows(number, Pseudonyms(bytes.fromhex(key)) if key else None)
        for batch in rows.read(msgspec.json.decode(encoded, type=FilePart)):
            if "kind" not in self._columns:
                batch = batch.filter(pa.compute.equal(batch["kind"], POST))
            yield batch.select(self._columns)


class PartRows:
    """The records of one part of a file, as batches of RECORD_COLUMNS."""

    def __init__(self, number: int, pseudonyms: Pseudonyms | None) -> None:
        self._number = number
        self._pseudonyms = pseudonyms
        self._posts: list[tuple[ParsedPost, str]] = []
        self._rejected: list[tuple[int, str, str]] = []
        self._batches: list[pa.RecordBatch] = []
        self._number_of_posts = self._skipped = 0

    def read(self, part: FilePart) -> Iterator[pa.RecordBatch]:
        counted = LineCount()
        for result in read_part(part, counted):
            match result:
                case UsualPosts() if self._pseudonyms is None:
                    owners = pa.repeat("", result.rows.num_rows)
                    self._batches.append(_batch(POST, *result.rows.columns, owner=owners))
                    self._number_of_posts += result.rows.num_rows
                case UsualPosts():
                    for post in result.posts():
                        self._add(post)
                case ParsedPost():
                    self._add(result)
                case Skipped():
                    self._skipped += 1
                case Rejected():
                    self._reject(result)
            if self._waiting() >= BATCH_ROWS:
                yield self._taken(part)
        numbers = {"line": counted.number, "posts": self._number_of_posts, "skipped": self._skipped}
        summary = {name: pa.array([number]) for name, number in numbers.items()}
        self._batches.append(_batch(PART, part=pa.array([self._number]), file=pa.array([part.name]), **summary))
        yield self._taken(part)

    def _add(self, post: ParsedPost) -> None:
        self._number_of_posts += 1
        shown = self._pseudonyms.of(post) if self._pseudonyms else post
        self._posts.append((shown, "" if is_worldwide(post) else id_owner(shown)))

    def _reject(self, result: Rejected) -> None:
        if self._pseudonyms:
            self._rejected.append((result.line, _clean(result.public_reason), ""))
        else:
            self._rejected.append((result.line, _clean(result.reason), _clean(result.record)))

    def _waiting(self) -> int:
        gathered: int = sum(batch.num_rows for batch in self._batches)
        return len(self._posts) + len(self._rejected) + gathered

    def _taken(self, part: FilePart) -> pa.RecordBatch:
        """What was read since the last call."""
        if self._posts:
            rows = [(post_row(post), owner) for post, owner in self._posts]
            ids, authors, texts, tags = (pa.array(column) for column in zip(*(row for row, _ in rows), strict=True))
            at = timestamps(np.array([post.at_s for post, _ in self._posts]))
            owners = pa.array([owner for _, owner in rows], pa.string())
            tags = tags.cast(pa.list_(pa.string()))
            self._batches.append(_batch(POST, ids, authors, at, texts, tags, owner=owners))
        if self._rejected:
            number = len(self._rejected)
            lines, reasons, records = (pa.array(column) for column in zip(*self._rejected, strict=True))
            places = {"part": pa.repeat(self._number, number), "file": pa.repeat(part.name, number)}
            self._batches.append(_batch(REJECTED, **places, line=lines, reason=reasons, record=records))
        table = pa.Table.from_batches(self._batches, _SCHEMA).combine_chunks()
        self._posts, self._rejected, self._batches = [], [], []
        return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], _SCHEMA)


def _batch(kind: str, *post: pa.Array, **more: Any) -> pa.RecordBatch:
    """Rows of one kind; the columns that it lacks are null."""
    named = dict(zip((name for name, _ in POST_COLUMNS), post, strict=False)) | more
    rows = len(next(iter(named.values())))
    columns = {"kind": pa.repeat(kind, rows)} | named
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in _SCHEMA
    ]
    return pa.record_batch(arrays, schema=_SCHEMA)


def post_row(post: ParsedPost) -> tuple[str, str, str, list[str]]:
    """Id, author, text and tags as a dataset of posts has them."""
    return _clean(post.id), _clean(post.author), _clean(post.text), sorted({_clean(tag) for tag in post.tags})


def _clean(text: str) -> str:
    """Without lone surrogates, which JSON can carry and no file of text can."""
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode()
