"""The rows of a dataset for tasks that read them by themselves, as Arrow tables and only the columns that they need.

Spark's own way into Python goes through its rows, one value after the other; a task that reads Parquet through Arrow
does the same work in a small part of the time. A task is given stretches of about `STRETCH_ROWS` rows, each of which it
has as one table. What it gives back goes to Spark as usual. A dataset of few rows can be had at once, with no Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from thyme.pipeline.manifest import data_files, read_manifest
from thyme.pipeline.schemas import Columns, arrow_schema, spark_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import TableFunction, from_arrow, map_arrow
from thyme.places import Place, arrow_path, for_arrow, place_of, whole_place

STRETCH_ROWS = 250_000
_STRETCHES: Columns = (("stretch", "binary"),)


class Groups(msgspec.Struct, frozen=True):
    """Neighbouring row groups of a file."""

    file: str
    numbers: tuple[int, ...]


class StoredRows(msgspec.Struct, frozen=True):
    """The rows of a whole dataset; `spark` is asked for only where tasks are needed."""

    spark: Callable[[], SparkSession]
    place: Place
    schema: StructType

    @property
    def number(self) -> int:
        return read_manifest(self.place).rows

    def frame(self) -> DataFrame:
        """As Spark reads them."""
        return dataset.frame_of(self.spark(), self.place, self.schema)

    def here(self, columns: Sequence[str]) -> pa.Table:
        """All of them in this process."""
        return read_groups(self._stretch(list(self._groups())), self._chosen(columns))

    def map(self, columns: Sequence[str], function: TableFunction, schema: StructType) -> DataFrame:
        """The table of each stretch, with these columns, turned into other rows by tasks."""
        packed = [msgspec.msgpack.encode(stretch) for stretch in self._stretches()]
        spark = self.spark()
        listed = from_arrow(spark, pa.table([packed], schema=arrow_schema(_STRETCHES)), spark_schema(_STRETCHES))
        return map_arrow(listed, _MapStretches(self._chosen(columns), function), schema)

    def _chosen(self, columns: Sequence[str]) -> pa.Schema:
        whole = to_arrow_schema(self.schema)
        return pa.schema([whole.field(name) for name in columns])

    def _groups(self) -> Iterator[tuple[Groups, int]]:
        """Each row group, and how many rows it has."""
        place = whole_place(self.place)
        for name in data_files(place):
            file = place / name
            metadata = pq.read_metadata(arrow_path(file), **for_arrow(file))
            if not metadata.num_row_groups:
                yield Groups(str(file), ()), 0
            for number in range(metadata.num_row_groups):
                yield Groups(str(file), (number,)), metadata.row_group(number).num_rows

    def _stretches(self) -> Iterator[tuple[Groups, ...]]:
        gathered: list[tuple[Groups, int]] = []
        for one in self._groups():
            gathered.append(one)
            if sum(rows for _, rows in gathered) >= STRETCH_ROWS:
                yield self._stretch(gathered)
                gathered = []
        if gathered:
            yield self._stretch(gathered)

    def _stretch(self, gathered: Sequence[tuple[Groups, int]]) -> tuple[Groups, ...]:
        """The row groups of each file together, in their order."""
        by_file: dict[str, tuple[int, ...]] = {}
        for groups, _ in gathered:
            by_file[groups.file] = (*by_file.get(groups.file, ()), *groups.numbers)
        return tuple(Groups(file, numbers) for file, numbers in by_file.items())


def open_rows(spark: Callable[[], SparkSession], path: Place | str, schema: StructType) -> StoredRows:
    """The rows of a dataset, after checking that it is whole and has the expected columns."""
    dataset.check(path)
    place = place_of(path)
    first = place / data_files(place)[0]
    dataset.check_columns(place, schema, pq.read_schema(arrow_path(first), **for_arrow(first)).names)
    return StoredRows(spark, place, schema)


def read_groups(stretch: Sequence[Groups], schema: pa.Schema) -> pa.Table:
    """Row groups in these columns; their pages are held against their checksums."""
    tables = []
    for groups in stretch:
        place = place_of(groups.file)
        options = {**for_arrow(place), "page_checksum_verification": True}
        with pq.ParquetFile(arrow_path(place), **options) as file:
            tables.append(file.read_row_groups(groups.numbers, columns=schema.names, use_threads=False))
    return pa.concat_tables(tables).select(schema.names).cast(schema).combine_chunks()


class _MapStretches(msgspec.Struct, frozen=True):
    schema: pa.Schema
    function: TableFunction

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch["stretch"].to_pylist():
                stretch = msgspec.msgpack.decode(packed, type=tuple[Groups, ...])
                yield from self.function(read_groups(stretch, self.schema)).to_batches()
