"""Datasets: folders of Parquet that are written once and never change.

A dataset is drafted beside its place and moved there when it is whole, so one that is there was complete, and an
interrupted job leaves nothing that looks like a result. What became of it since is checked by its manifest
(`pipeline.manifest`): `kept` for those who can make it again, `read` for those who cannot.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from thyme.drafts import drafted, drop_leftovers
from thyme.model.errors import InputError
from thyme.pipeline.manifest import damage_of, seal, write_checked
from thyme.pipeline.schemas import conform

DONE = "_SUCCESS"
FULL_DISK = os.strerror(errno.ENOSPC)


def exists(path: Path | str) -> bool:
    """Whether a complete dataset is there."""
    return (Path(path) / DONE).is_file()


def size_bytes(path: Path | str) -> int:
    """How large the files of a dataset are, or of what may become one."""
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def kept(path: Path, tell: Callable[[str], None]) -> bool:
    """Whether a dataset is there as it was written. One that is damaged is told, and removed to be made again."""
    if not path.exists():
        return False
    wrong = damage_of(path) if exists(path) else f"{DONE} is missing"
    if wrong:
        tell(f"{path.name}: {wrong}")
        shutil.rmtree(path)
    return not wrong


def check(path: Path | str) -> None:
    """InputError unless a whole dataset is there."""
    if not exists(path):
        raise InputError(f"{path}: no complete dataset is there")
    wrong = damage_of(Path(path))
    if wrong:
        raise InputError(f"{path}: the dataset is damaged: {wrong}; make it again, or fetch a copy that is whole")


def write_once(frame: DataFrame, path: Path | str, files: int | None = None, made_from: str = "") -> Path:
    """Write the frame as a dataset, in the given number of files if any; refuses to replace one."""
    shaped = frame if files is None else frame.coalesce(files)
    with drafting(Path(path), made_from) as draft:
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
    write_checked(table, folder / f"part-{number:05d}.parquet")


def read(spark: SparkSession, path: Path | str, schema: StructType) -> DataFrame:
    """A dataset as written, after checking that it is whole and has the expected columns."""
    check(path)
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
def drafting(path: Path, made_from: str = "") -> Iterator[Path]:
    """Where to make the folder of a dataset, which moves to its place at the end; the errors are a person's. What
    killed jobs left beside it goes."""
    check_place(path)
    drop_leftovers(path.parent)
    try:
        with drafted(path) as draft:
            yield draft
            seal(draft, made_from)
    except ConnectionError:  # Spark's Java has ended, which no other place helps against
        raise
    except OSError as error:
        raise _unwritable(path, error) from error
    except Exception as error:
        if FULL_DISK not in str(error):
            raise
        raise InputError(f"{path}: cannot be written (the disk is full); free some space, or choose another") from error


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
