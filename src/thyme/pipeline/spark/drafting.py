"""How a dataset comes to be at its place, whole or not at all.

In a file system it is drafted beside its place and moved there when it is whole; what killed jobs left beside it goes.
In a store nothing can be moved: objects are written where they belong, and their list, without which nobody takes them
for a dataset, comes last.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from thyme.drafts import drafted, drop_leftovers
from thyme.model.errors import InputError
from thyme.pipeline.manifest import MANIFEST, KeptFile, Manifest, seal, write_checked, write_manifest
from thyme.pipeline.spark.store_parts import write_part, write_parts
from thyme.places import Place, Remote

DONE = "_SUCCESS"
FULL_DISK = os.strerror(errno.ENOSPC)


class Draft(Protocol):
    """A dataset on its way; a `part` of it has a folder of its own in it."""

    @property
    def scratch(self) -> Place:
        """A folder for what is needed on the way, which all workers see; it goes at the end."""

    def write(self, frame: DataFrame, part: str = "") -> None:
        """Have Spark write a frame."""

    def add(self, table: pa.Table, number: int = 0, part: str = "") -> None:
        """Write a table as one file."""

    def adopt(self, folder: Place) -> bool:
        """Take the Parquet files of a folder below `scratch` as they are, in order of their names; False, with nothing
        taken, where files cannot be moved."""


@contextmanager
def drafting(place: Place, made_from: str = "") -> Iterator[Draft]:
    """A dataset in the making, which is there when the block ends well; the errors are a person's."""
    check_place(place)
    try:
        if isinstance(place, Remote):
            with _in_store(place, made_from) as stored:
                yield stored
        else:
            drop_leftovers(place.parent)
            with drafted(place) as folder:
                yield _FolderDraft(folder)
                seal(folder, made_from)
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
            raise InputError(f"{place}: exists already, and a dataset is never changed; choose another place")
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
            raise InputError(f"{place}: exists already, and a dataset is never changed; choose another place")
        if place.exists():
            raise InputError(f"{place}: holds objects, but no whole dataset; remove them, or choose another place")
    except OSError as error:
        raise _unwritable(place, error) from error


@contextmanager
def _in_store(place: Remote, made_from: str) -> Iterator[Draft]:
    draft = _StoreDraft(place)
    try:
        yield draft
        write_manifest(place, Manifest(draft.files, made_from))
    except BaseException:
        with suppress(OSError):
            place.remove()
        raise
    finally:
        with suppress(OSError):
            draft.scratch.remove()


class _FolderDraft:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def scratch(self) -> Path:
        return self._folder.with_name("scratch")

    def write(self, frame: DataFrame, part: str = "") -> None:
        frame.write.parquet(local_uri(self._folder / part))
        self._check_seen((self._folder / part / DONE).is_file())

    def add(self, table: pa.Table, number: int = 0, part: str = "") -> None:
        folder = self._folder / part
        folder.mkdir(parents=True, exist_ok=True)
        write_checked(table, folder / f"part-{number:05d}.parquet")
        (folder / DONE).touch()

    def adopt(self, folder: Place) -> bool:
        self._folder.mkdir(parents=True, exist_ok=True)
        files = sorted(Path(str(folder)).glob("*.parquet"))
        self._check_seen(bool(files))
        for number, file in enumerate(files):
            file.rename(self._folder / f"part-{number:05d}.parquet")
        (self._folder / DONE).touch()
        return True

    def _check_seen(self, seen: bool) -> None:
        if not seen:
            raise InputError(
                f"{self._folder.parent.parent}: Spark's machines do not see this folder as this one does, and have "
                "written elsewhere; choose one that all see, or a store"
            )


class _StoreDraft:
    def __init__(self, place: Remote) -> None:
        self._place = place
        self.scratch = place / f"_scratch-{uuid.uuid4().hex}"
        self.files: dict[str, KeptFile] = {}

    def write(self, frame: DataFrame, part: str = "") -> None:
        written = write_parts(frame, self._place / part if part else self._place)
        if written:
            self.files |= {f"{part}/{name}" if part else name: file for name, file in written.items()}
        else:  # a dataset of no rows still has columns
            self.add(frame.limit(0).toArrow(), part=part)

    def add(self, table: pa.Table, number: int = 0, part: str = "") -> None:
        name = f"{part}/part-{number:05d}.parquet" if part else f"part-{number:05d}.parquet"
        self.files[name] = write_part(table, self._place / name)

    def adopt(self, folder: Place) -> bool:
        return False


def _unwritable(place: Place, error: OSError) -> InputError:
    return InputError(f"{place}: cannot be written ({error.strerror or error}); choose another place")
