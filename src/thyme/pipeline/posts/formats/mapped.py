"""Files of a format of their own: which of their columns means what.

`id=status.id,author=user.name,at=when,text=body,tags=labels` names columns of a table, or paths into JSON objects.
Time and text are needed; without ids, posts are named by what they say; without tags, these come from the text. Where
nobody is named, all posts are one unnamed author's, and a trace deals them out (`authors = "deal"`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import msgspec

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.posts import ParsedPost, finish
from thyme.pipeline.posts.formats.times import parse_time, whole_id

NAMES = ("id", "author", "at", "text", "tags")
NEEDED = ("at", "text")
UNNAMED = "unnamed"
"""The author of posts that name none."""
_SEPARATORS = re.compile(r"[\s,;|]+")


class ColumnMap(msgspec.Struct, frozen=True):
    """The source's column of each of ours; empty where there is none."""

    at: str
    text: str
    id: str = ""
    author: str = ""
    tags: str = ""

    def pairs(self) -> list[tuple[str, str]]:
        """⟨our name, the source's column⟩ of all that are mapped."""
        return [(name, column) for name in NAMES if (column := getattr(self, name))]

    def columns(self) -> list[str]:
        return [column for _, column in self.pairs()]

    def fits(self, present: Collection[str]) -> bool:
        return all(column in present for column in self.columns())

    def misfit(self, present: Collection[str], seen: str) -> str:
        """Which columns are missing where only some are present; `seen` says what is there."""
        missing = [f"{name}={column}" for name, column in self.pairs() if column not in present]
        return f"--map {','.join(missing)}: no such column; {seen}"


OURS = ColumnMap(author="author", at="at", text="text", id="id", tags="tags")
"""Our own datasets of posts."""


def parse_map(text: str) -> ColumnMap:
    """Read `id=…,author=…,at=…,text=…,tags=…`."""
    pairs: dict[str, str] = {}
    for part in text.split(","):
        name, equals, column = part.partition("=")
        if not equals or name.strip() not in NAMES or not column.strip():
            raise InputError(f"--map: {part!r} is not understood; expected {','.join(f'{n}=COLUMN' for n in NAMES)}")
        if name.strip() in pairs:
            raise InputError(f"--map: {name.strip()} is given twice; expected each of {', '.join(NAMES)} at most once")
        pairs[name.strip()] = column.strip()
    missing = [name for name in NEEDED if name not in pairs]
    if missing:
        raise InputError(f"--map: {', '.join(missing)} missing; expected at least {', '.join(NEEDED)}")
    return ColumnMap(**pairs)


def read_mapped(record: dict[str, Any], columns: ColumnMap) -> ParsedPost:
    identity = whole_id(look_up(record, columns.id)) if columns.id else None
    author = look_up(record, columns.author) if columns.author else UNNAMED
    listed = look_up(record, columns.tags) if columns.tags else None
    tags = _SEPARATORS.split(listed) if isinstance(listed, str) else listed
    return finish(
        identity,
        str(author) if isinstance(author, int) else author,
        parse_time(look_up(record, columns.at)),
        look_up(record, columns.text),
        [tag for tag in tags if tag] if isinstance(tags, list | tuple) else None,
    )


def look_up(record: dict[str, Any], path: str) -> Any:
    """The value at a dotted path; a column whose very name has dots comes first."""
    if path in record:
        return record[path]
    value: Any = record
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def leads_somewhere(record: dict[str, Any], path: str) -> bool:
    """Whether there is something at a dotted path, be it null."""
    if path in record:
        return True
    *steps, last = path.split(".")
    value = look_up(record, ".".join(steps)) if steps else record
    return isinstance(value, dict) and last in value
