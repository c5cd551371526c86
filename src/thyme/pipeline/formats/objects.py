"""JSON objects of posts, recognised one by one, however they are laid out in a file.

A line may hold one object, several with nothing between them, or a list; a document may be one list or one page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from thyme.pipeline.formats import fediverse, twitter
from thyme.pipeline.formats.mapped import ColumnMap, look_up, read_mapped
from thyme.pipeline.formats.posts import ParsedPost, Skipped, Unreadable

Record = dict[str, Any]
Outcome = ParsedPost | Skipped | Unreadable

READERS: tuple[tuple[str, Callable[[Record], bool], Callable[[Record], ParsedPost]], ...] = (
    ("Twitter v1.1", twitter.is_status, twitter.read_status),
    ("snscrape", twitter.is_scraped, twitter.read_scraped),
    ("Mastodon", fediverse.is_toot, fediverse.read_toot),
    ("Bluesky Jetstream", fediverse.is_jetstream, fediverse.read_jetstream),
    ("X API v2", twitter.is_item, twitter.read_item),
    ("a stream's notice", twitter.is_notice, twitter.read_notice),
)
_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n,"


def objects_in(text: str) -> Iterator[Any]:
    """The JSON values of a text, whether separated or not; Unreadable where it is not JSON."""
    for value, _ in placed_objects_in(text):
        yield value


def placed_objects_in(text: str) -> Iterator[tuple[Any, int]]:
    """The same, each with the place where it starts."""
    place = 0
    while True:
        while place < len(text) and text[place] in _SPACE:
            place += 1
        if place >= len(text):
            return
        start = place
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            at = getattr(error, "pos", place)
            raise Unreadable(f"not JSON at character {at + 1}: {text[at : at + 30]!r}") from error
        yield value, start


def recognise_object(record: object, columns: ColumnMap | None = None) -> str | None:
    """The name of the format of a JSON value, or None."""
    if isinstance(record, list):
        return next((name for one in record if (name := recognise_object(one, columns))), None)
    if not isinstance(record, dict):
        return None
    if columns is not None and _has(record, columns):
        return "mapped"
    if twitter.is_page(record):
        return "X API v2"
    return next((name for name, fits, _ in READERS if fits(record)), None)


def read_object(record: object, columns: ColumnMap | None = None) -> Iterator[Outcome]:
    """What a JSON value holds: posts, things to skip, things that should have been posts."""
    if isinstance(record, list):
        for one in record:
            yield from read_object(one, columns)
    elif not isinstance(record, dict):
        yield Unreadable(f"a JSON {type(record).__name__}; expected an object")
    elif columns is not None and _has(record, columns):
        yield _outcome(lambda one: read_mapped(one, columns), record)
    elif twitter.is_page(record):
        yield from twitter.read_page(record)
    else:
        reader = next((read for _, fits, read in READERS if fits(record)), None)
        if reader is None:
            yield Unreadable(f"an object of no known format, with {', '.join(map(str, list(record)[:8])) or 'no keys'}")
        else:
            yield _outcome(reader, record)


def _outcome(read: Callable[[Record], ParsedPost], record: Record) -> Outcome:
    try:
        return read(record)
    except Skipped as outcome:
        return outcome
    except Unreadable as error:
        unreadable = error
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        unreadable = Unreadable(f"a part of it is not as expected ({type(error).__name__}: {error})")
    unreadable.record = record
    return unreadable


def _has(record: Record, columns: ColumnMap) -> bool:
    return all(look_up(record, path) is not None for path in (columns.author, columns.at, columns.text))
