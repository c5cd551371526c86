"""Twitter's own JSON, old and new, and what the scrapers made of it.

v1.1: a status with `user`, also from stream archives with their deletion notices in between. v2: pages of `data` with
the authors in `includes`, or single posts with `author_id`. snscrape: `rawContent`, before that `content`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thyme.pipeline.posts.formats.posts import Outcome, ParsedPost, Skipped, Unreadable, attempt, finish
from thyme.pipeline.posts.formats.times import best_time, parse_time, whole_id

Record = dict[str, Any]

STREAM_NOTICES = frozenset(
    ["delete", "scrub_geo", "limit", "status_withheld", "user_withheld", "disconnect", "warning", "event", "friends"]
)

PAGE_KEYS = frozenset(["data", "includes", "meta", "errors", "matching_rules"])


def is_status(record: Record) -> bool:
    user = record.get("user")
    return isinstance(user, dict) and "created_at" in record and ("text" in record or "full_text" in record)


def read_status(record: Record) -> ParsedPost:
    """A v1.1 status."""
    identity = whole_id(record.get("id_str")) or whole_id(record.get("id"))
    user = record["user"]
    author = user.get("screen_name") or whole_id(user.get("id_str"))
    stamp = record.get("timestamp_ms")
    at_s = parse_time(stamp) if stamp else best_time(identity, record["created_at"])
    text, tags = _whole_text(record)
    original = record.get("retweeted_status")
    if isinstance(original, dict) and text.rstrip().endswith("…"):
        whole, more = _whole_text(original)
        head, colon, _ = text.partition(": ")
        text, tags = (head + colon + whole if colon else whole), [*tags, *more]
    return finish(identity, author, at_s, text, tags)


def _whole_text(record: Record) -> tuple[str, list[str]]:
    extended = record.get("extended_tweet")
    source = extended if isinstance(extended, dict) and record.get("truncated", True) else record
    text = source.get("full_text") or source.get("text")
    if not isinstance(text, str):
        raise Unreadable("it has no text")
    return text, _entities(source, "text") or _entities(record, "text")


def is_page(record: Record) -> bool:
    """A page of the v2 API: one post or several under `data`, some of which may be damaged; or none at all."""
    data = record.get("data")
    items = data if isinstance(data, list) else [data]
    return any(isinstance(one, dict) and "id" in one and "text" in one for one in items) or _is_empty_page(record)


def _is_empty_page(record: Record) -> bool:
    if not record or not record.keys() <= PAGE_KEYS or record.get("data"):
        return False
    meta = record.get("meta")
    return record.get("data") == [] or "errors" in record or (isinstance(meta, dict) and "result_count" in meta)


def read_page(record: Record) -> Iterator[Outcome]:
    """The posts of a page; one that is unreadable does not spoil the others."""
    data = record.get("data") or []
    items = data if isinstance(data, list) else [data]
    if not items:
        yield Skipped("a page without results")
    names = _usernames(record)
    for item in items:
        yield attempt(read_item, item, names)


def _usernames(page: Record) -> dict[str, Any]:
    includes = page.get("includes")
    users = includes.get("users") if isinstance(includes, dict) else None
    listed = [user for user in users if isinstance(user, dict)] if isinstance(users, list) else []
    return {user["id"]: user.get("username") for user in listed if isinstance(user.get("id"), str)}


def is_item(record: Record) -> bool:
    return "author_id" in record and "id" in record and "text" in record


def read_item(item: object, names: dict[str, Any] | None = None) -> ParsedPost:
    """A single v2 post; its author's name if the page tells it, else the author's id."""
    if not isinstance(item, dict):
        raise Unreadable(f"a JSON {type(item).__name__}; expected an object")
    identity = whole_id(item.get("id"))
    author_id = whole_id(item.get("author_id"))
    own = item.get("author")
    author = (names or {}).get(author_id or "") or (own.get("username") if isinstance(own, dict) else None) or author_id
    note = item.get("note_tweet")
    source = note if isinstance(note, dict) and isinstance(note.get("text"), str) else item
    tags = _entities(source, "tag") or _entities(item, "tag")
    return finish(identity, author, best_time(identity, item.get("created_at")), source.get("text"), tags)


def is_scraped(record: Record) -> bool:
    user = record.get("user")
    known = isinstance(user, dict) and "username" in user and "date" in record
    return known and ("rawContent" in record or "content" in record)


def read_scraped(record: Record) -> ParsedPost:
    """A line of snscrape."""
    identity = whole_id(record.get("id"))
    text = record.get("rawContent", record.get("content"))
    return finish(
        identity, record["user"]["username"], best_time(identity, record["date"]), text, record.get("hashtags")
    )


def is_notice(record: Record) -> bool:
    return len(record) <= 2 and bool(STREAM_NOTICES & record.keys())


def read_notice(record: Record) -> ParsedPost:
    raise Skipped(f"a stream's notice: {sorted(record)[0]}")


def _entities(record: Record, name: str) -> list[str]:
    entities = record.get("entities")
    hashtags = entities.get("hashtags") if isinstance(entities, dict) else None
    return [one[name] for one in hashtags or [] if isinstance(one, dict) and isinstance(one.get(name), str)]
