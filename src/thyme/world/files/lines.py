"""Lines of trace files: reading them, numbered, and saying where one is wrong.

Traces come as plain text, gzip, or a zip with one file in it, the way they are published. Empty lines and lines
that start with `#` are comments in every format we read.
"""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from thyme.model.errors import InputError


class TraceLine(NamedTuple):
    """A non-empty line and its number."""

    path: Path
    number: int
    text: str

    @property
    def fields(self) -> list[str]:
        return self.text.replace(",", " ").split()

    def wrong(self, expected: str) -> InputError:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return InputError(f"{self.path}, line {self.number}: expected {expected}, found: {shown}")

    def numbers(self, fields: Sequence[str], expected: str) -> list[float]:
        """The fields as finite numbers."""
        try:
            values = [float(field) for field in fields]
        except ValueError:
            raise self.wrong(expected) from None
        if not all(isfinite(value) for value in values):
            raise self.wrong(expected)
        return values


def read_lines(path: Path) -> list[TraceLine]:
    """All lines of a trace file that are neither empty nor comments."""
    lines = _text(path).splitlines()
    kept = [TraceLine(path, number, text.strip()) for number, text in enumerate(lines, start=1)]
    kept = [line for line in kept if line.text and not line.text.startswith("#")]
    if not kept:
        raise InputError(f"{path}: the trace has no lines")
    return kept


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file; expected a trace as text, .gz or .zip") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def _bytes(path: Path) -> bytes:
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return file.read()
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise InputError(f"{path}: expected a zip with one file in it, found {len(names)}")
        return archive.read(names[0])


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Distinct names of nodes, whole numbers by value before other names by spelling."""
    return tuple(sorted(set(names), key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name)))
