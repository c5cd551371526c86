"""Reading settings: TOML files, and `KEY=VALUE` from the command line with values as TOML writes them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from thyme.model.errors import InputError

_HEADER = re.compile(r"^\s*\[+\s*([\w.\- ]+?)\s*\]+")
_ASSIGNMENT = re.compile(r"^\s*([\w\-]+(?:\s*\.\s*[\w\-]+)*)\s*=")


class SettingsSource(msgspec.Struct, frozen=True):
    """Source of a table, so that errors can name the file and line of a key."""

    name: str
    text: str = ""
    """The file's text; keys are sought in it."""
    changes: frozenset[str] = frozenset()
    """Dotted keys that were set on the command line, not in the file."""

    def with_changes(self, keys: Iterable[str]) -> SettingsSource:
        return msgspec.structs.replace(self, changes=self.changes | frozenset(keys))

    def at(self, path: Sequence[str]) -> str:
        """The place of a key: `--set` if that gave it or a part of it, else the file and, if it is found, the line."""
        dotted = ".".join(path)
        if any(dotted == key or dotted.startswith(f"{key}.") for key in self.changes):
            return "--set"
        line = _line_of(self.text, list(path))
        return f"{self.name}:{line}" if line else self.name


def _line_of(text: str, path: list[str]) -> int:
    """The line on which a key, or else the nearest table around it, is given; 0 if there is none."""
    found, depth, header = 0, 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HEADER.match(line):
            header = _parts(match[1])
            here = header
        elif match := _ASSIGNMENT.match(line):
            here = header + _parts(match[1])
        else:
            continue
        if len(here) > depth and path[: len(here)] == here:
            found, depth = number, len(here)
    return found


def _parts(dotted: str) -> list[str]:
    return [part.strip() for part in dotted.split(".")]


def read_toml(path: Path) -> tuple[dict[str, Any], SettingsSource]:
    """The table of a TOML file, and the lines of its keys."""
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text), SettingsSource(str(path), text)
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; expected a TOML file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file; expected TOML") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error


def parse_setting(text: str) -> tuple[str, Any]:
    """Read `key=value`, the value as TOML would (a bare word is a string)."""
    key, separator, value = text.partition("=")
    key = key.strip()
    if not separator or not key or not all(part.strip() for part in key.split(".")):
        raise InputError(f"--set {text}: expected KEY=VALUE, such as nodes=100 or radio.model=wifi")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError as error:
        if value.strip()[:1] in ("[", "{", '"', "'"):
            raise InputError(f"--set {text}: {value.strip()} is not a TOML value: {error}") from error
        return key, value.strip()


def parse_settings(texts: Iterable[str] | None) -> dict[str, Any]:
    """What `--set` gave, by key; a later one wins."""
    return dict(parse_setting(text) for text in texts or ())
