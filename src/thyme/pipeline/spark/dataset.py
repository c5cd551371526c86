"""Datasets: folders of Parquet that are written once and never change.

A dataset is drafted beside its place and moved there when it is whole, so one that is there is complete:
whoever finds it (`exists`) can use it, and an interrupted job leaves nothing that looks like a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from thyme.drafts import drafted
from thyme.model.errors import InputError
from thyme.pipeline.schemas import conform

DONE = "_SUCCESS"


def exists(path: Path | str) -> bool:
    """Whether a complete dataset is there."""
    return (Path(path) / DONE).is_file()


def size_bytes(path: Path | str) -> int:
    """How large the files of a dataset are, or of what may become one."""
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def write_once(frame: DataFrame, path: Path | str, files: int | None = None) -> Path:
    """Write the frame as a dataset, in the given number of files if any; refuses to replace one."""
    shaped = frame if files is None else frame.coalesce(files)
    with drafting(Path(path)) as draft:
        shaped.write.parquet(local_uri(draft))
    return Path(path)


def write_table_once(table: pa.Table, path: Path | str) -> Path:
    """The same for a table in memory, with no need of Spark."""
    with drafting(Path(path)) as draft:
        fill(draft, table)
    return Path(path)


def fill(folder: Path, table: pa.Table) -> None:
    """Make a new folder a whole dataset of one table."""
    folder.mkdir()
    write_part(table, folder, 0)
    (folder / DONE).touch()


def write_part(table: pa.Table, folder: Path, number: int) -> None:
    pq.write_table(table, folder / f"part-{number:05d}.parquet", compression="zstd")


def read(spark: SparkSession, path: Path | str, schema: StructType) -> DataFrame:
    """A dataset as written, after checking that it is whole and has the expected columns."""
    if not exists(path):
        raise InputError(f"{path}: no complete dataset is there")
    frame = read_folder(spark, path)
    missing = [field.name for field in schema.fields if field.name not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: the dataset lacks the columns {', '.join(missing)}; it has {', '.join(frame.columns)}"
        )
    return conform(frame, schema)


def read_folder(spark: SparkSession, path: Path | str, schema: StructType | None = None) -> DataFrame:
    """The Parquet in a folder of this machine, or of one that all machines see, whatever signs its name has."""
    return read_files(spark, [path], schema)


def read_files(spark: SparkSession, paths: Iterable[Path | str], schema: StructType | None = None) -> DataFrame:
    """The same of several files or folders in one frame."""
    reader = spark.read if schema is None else spark.read.schema(schema)
    return reader.option("__globPaths__", "false").parquet(*map(local_uri, paths))


def local_uri(path: Path | str) -> str:
    """A place in the file system as Spark has to be told: where it runs, a bare path may mean another file system.
    Hadoop wants these without the usual `%` signs."""
    given = Path(path)
    return f"file://{given.resolve() if '..' in given.parts else given.absolute()}"


@contextmanager
def drafting(path: Path) -> Iterator[Path]:
    """Where to make the folder of a dataset, which moves to its place at the end; the errors are a person's."""
    check_place(path)
    try:
        with drafted(path) as draft:
            yield draft
    except ConnectionError:  # Spark's Java has ended, which no other place helps against
        raise
    except OSError as error:
        raise _unwritable(path, error) from error


def check_place(path: Path) -> None:
    """InputError unless a dataset can be written there; leaves nothing behind."""
    made: list[Path] = []
    try:
        if path.exists() or path.is_symlink():
            raise InputError(f"{path}: exists already, and a dataset is never changed; choose another place")
        for folder in (*reversed(path.parents), path):
            if not folder.exists():
                folder.mkdir()
                made.append(folder)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written ({error.strerror or error}); choose another place")
