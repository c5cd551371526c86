"""JSON objects of posts, recognised one by one: whose format an object is, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from thyme.pipeline.posts.formats import fediverse, twitter
from thyme.pipeline.posts.formats.mapped import ColumnMap, look_up, read_mapped
from thyme.pipeline.posts.formats.posts import Outcome, ParsedPost, Unreadable, attempt

Record = dict[str, Any]

MAX_KEYS_SHOWN = 8
NOTICE = "a stream's notice"
READERS: tuple[tuple[str, Callable[[Record], bool], Callable[[Record], ParsedPost]], ...] = (
    ("Twitter v1.1", twitter.is_status, twitter.read_status),
    ("snscrape", twitter.is_scraped, twitter.read_scraped),
    ("Mastodon", fediverse.is_toot, fediverse.read_toot),
    ("Bluesky Jetstream", fediverse.is_jetstream, fediverse.read_jetstream),
    ("X API v2", twitter.is_item, twitter.read_item),
    (NOTICE, twitter.is_notice, twitter.read_notice),
)


def recognise_object(record: object, columns: ColumnMap | None = None) -> str | None:
    """The name of the format of a JSON object, or None."""
    if not isinstance(record, dict):
        return None
    if columns is not None and is_mapped(record, columns):
        return "mapped"
    name = next((name for name, fits, _ in READERS if fits(record)), None)
    return "X API v2" if name is None and twitter.is_page(record) else name


def read_object(record: object, columns: ColumnMap | None = None) -> Iterator[Outcome]:
    """What a JSON object, or a list of them, holds: posts, things to skip, things that should have been posts."""
    if isinstance(record, list):
        waiting: list[object] = [record]
        while waiting:
            one = waiting.pop()
            if isinstance(one, list):
                waiting.extend(reversed(one))
            else:
                yield from read_object(one, columns)
        return
    if not isinstance(record, dict):
        yield Unreadable(f"a JSON {type(record).__name__}; expected an object")
        return
    if columns is not None and is_mapped(record, columns):
        yield attempt(read_mapped, record, columns)
        return
    for _, fits, read in READERS:
        if fits(record):
            yield attempt(read, record)
            return
    if twitter.is_page(record):
        yield from twitter.read_page(record)
    else:
        seen = ", ".join(map(str, list(record)[:MAX_KEYS_SHOWN])) or "no keys"
        yield Unreadable("an object of no known format, with {}", seen)


def is_mapped(record: Record, columns: ColumnMap) -> bool:
    needed = (path for path in (columns.author, columns.at, columns.text) if path)
    return all(look_up(record, path) is not None for path in needed)
