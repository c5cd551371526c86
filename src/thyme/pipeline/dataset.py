"""Datasets: folders of Parquet that are written once and never change.

A dataset is drafted beside its place and moved there when it is whole, so one that is there is complete:
whoever finds it (`exists`) can use it, and an interrupted job leaves nothing that looks like a result.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from thyme.model.errors import InputError
from thyme.pipeline.schemas import conform

DONE = "_SUCCESS"


def exists(path: Path | str) -> bool:
    """Whether a complete dataset is there."""
    return (Path(path) / DONE).is_file()


def write_once(frame: DataFrame, path: Path | str, files: int | None = None) -> Path:
    """Write the frame as a dataset, in the given number of files if any; refuses to replace one."""
    shaped = frame if files is None else frame.coalesce(files)
    return draft_then_move(Path(path), lambda draft: shaped.write.parquet(str(draft)))


def write_table_once(table: pa.Table, path: Path | str) -> Path:
    """The same for a table in memory, with no need of Spark."""

    def write(draft: Path) -> None:
        draft.mkdir(parents=True)
        write_part(table, draft, 0)
        (draft / DONE).touch()

    return draft_then_move(Path(path), write)


def write_part(table: pa.Table, folder: Path, number: int) -> None:
    pq.write_table(table, folder / f"part-{number:05d}.parquet", compression="zstd")


def read(spark: SparkSession, path: Path | str, schema: StructType) -> DataFrame:
    """A dataset as written, after checking that it is whole and has the expected columns."""
    if not exists(path):
        raise InputError(f"{path}: no complete dataset is there")
    frame = spark.read.parquet(str(path))
    missing = [field.name for field in schema.fields if field.name not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: the dataset lacks the columns {', '.join(missing)}; it has {', '.join(frame.columns)}"
        )
    return conform(frame, schema)


def draft_then_move(path: Path, write: Callable[[Path], None]) -> Path:
    """Let `write` fill a folder beside the place of a dataset, and move it there when it is whole."""
    if path.exists():
        raise InputError(f"{path}: exists already, and a dataset is never changed; choose another place")
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        write(draft)
        draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return path
