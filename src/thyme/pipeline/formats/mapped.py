"""Files of a format of their own: which of their columns means what.

`id=status.id,author=user.name,at=when,text=body,tags=labels` names columns of a table, or paths into JSON objects.
Author, time and text are needed; without ids, posts are named by what they say; without tags, these come from the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import msgspec

from thyme.model.errors import InputError
from thyme.pipeline.formats.posts import ParsedPost, finish
from thyme.pipeline.formats.times import parse_time, whole_id

NAMES = ("id", "author", "at", "text", "tags")
NEEDED = ("author", "at", "text")
_SEPARATORS = re.compile(r"[\s,;|]+")


class ColumnMap(msgspec.Struct, frozen=True):
    """The source's column of each of ours; empty where there is none."""

    author: str
    at: str
    text: str
    id: str = ""
    tags: str = ""

    def columns(self) -> list[str]:
        return [column for column in (self.id, self.author, self.at, self.text, self.tags) if column]

    def fits(self, present: Collection[str]) -> bool:
        return all(column in present for column in self.columns())


OURS = ColumnMap(author="author", at="at_s", text="text", id="id", tags="tags")
"""Our own datasets of posts."""


def parse_map(text: str) -> ColumnMap:
    """Read `id=…,author=…,at=…,text=…,tags=…`."""
    pairs: dict[str, str] = {}
    for part in text.split(","):
        name, equals, column = part.partition("=")
        if not equals or name.strip() not in NAMES or not column.strip():
            raise InputError(f"--map: {part!r} is not understood; expected {','.join(f'{n}=COLUMN' for n in NAMES)}")
        pairs[name.strip()] = column.strip()
    missing = [name for name in NEEDED if name not in pairs]
    if missing:
        raise InputError(f"--map: {', '.join(missing)} missing; expected at least {', '.join(NEEDED)}")
    return ColumnMap(**pairs)


def read_mapped(record: dict[str, Any], columns: ColumnMap) -> ParsedPost:
    identity = whole_id(look_up(record, columns.id)) if columns.id else None
    author = look_up(record, columns.author)
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
