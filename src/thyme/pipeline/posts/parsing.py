"""Sources read by workers, each into files of its own: posts, and what should have been posts.

A task reads one source and writes Parquet beside the dataset that is being made; Spark is only told how many records
there were. So a text passes from the file it was found in to Parquet without a detour through Java, and what was read
is read once, however often later steps look at it. Posts whose ids are worldwide (`formats.identity`) are written as
a dataset of posts has them, and can become a part of it as they are; others are apart, with their owners. A file
appears whole or not at all, and a task that is tried again writes the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.drafts import drafted
from thyme.pipeline.posts.formats.identity import id_owner, is_worldwide
from thyme.pipeline.posts.formats.opening import Source
from thyme.pipeline.posts.formats.posts import ParsedPost, Skipped
from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms
from thyme.pipeline.posts.formats.reading import LineCount, Rejected, read_source, read_together
from thyme.pipeline.posts.formats.usual import UsualPosts
from thyme.pipeline.schemas import POST_COLUMNS, REJECTED_COLUMNS, Columns, arrow_schema
from thyme.places import Place, Remote, place_of

BATCH_ROWS = 20_000
OWNED_COLUMNS: Columns = (*POST_COLUMNS, ("owner", "string"))
"""Posts as read: `owner` tells those apart whose ids are not worldwide (`formats.identity`)."""
SOURCE_COLUMNS: Columns = (("number", "int64"), ("source", "string"))
PARSED_REJECTED: Columns = (*REJECTED_COLUMNS, ("number", "int64"))
"""Rejected records as read: lines are those of the source of that number, which may be a part of a file."""
COUNT_COLUMNS: Columns = (
    ("number", "int64"),
    ("lines", "int64"),
    ("posts", "int64"),
    ("owned", "int64"),
    ("accented", "int64"),
    ("rejected", "int64"),
    ("skipped", "int64"),
)
POSTS_PART, OWNED_PART, REJECTED_PART = "posts", "owned", "rejected"


class ParseSources(msgspec.Struct, frozen=True):
    """Reads the sources in batches of their descriptions, into a folder that all workers see."""

    folder: str
    pseudonyms: Pseudonyms | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield self._parse(row["number"], msgspec.json.decode(row["source"], type=Source))

    def _parse(self, number: int, source: Source) -> pa.RecordBatch:
        folder = place_of(self.folder)
        posts = _Rows(POST_COLUMNS, folder / POSTS_PART / f"{number:06d}.parquet")
        owned = _Rows(OWNED_COLUMNS, folder / OWNED_PART / f"{number:06d}.parquet")
        rejected = _Rows(PARSED_REJECTED, folder / REJECTED_PART / f"{number:06d}.parquet")
        skipped = accented = 0
        counted = LineCount()
        with posts, owned, rejected:
            for result in (read_source if self.pseudonyms else read_together)(source, counted):
                if isinstance(result, UsualPosts):
                    posts.add_batch(result.rows)
                elif isinstance(result, ParsedPost):
                    post = self.pseudonyms.of(result) if self.pseudonyms else result
                    row = post_row(post)
                    accented += not "".join(row[4]).isascii()
                    if is_worldwide(result):
                        posts.add(row)
                    else:
                        owned.add((*row, id_owner(post)))
                elif isinstance(result, Skipped):
                    skipped += 1
                else:
                    rejected.add((*self._rejected(source, result), number))
        read = posts.number + owned.number
        counts = [number, counted.number, read, owned.number, accented, rejected.number, skipped]
        return pa.record_batch([[count] for count in counts], schema=arrow_schema(COUNT_COLUMNS))

    def _rejected(self, source: Source, result: Rejected) -> tuple[str, int, str, str]:
        if self.pseudonyms:
            return source.name, result.line, _clean(result.public_reason), ""
        return source.name, result.line, _clean(result.reason), _clean(result.record)


def post_row(post: ParsedPost) -> tuple[str, str, float, str, list[str]]:
    """A post in the columns of a dataset of posts."""
    tags = sorted({_clean(tag) for tag in post.tags})
    return _clean(post.id), _clean(post.author), post.at_s, _clean(post.text), tags


@contextmanager
def _sink(place: Place) -> Iterator[Any]:
    """What Arrow writes a file to."""
    with place.open_output() if isinstance(place, Remote) else drafted(place) as sink:
        yield sink


class _Rows:
    """Rows on their way to a file, which is there if there were any."""

    def __init__(self, columns: Columns, place: Place) -> None:
        self._schema = arrow_schema(columns)
        self._draft = _sink(place)
        self._rows: list[tuple[object, ...]] = []
        self._batches: list[pa.RecordBatch] = []
        self._writer: pq.ParquetWriter | None = None
        self.number = 0

    def add(self, row: tuple[object, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self._write()

    def add_batch(self, batch: pa.RecordBatch) -> None:
        if self._rows:
            self._gather()
        self._batches.append(batch)
        if sum(one.num_rows for one in self._batches) >= BATCH_ROWS:
            self._write()

    def _gather(self) -> None:
        values = zip(*self._rows, strict=True)
        columns = [pa.array(column, field.type) for column, field in zip(values, self._schema, strict=True)]
        self._batches.append(pa.record_batch(columns, schema=self._schema))
        self._rows.clear()

    def _write(self) -> None:
        if self._rows:
            self._gather()
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._draft.__enter__(), self._schema, write_page_checksum=True)
        table = pa.Table.from_batches(self._batches)
        self._writer.write_table(table)
        self.number += table.num_rows
        self._batches.clear()

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None and (self._rows or self._batches):
            self._write()
        if self._writer is not None:
            self._writer.close()
            self._draft.__exit__(*error)  # type: ignore[arg-type]


def _clean(text: str) -> str:
    """Without lone surrogates, which JSON can carry and no file of text can."""
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode()
