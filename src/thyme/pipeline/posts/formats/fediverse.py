"""Mastodon statuses and Bluesky's Jetstream.

A Mastodon status is the same post on every server that shows it, so its `uri` names it, not its `id`; its content is
HTML. Jetstream tells everything that happens, of which created posts are one kind.
"""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from thyme.pipeline.posts.formats.posts import ParsedPost, Skipped, Unreadable, finish
from thyme.pipeline.posts.formats.times import parse_time

Record = dict[str, Any]

_POSTS = "app.bsky.feed.post"
_TAG = "app.bsky.richtext.facet#tag"


def is_toot(record: Record) -> bool:
    account = record.get("account")
    return isinstance(account, dict) and "acct" in account and "content" in record


def read_toot(record: Record) -> ParsedPost:
    """A Mastodon status; a boost is the boosted status, by whoever boosted it."""
    inner = record.get("reblog")
    source = inner if isinstance(inner, dict) else record
    content = source.get("content")
    if not isinstance(content, str):
        raise Unreadable("it has no text")
    tags = [tag.get("name") for tag in source.get("tags") or [] if isinstance(tag, dict)]
    identity = record.get("uri") or record.get("url")
    author = record["account"]["acct"]
    return finish(identity, author, parse_time(record.get("created_at")), plain_text(content), tags)


def is_jetstream(record: Record) -> bool:
    return "did" in record and ("commit" in record or "kind" in record)


def read_jetstream(record: Record) -> ParsedPost:
    commit = record.get("commit")
    if not isinstance(commit, dict):
        raise Skipped(f"Jetstream's {record.get('kind', 'other')} event")
    if commit.get("operation") not in ("create", "c") or commit.get("collection") != _POSTS:
        raise Skipped(f"Jetstream's {commit.get('operation')} of {commit.get('collection')}")
    post = commit.get("record")
    if not isinstance(post, dict):
        raise Unreadable("its commit has no record")
    did, rkey = record["did"], commit.get("rkey")
    stamp = record.get("time_us")
    at_s = float(stamp) / 1e6 if isinstance(stamp, int) and stamp else parse_time(post.get("createdAt"))
    return finish(f"{did}/{rkey}" if rkey else None, did, at_s, post.get("text"), _facet_tags(post))


def _facet_tags(post: Record) -> list[object]:
    features = [
        feature
        for facet in post.get("facets") or []
        if isinstance(facet, dict)
        for feature in facet.get("features") or []
    ]
    return [one.get("tag") for one in features if isinstance(one, dict) and one.get("$type") == _TAG]


class _Plain(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "br":
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self.parts.append("\n\n")


def plain_text(content: str) -> str:
    """What a person reads of an HTML content."""
    parser = _Plain()
    parser.feed(content)
    parser.close()
    return "".join(parser.parts).strip()
