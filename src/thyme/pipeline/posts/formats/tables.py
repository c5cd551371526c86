"""Tables of posts as CSV: GetOldTweets with `;`, GetOldTweets3 with `,`, TAGS, or mapped columns.

What goes wrong in real files, and what is done about it: a header in which two names grew together is taken apart; a
line break or a lone quotation mark inside a text does not swallow the lines that follow; a text that holds the
separator gets its pieces back; an id that became a float is found in the permalink or replaced.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from thyme.pipeline.posts.formats.mapped import OURS, ColumnMap, read_mapped
from thyme.pipeline.posts.formats.posts import ParsedPost, Unreadable, finish
from thyme.pipeline.posts.formats.times import best_time, whole_id

MAX_LINES_PER_RECORD = 50
MIN_ROWS_JUDGED = 10
"""A header is held against at least so many rows."""
MAX_GROWN_TOGETHER_CHARS = 80
DELIMITERS = (",", ";", "\t")
_KNOWN_TEXT = (
    "username date retweets favorites favourites text geo mentions hashtags id permalink to replies id_str "
    "from_user created_at time geo_coordinates user_lang in_reply_to_user_id_str in_reply_to_screen_name "
    "from_user_id_str in_reply_to_status_id_str source profile_image_url user_followers_count user_friends_count "
    "user_location status_url entities_str"
)
_KNOWN = frozenset(_KNOWN_TEXT.split())
_OLD_TWEETS = ("username", "date", "text", "hashtags")
_TAGS = ("from_user", "created_at", "text")
_STATUS_URL = re.compile(r"/status(?:es)?/(\d+)")


class TableShape(msgspec.Struct, frozen=True):
    """How a CSV file is to be read."""

    family: str
    delimiter: str
    header: tuple[str, ...]
    columns: ColumnMap | None = None


def recognise_header(line: str, columns: ColumnMap | None = None) -> TableShape | None:
    """What a first line says about a file, or None if it is not the header of a known table."""
    for delimiter, header in _headers(line):
        present = frozenset(header)
        if columns is not None and columns.fits(present):
            return TableShape("mapped", delimiter, header, columns)
        if present.issuperset(_OLD_TWEETS):
            return TableShape("GetOldTweets", delimiter, header)
        if present.issuperset(_TAGS):
            return TableShape("TAGS", delimiter, header)
        if OURS.fits(present):
            return TableShape("posts", delimiter, header, OURS)
    return None


def likeliest_header(line: str) -> tuple[str, ...]:
    """The names that a first line gives if it is a header: by the delimiter that makes most of it."""
    return max((header for _, header in _headers(line)), key=len, default=())


def _headers(line: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for delimiter in DELIMITERS:
        header = split_header(line, delimiter)
        if len(header) >= 2:
            yield delimiter, header


def split_header(line: str, delimiter: str) -> tuple[str, ...]:
    """The names of a header; a name that is two known ones without a separator becomes two. None if it is too long
    for a table, or no line of one."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return ()
    names: list[str] = []
    for cell in cells:
        name = cell.strip().lstrip("\ufeff").strip('"')
        names.extend([name] if name in _KNOWN else _taken_apart(name))
    return tuple(names)


def _taken_apart(name: str) -> list[str]:
    for cut in range(1, min(len(name), MAX_GROWN_TOGETHER_CHARS)):
        first, second = name[:cut].strip(' "'), name[cut:].strip(' "')
        if first in _KNOWN and second in _KNOWN:
            return [first, second]
    return [name]


def csv_records(lines: Iterator[tuple[int, str]], shape: TableShape) -> Iterator[tuple[int, list[str]]]:
    """The rows after the header, each with the number of its first line.

    Lines are joined while quotation marks are open, but only if the whole then has as many cells as the header.
    """
    waiting: list[tuple[int, str]] = []
    exhausted = False
    while waiting or not exhausted:
        if not waiting:
            following = next(lines, None)
            if following is None:
                return
            waiting.append(following)
        taken = 1
        text = waiting[0][1]
        while text.count('"') % 2 and taken < MAX_LINES_PER_RECORD:
            if taken == len(waiting):
                following = next(lines, None)
                if following is None:
                    exhausted = True
                    break
                waiting.append(following)
            text += waiting[taken][1]
            taken += 1
        cells = _cells(text, shape)
        if taken > 1 and (text.count('"') % 2 or len(cells) != len(shape.header)):
            taken, cells = 1, _cells(waiting[0][1], shape)
        if any(cells):
            yield waiting[0][0], cells
        del waiting[:taken]


def misfit_of(rows: Sequence[Sequence[str]], shape: TableShape) -> str:
    """What is wrong with a header that most of the first rows have more cells than; empty if all is well. Pieces of a
    text that holds the separator are put together row by row, but not where the header is at fault."""
    wide = sum(len(cells) > len(shape.header) for cells in rows)
    if len(rows) < MIN_ROWS_JUDGED or 2 * wide <= len(rows):
        return ""
    told = f"{wide} of its first {len(rows)} rows have more cells than the header has names ({len(shape.header)})"
    guesses = [guess for name in shape.header if name not in _KNOWN and (guess := _grown_together(name, shape))]
    seems = f"; {guesses[0]!r} seem to have grown together" if guesses else ""
    return f"{told}{seems}: repair its first line, or give --join-text if the rest belongs to the text"


def _grown_together(name: str, shape: TableShape) -> str:
    """A name that begins or ends with a known one, with the separator put in."""
    for known in sorted(_KNOWN, key=len, reverse=True):
        if name.startswith(known):
            return f"{known}{shape.delimiter}{name.removeprefix(known)}"
        if name.endswith(known):
            return f"{name.removesuffix(known)}{shape.delimiter}{known}"
    return ""


def _cells(text: str, shape: TableShape) -> list[str]:
    line = text.rstrip("\r\n")
    try:
        rows = list(csv.reader(line.splitlines(keepends=True), delimiter=shape.delimiter))
    except csv.Error:
        return line.split(shape.delimiter)
    return [cell for row in rows for cell in row] if len(rows) != 1 else rows[0]


def read_row(cells: Sequence[str], shape: TableShape) -> ParsedPost:
    """One row as a post."""
    row = _named(list(cells), shape)
    if shape.columns is not None:
        return read_mapped(row, shape.columns)
    if shape.family == "TAGS":
        identity = whole_id(row.get("id_str")) or _id_in(row.get("status_url"))
        return finish(identity, row["from_user"], best_time(identity, row["created_at"]), row["text"], None)
    identity = whole_id(row.get("id")) or _id_in(row.get("permalink"))
    tags = row["hashtags"].split()
    return finish(identity, row["username"], best_time(identity, row["date"]), row["text"], tags)


def _named(cells: list[str], shape: TableShape) -> dict[str, Any]:
    header = shape.header
    surplus = len(cells) - len(header)
    body = shape.columns.text if shape.columns else "text"
    if surplus > 0 and body in header:
        place = header.index(body)
        whole = shape.delimiter.join(cells[place : place + surplus + 1])
        cells = [*cells[:place], whole, *cells[place + surplus + 1 :]]
    if len(cells) != len(header):
        raise Unreadable(f"it has {len(cells)} cells; expected {len(header)}: {', '.join(header)[:120]}")
    return dict(zip(header, cells, strict=True))


def _id_in(address: str | None) -> str | None:
    found = _STATUS_URL.search(address or "")
    return found.group(1) if found else None
