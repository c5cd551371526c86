"""Datasets: folders of Parquet that are written once and never change, in a file system or in a store.

In a file system a dataset is drafted beside its place and moved there when it is whole; what killed jobs left beside it
is removed. In a store nothing can be moved: objects are written where they belong, and their list, without which nobody
takes them for a dataset, comes last. So one that is there was complete. Damage since then is found by its manifest
(`pipeline.manifest`): `kept` for those who can make it again, `read` for those who cannot.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from thyme.drafts import drafted, drop_leftovers
from thyme.model.errors import InputError
from thyme.pipeline.manifest import (
    MANIFEST,
    KeptFile,
    Manifest,
    damage_of,
    data_files,
    describe_file,
    read_manifest,
    write_checked,
    write_manifest,
)
from thyme.pipeline.schemas import conform
from thyme.pipeline.spark.store_parts import describe_files, read_objects, write_part, write_parts
from thyme.places import Place, Remote, arrow_path, file_sizes, for_arrow, place_of, remove

DONE = "_SUCCESS"
ONE_FILE = "part-00000.parquet"
_WRITTEN_SO = {f"parquet.enable.dictionary#{name}": "false" for name in ("id", "oid", "text")}
"""Values of these columns hardly repeat: a dictionary of them would be made only to be thrown away."""
FULL_DISK = os.strerror(errno.ENOSPC)
HASHED_HERE_BYTES = 2**30
"""So much is hashed sooner than Spark starts. More is hashed by tasks, and what a job writes always."""


@contextmanager
def drafting(
    place: Place, made_from: str = "", inputs: Mapping[str, int] | None = None, replace: bool = False
) -> Iterator[_FolderDraft | _StoreDraft]:
    """A dataset in the making, which is at its place when the block ends well, instead of the one before if that is to
    be replaced; errors are told for a person."""
    if not replace:
        check_place(place)
    draft: _FolderDraft | _StoreDraft
    try:
        if isinstance(place, Remote):
            draft = _StoreDraft(place)
            with _in_store(draft, replace):
                yield draft
                write_manifest(place, Manifest(draft.files, made_from, dict(inputs or {})))
        else:
            drop_leftovers(place.parent)
            with drafted(place) as folder:
                draft = _FolderDraft(folder)
                yield draft
                write_manifest(folder, Manifest(draft.describe(), made_from, dict(inputs or {})))
                if replace:
                    place.rename(folder.with_name("replaced"))
    except ConnectionError:  # Spark's Java has ended, which no other place helps against
        raise
    except OSError as error:
        raise _unwritable(place, error) from error
    except Exception as error:
        if FULL_DISK not in str(error):
            raise
        raise InputError(
            f"{place}: cannot be written (the disk is full); free some space, or choose another"
        ) from error


def check_place(place: Place) -> None:
    """InputError unless a dataset can be written there; leaves nothing behind."""
    if isinstance(place, Remote):
        _check_store(place)
        return
    made: list[Path] = []
    try:
        if place.exists() or place.is_symlink():
            raise InputError(f"{place}: exists already, and datasets are never overwritten; choose another place")
        for folder in (*reversed(place.parents), place):
            if not folder.exists():
                folder.mkdir()
                made.append(folder)
    except OSError as error:
        raise _unwritable(place, error) from error
    finally:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def local_uri(path: Path | str) -> str:
    """A place in the file system as Spark has to be told: where it runs, a bare path may mean another file system.
    Hadoop wants these without the usual `%` signs."""
    given = Path(path)
    return f"file://{given.resolve() if '..' in given.parts else given.absolute()}"


def _check_store(place: Remote) -> None:
    try:
        if (place / MANIFEST).is_file():
            raise InputError(f"{place}: exists already, and datasets are never overwritten; choose another place")
        if place.exists():
            raise InputError(f"{place}: is not empty, and not a complete dataset; empty it, or choose another place")
    except OSError as error:
        raise _unwritable(place, error) from error


@contextmanager
def _in_store(draft: _StoreDraft, replace: bool) -> Iterator[None]:
    """Objects that a failed attempt wrote, or that were replaced, are removed."""
    before = set(draft.place.sizes()) if replace else set()
    written = False
    try:
        yield
        written = True
    finally:
        with suppress(OSError):
            if not written and not replace:
                draft.place.remove()
            for name in before - {MANIFEST} if written else set(draft.place.sizes()) - before:
                (draft.place / name).remove()


class _FolderDraft:
    """A dataset on its way; a `part` of it has a folder of its own in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._added: dict[str, KeptFile] = {}
        self._spark: SparkSession | None = None

    def write(self, frame: DataFrame, part: str = "", by: Sequence[str] = ()) -> None:
        """Have Spark write a frame, in folders by the values of some columns."""
        folder = self._folder / part
        frame.write.options(**_WRITTEN_SO).partitionBy(*by).parquet(local_uri(folder))
        if not (folder / DONE).is_file():
            raise InputError(
                f"{self._folder.parent.parent}: Spark's machines do not see this folder as this one does, and have "
                "written elsewhere; choose one that all see, or a store"
            )
        self._spark = frame.sparkSession

    def add(self, table: pa.Table, part: str = "") -> None:
        """Write a table as one file."""
        name = f"{part}/{ONE_FILE}" if part else ONE_FILE
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        write_checked(table, file)
        (file.parent / DONE).touch()
        self._added[name] = msgspec.structs.replace(describe_file(file), content="")  # Arrow's footers are always equal

    def describe(self) -> dict[str, KeptFile]:
        """All files that were written; tasks read and hash those of Spark."""
        return (describe_files(self._spark, self._folder) if self._spark else {}) | self._added


class _StoreDraft:
    """The same in a store."""

    def __init__(self, place: Remote) -> None:
        self.place = place
        self.files: dict[str, KeptFile] = {}

    def write(self, frame: DataFrame, part: str = "", by: Sequence[str] = ()) -> None:
        written = write_parts(frame.drop(*by), self.place / part if part else self.place)
        if not written:  # a dataset of no rows still has columns
            self.add(frame.drop(*by).limit(0).toArrow(), part=part)
        self.files |= {f"{part}/{name}" if part else name: file for name, file in written.items()}

    def add(self, table: pa.Table, part: str = "") -> None:
        name = f"{part}/{ONE_FILE}" if part else ONE_FILE
        self.files[name] = write_part(table, self.place / name)


def _unwritable(place: Place, error: OSError) -> InputError:
    return InputError(f"{place}: cannot be written ({error.strerror or error}); choose another place")


def exists(path: Place | str) -> bool:
    """Whether a complete dataset is there."""
    place = place_of(path)
    return (place / (MANIFEST if isinstance(place, Remote) else DONE)).is_file()


def size_bytes(path: Place | str) -> int:
    """How large the files of a dataset are, or of what may become one."""
    return sum(file_sizes(place_of(path)).values())


def kept(place: Place, tell: Callable[[str], None], spark: Callable[[], SparkSession] | None = None) -> bool:
    """Whether a dataset is there as it was written. One that is damaged is told, and removed to be made again."""
    if not place.exists():
        return False
    last = MANIFEST if isinstance(place, Remote) else DONE
    wrong = damage_of(place, hashed(place, spark)) if exists(place) else f"{last} is missing"
    if wrong:
        tell(f"{place.name}: {wrong}")
        remove(place)
    return not wrong


def hashed(place: Place, spark: Callable[[], SparkSession] | None) -> dict[str, KeptFile]:
    """The files of a large folder as tasks describe them now; nothing of what is hashed faster where they are compared,
    or is in a store."""
    if spark is None or isinstance(place, Remote) or size_bytes(place) <= HASHED_HERE_BYTES:
        return {}
    return describe_files(spark(), place)


def check(path: Place | str, spark: SparkSession | None = None) -> None:
    """InputError unless a whole dataset is there; with a session, its tasks hash large ones."""
    place = place_of(path)
    try:
        if not exists(place):
            raise InputError(f"{place}: there is no complete dataset")
        wrong = damage_of(place, hashed(place, None if spark is None else lambda: spark))
    except OSError as error:
        raise InputError(f"{place}: cannot be read ({error.strerror or error})") from error
    if wrong:
        raise InputError(f"{place}: the dataset is damaged: {wrong}; make it again, or fetch a copy that is whole")


def write_once(rows: DataFrame | pa.Table, path: Place | str, made_from: str = "", by: Sequence[str] = ()) -> Place:
    """Write a frame as a dataset, in folders by the values of some columns, or a table in memory with no need of Spark;
    refuses to replace a dataset."""
    place = place_of(path)
    with drafting(place, made_from) as draft:
        if isinstance(rows, pa.Table):
            draft.add(rows)
        else:
            draft.write(rows, by=by)
    return place


def read(spark: SparkSession, path: Place | str, schema: StructType) -> DataFrame:
    """A dataset as written, after checking that it is whole and has the expected columns."""
    check(path, spark)
    return frame_of(spark, place_of(path), schema)


def frame_of(spark: SparkSession, place: Place, schema: StructType, part: str = "") -> DataFrame:
    """A dataset that is known to be whole, or a marked part of it, as Spark reads it."""
    if part:
        named = [name for name in read_manifest(place).files if name.startswith(f"{part}/")]
        return conform(read_files(spark, [place / name for name in named], schema), schema)
    first = place / data_files(place)[0]
    columns = pq.read_schema(arrow_path(first), **for_arrow(first)).names
    missing = [field.name for field in schema.fields if field.name not in columns]
    if missing:
        raise InputError(f"{place}: the dataset lacks the columns {', '.join(missing)}; it has {', '.join(columns)}")
    return conform(read_files(spark, _parts(place), schema), schema)


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
