"""Parquet in a store, read and written by Spark's tasks through Arrow.

Each task writes objects of its own under names that no other attempt uses, and says what it wrote; the driver lists
those of the attempts that counted. So nothing is renamed, and what a lost or repeated task left behind is in no list.
Reading goes by such lists. Where Hadoop knows the store, Spark reads by itself, and else through here as well.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from thyme.pipeline.manifest import DIGEST_BYTES, KeptFile, describe_file, files_in
from thyme.pipeline.schemas import Columns, arrow_schema, spark_schema
from thyme.pipeline.spark.arrow import from_arrow, map_arrow
from thyme.places import Place, Remote, arrow_path, for_arrow, whole_place

MAX_READERS = 1_000
"""Tasks that read a list of objects; with more objects, each reads several."""
_WRITTEN: Columns = (
    ("name", "string"),
    ("size_bytes", "int64"),
    ("digest", "string"),
    ("rows", "int64"),
    ("content", "string"),
)
_NAMES: Columns = (("name", "string"),)
_OBJECTS: Columns = (("number", "int64"), ("uri", "string"))
_NO_FILE_SYSTEM = re.compile(r"No FileSystem for scheme|ClassNotFoundException: Class \S*FileSystem not found")


def write_parts(frame: DataFrame, place: Remote) -> dict[str, KeptFile]:
    """Have tasks write the frame below a place; what they wrote, by name."""
    return _listed(map_arrow(frame, _WriteParts(place.uri), spark_schema(_WRITTEN)))


def _listed(written: DataFrame) -> dict[str, KeptFile]:
    """What tasks say of files, by name."""
    return {row.pop("name"): KeptFile(**row) for row in written.toArrow().sort_by("name").to_pylist()}


def write_part(table: pa.Table, place: Remote) -> KeptFile:
    """Write a table as one object."""
    with place.open_output() as stream:
        hashed = HashedStream(stream)
        pq.write_table(table, hashed, compression="zstd", write_page_checksum=True)
    return hashed.described(table.num_rows)


def read_objects(spark: SparkSession, objects: Sequence[Remote], schema: StructType | None) -> DataFrame:
    """The rows of Parquet in a store, by whoever can read it."""
    uris = [one.uri for one in objects]
    read = _read_by_hadoop(spark, uris, schema)
    if read is not None:
        return read
    if schema is None:
        schema = from_arrow_schema(pq.read_schema(arrow_path(objects[0]), **for_arrow(objects[0])))
    table = pa.table([list(range(len(uris))), uris], schema=arrow_schema(_OBJECTS))
    listed = from_arrow(spark, table, spark_schema(_OBJECTS))
    spread = listed.repartitionByRange(min(len(uris), MAX_READERS), "number") if len(uris) > 1 else listed.coalesce(1)
    return map_arrow(spread.select("uri"), _ReadParts(tuple(schema.names)), schema)


def _read_by_hadoop(spark: SparkSession, uris: Sequence[str], schema: StructType | None) -> DataFrame | None:
    """The same as Spark reads it, if its Java has a file system for such URIs."""
    reader = spark.read if schema is None else spark.read.schema(schema)
    try:
        frame = reader.option("__globPaths__", "false").parquet(*uris)
        _ = frame.schema  # by then, every kind of session has looked
    except Exception as error:
        if _NO_FILE_SYSTEM.search(str(error)):
            return None
        raise
    return frame


def describe_files(spark: SparkSession, folder: Path) -> dict[str, KeptFile]:
    """The files of a folder, by their paths in it, read and hashed by tasks."""
    names = sorted(files_in(folder))
    listed = from_arrow(spark, pa.table([names], schema=arrow_schema(_NAMES)), spark_schema(_NAMES))
    spread = listed.repartition(min(len(names), MAX_READERS)) if len(names) > 1 else listed.coalesce(1)
    return _listed(map_arrow(spread, _DescribeFiles(str(whole_place(folder))), spark_schema(_WRITTEN)))


class _DescribeFiles(msgspec.Struct, frozen=True):
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [
                {"name": name, **msgspec.structs.asdict(describe_file(Path(self.folder) / name))}
                for name in batch["name"].to_pylist()
            ]
            yield pa.RecordBatch.from_pylist(rows, arrow_schema(_WRITTEN))


class HashedStream:
    """A stream that knows what went through it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._size_bytes = 0
        self.closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._digest.update(view)
        self._size_bytes += view.nbytes
        self._stream.write(data)
        return view.nbytes

    def tell(self) -> int:
        return self._size_bytes

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def described(self, rows: int) -> KeptFile:
        return KeptFile(self._size_bytes, self._digest.hexdigest(), rows)


class _WriteParts(msgspec.Struct, frozen=True):
    """Writes the rows of a task as one object, if there are any."""

    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        context = TaskContext.get()
        name = f"part-{context.partitionId() if context else 0:05d}-{uuid.uuid4().hex}.parquet"
        rows = first.num_rows
        with (Remote(self.folder) / name).open_output() as stream:
            hashed = HashedStream(stream)
            with pq.ParquetWriter(hashed, first.schema, compression="zstd", write_page_checksum=True) as writer:
                writer.write_batch(first)
                for batch in batches:
                    writer.write_batch(batch)
                    rows += batch.num_rows
        kept = hashed.described(rows)
        values = [[name], [kept.size_bytes], [kept.digest], [kept.rows], [""]]
        yield pa.record_batch(values, schema=arrow_schema(_WRITTEN))


class _ReadParts(msgspec.Struct, frozen=True):
    """Reads objects by their URIs."""

    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for uri in batch["uri"].to_pylist():
                yield from self._read(Remote(uri))

    def _read(self, place: Place) -> Iterator[pa.RecordBatch]:
        options = {**for_arrow(place), "page_checksum_verification": True}
        with pq.ParquetFile(arrow_path(place), **options) as file:
            yield from file.iter_batches(columns=list(self.columns))
