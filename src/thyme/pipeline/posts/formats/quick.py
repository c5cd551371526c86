"""Twitter's v1.1 statuses the quick way: only the fields that make the post are decoded, the others passed over.

Most of what is ever ingested is such lines, well formed and with dozens of fields that nobody reads. A line that is
anything else, or has more than one place where its text may be (an extended post, a shortened share), is `None` here
and read the thorough way (`objects.read_object`), which also says what is wrong with it; both give the same posts.
"""

from __future__ import annotations

import msgspec

from thyme.pipeline.posts.formats.posts import ParsedPost, Unreadable, finish
from thyme.pipeline.posts.formats.times import best_time, parse_time, whole_id

_CUT_OFF = "…"


class _User(msgspec.Struct, gc=False):
    screen_name: str


class _Hashtag(msgspec.Struct, gc=False):
    text: str


class _Entities(msgspec.Struct, gc=False):
    hashtags: list[_Hashtag] | None = None


class _Part(msgspec.Struct, gc=False):
    """An object of which only matters that it is there."""


class Status(msgspec.Struct, gc=False):
    user: _User
    created_at: str | float | int
    id_str: str
    text: str = ""
    full_text: str = ""
    timestamp_ms: str | int = ""
    entities: _Entities | None = None
    extended_tweet: _Part | None = None
    retweeted_status: _Part | None = None


_decode = msgspec.json.Decoder(Status).decode


def quick_status(line: bytes) -> ParsedPost | None:
    """The post of a line; None if the line has to be read thoroughly."""
    status = decode_status(line)
    return None if status is None else post_of(status)


def decode_status(line: bytes) -> Status | None:
    """What a line says, as far as it makes a post; None if it is something else."""
    try:
        status = _decode(line)
        if not line.isascii():
            line.decode("utf-8")  # what is passed over is not checked by the decoder
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return status


def post_of(status: Status) -> ParsedPost | None:
    """The post that a status is; None if its line has to be read thoroughly."""
    text, identity = status.full_text or status.text, whole_id(status.id_str)
    shortened = status.retweeted_status is not None and text.rstrip().endswith(_CUT_OFF)
    if not text or identity is None or shortened or status.extended_tweet is not None:
        return None
    stamp = status.timestamp_ms
    listed = status.entities.hashtags if status.entities else None
    try:
        at_s = parse_time(stamp) if stamp else best_time(identity, status.created_at)
        return finish(identity, status.user.screen_name, at_s, text, [one.text for one in listed or ()])
    except (Unreadable, ValueError):
        return None
