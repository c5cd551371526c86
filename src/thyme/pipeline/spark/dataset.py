"""Datasets: folders of Parquet that are written once and never change, in a file system or in a store.

One that is there was complete (`spark.drafting`). What became of it since is checked by its manifest
(`pipeline.manifest`): `kept` for those who can make it again, `read` for those who cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from thyme.model.errors import InputError
from thyme.pipeline.manifest import MANIFEST, damage_of, data_files
from thyme.pipeline.schemas import conform
from thyme.pipeline.spark.drafting import DONE, Draft, check_place, drafting, local_uri
from thyme.pipeline.spark.store_parts import read_objects
from thyme.places import Place, Remote, arrow_path, file_sizes, for_arrow, place_of, remove

__all__ = [
    "DONE",
    "Draft",
    "check",
    "check_columns",
    "check_place",
    "drafting",
    "exists",
    "frame_of",
    "kept",
    "open_files",
    "read",
    "read_files",
    "read_folder",
    "read_table",
    "size_bytes",
    "write_once",
    "write_table_once",
]


def exists(path: Place | str) -> bool:
    """Whether a complete dataset is there."""
    place = place_of(path)
    return (place / (MANIFEST if isinstance(place, Remote) else DONE)).is_file()


def size_bytes(path: Place | str) -> int:
    """How large the files of a dataset are, or of what may become one."""
    return sum(file_sizes(place_of(path)).values())


def kept(place: Place, tell: Callable[[str], None]) -> bool:
    """Whether a dataset is there as it was written. One that is damaged is told, and removed to be made again."""
    if not place.exists():
        return False
    wrong = damage_of(place) if exists(place) else f"{MANIFEST if isinstance(place, Remote) else DONE} is missing"
    if wrong:
        tell(f"{place.name}: {wrong}")
        remove(place)
    return not wrong


def check(path: Place | str) -> None:
    """InputError unless a whole dataset is there."""
    place = place_of(path)
    try:
        if not exists(place):
            raise InputError(f"{place}: no complete dataset is there")
        wrong = damage_of(place)
    except OSError as error:
        raise InputError(f"{place}: cannot be read ({error.strerror or error})") from error
    if wrong:
        raise InputError(f"{place}: the dataset is damaged: {wrong}; make it again, or fetch a copy that is whole")


def write_once(frame: DataFrame, path: Place | str, files: int | None = None, made_from: str = "") -> Place:
    """Write the frame as a dataset, in the given number of files if any; refuses to replace one."""
    place = place_of(path)
    with drafting(place, made_from) as draft:
        draft.write(frame if files is None else frame.coalesce(files))
    return place


def write_table_once(table: pa.Table, path: Place | str) -> Place:
    """The same for a table in memory, with no need of Spark."""
    place = place_of(path)
    with drafting(place) as draft:
        draft.add(table)
    return place


def read(spark: SparkSession, path: Place | str, schema: StructType) -> DataFrame:
    """A dataset as written, after checking that it is whole and has the expected columns."""
    check(path)
    return frame_of(spark, place_of(path), schema)


def frame_of(spark: SparkSession, place: Place, schema: StructType) -> DataFrame:
    """A dataset that is known to be whole, as Spark reads it."""
    frame = read_files(spark, _parts(place))
    check_columns(place, schema, frame.columns)
    return conform(frame, schema)


def check_columns(path: Place | str, schema: StructType, columns: Sequence[str]) -> None:
    """InputError unless a dataset has the columns that are expected."""
    missing = [field.name for field in schema.fields if field.name not in columns]
    if missing:
        raise InputError(f"{path}: the dataset lacks the columns {', '.join(missing)}; it has {', '.join(columns)}")


def read_folder(spark: SparkSession, place: Place, schema: StructType | None = None) -> DataFrame:
    """The Parquet in a folder that is no dataset yet."""
    if isinstance(place, Remote):
        return read_files(spark, [place / name for name in sorted(place.sizes())], schema)
    return read_files(spark, [place], schema)


def read_files(spark: SparkSession, places: Iterable[Place], schema: StructType | None = None) -> DataFrame:
    """Several files or folders in one frame, whatever signs their names have: of this machine, or of a file system
    that all machines see, or of a store."""
    listed = list(places)
    stored = [place for place in listed if isinstance(place, Remote)]
    if stored:
        return read_objects(spark, stored, schema)
    reader = spark.read if schema is None else spark.read.schema(schema)
    return reader.option("__globPaths__", "false").parquet(*(local_uri(str(place)) for place in listed))


def read_table(place: Place, filters: Any = None) -> pa.Table:
    """A small dataset at once, with no need of Spark."""
    if not isinstance(place, Remote):
        return pq.read_table(place, filters=filters)
    return pq.read_table([arrow_path(part) for part in _parts(place)], filters=filters, **for_arrow(place))


def open_files(place: Place) -> pads.Dataset:
    """The files of a dataset for Arrow, which reads them batch by batch."""
    if not isinstance(place, Remote):
        return pads.dataset(Path(place), format="parquet")
    return pads.dataset([arrow_path(part) for part in _parts(place)], format="parquet", **for_arrow(place))


def _parts(place: Place) -> list[Place]:
    """What there is to read: in a store, only what the list of files names."""
    return [place / name for name in data_files(place)] if isinstance(place, Remote) else [place]
