"""The fast reader of Twitter's v1.1 statuses: only the needed fields are decoded, and Arrow checks many at a time.

It reads usual statuses: one line with an id that carries its time, a plain name, one place for the text, and plain tags
or none. Nearly all lines of a well-formed file are such. All others go to the thorough reader (`twitter.read_status`),
which also says what is wrong with them; both give the same posts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.objects import MAX_TAGS
from thyme.model.tags import MAX_TAG_CHARS
from thyme.pipeline.posts.formats.posts import EARLIEST_S, LATEST_S, MAX_TEXT_CHARS, ParsedPost, Unreadable
from thyme.pipeline.posts.formats.times import FIRST_SNOWFLAKE, TWITTER_EPOCH_MS, ZONES_S, parse_time
from thyme.pipeline.schemas import POST_COLUMNS, arrow_schema, timestamps

BATCH_LINES = 1_000
_ID = "^([0-9]{11,18}|[1-8][0-9]{18})$"
"""Such a number fits 64 bits; a smaller one carries no time."""
_NAME = "^[A-Za-z0-9_]+$"
_WIDE_HASH = "＃"
_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]
_SCHEMA = arrow_schema(POST_COLUMNS)


class _User(msgspec.Struct, gc=False):
    screen_name: str


class _Hashtag(msgspec.Struct, gc=False):
    text: str


class _Entities(msgspec.Struct, gc=False):
    hashtags: list[_Hashtag] | None = None


class _Part(msgspec.Struct, gc=False):
    """An object whose presence alone matters."""


class Status(msgspec.Struct, gc=False):
    """The fields that make the post."""

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


def decode_status(line: bytes) -> Status | None:
    """A line's fields that make the post; None if the line is something else."""
    try:
        status = _decode(line)
        if not line.isascii():
            line.decode("utf-8")  # the decoder does not check the fields that it skips
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return status


class UsualPosts(msgspec.Struct, frozen=True):
    """Posts in the columns of a dataset of posts; their ids are worldwide, their tags ASCII."""

    rows: pa.RecordBatch

    def posts(self) -> Iterator[ParsedPost]:
        """The same one by one."""
        at_us = self.rows["at"].cast(pa.int64()).to_pylist()
        columns = (self.rows[name].to_pylist() for name in ("id", "author", "text", "tags"))
        for identity, author, text, tags, when_us in zip(*columns, at_us, strict=True):
            yield ParsedPost(identity, author, when_us / 1e6, text, tuple(tags))


def usual_posts(statuses: Sequence[Status]) -> tuple[UsualPosts, list[int]]:
    """The posts of those statuses that are usual, in order, and the places of the others."""
    try:
        ids = pa.array([status.id_str for status in statuses], pa.string())
        authors = pa.array([status.user.screen_name for status in statuses], pa.string())
        texts = pa.array([status.full_text or status.text for status in statuses], pa.string())
    except UnicodeEncodeError:  # a lone surrogate somewhere, which no column of text holds
        return UsualPosts(pa.RecordBatch.from_pylist([], _SCHEMA)), list(range(len(statuses)))
    at_s, timed = _times(statuses, ids)
    tags = [_plain_tags(status) for status in statuses]
    tagged = np.array([one is not None for one in tags], bool)
    chars = pc.utf8_length(texts)
    sound = _mask(pc.and_(pc.greater(chars, 0), pc.less_equal(chars, MAX_TEXT_CHARS)))
    single = np.array([one.extended_tweet is None and one.retweeted_status is None for one in statuses], bool)
    usual = timed & tagged & sound & single & _mask(pc.match_substring_regex(authors, _NAME))
    columns = [ids, authors, timestamps(np.where(timed, at_s, 0.0)), texts, pa.array(tags, pa.list_(pa.string()))]
    rows = pa.record_batch(columns, schema=_SCHEMA).filter(pa.array(usual))
    return UsualPosts(rows), np.flatnonzero(~usual).tolist()


def _times(statuses: Sequence[Status], ids: pa.Array) -> tuple[_Floats, _Bools]:
    """When each was posted, and whether that is sure: the id carries a time, and the stated one agrees. A stamp in
    milliseconds goes before the id's, as `twitter.read_status` has it."""
    carrying = _mask(pc.match_substring_regex(ids, _ID))
    numbers = pc.if_else(pa.array(carrying), ids, "0").cast(pa.int64()).to_numpy()
    carried_s = ((numbers >> 22) + TWITTER_EPOCH_MS) / 1000.0
    stated_s = np.array([_stated_s(status) for status in statuses], np.float64)
    stamped = np.array([bool(status.timestamp_ms) for status in statuses], bool)
    at_s = np.where(stamped, stated_s, carried_s)
    agreed = np.abs(carried_s - stated_s) <= ZONES_S
    sure = (numbers >= FIRST_SNOWFLAKE) & agreed & (at_s >= EARLIEST_S) & (at_s <= LATEST_S)
    return at_s, carrying & sure


def _stated_s(status: Status) -> float:
    try:
        return parse_time(status.timestamp_ms or status.created_at)
    except (Unreadable, ValueError, OverflowError):
        return float("nan")


def _plain_tags(status: Status) -> list[str] | None:
    """The listed tags, normalised, sorted, each once; None if one is of more than plain letters and digits, or if none
    is listed and some may be in the text."""
    listed = status.entities.hashtags if status.entities else None
    if not listed:
        text = status.full_text or status.text
        return None if "#" in text or _WIDE_HASH in text else []
    names = [one.text for one in listed]
    whole = "".join(names)
    plain = whole.isascii() and whole.isalnum() and len(whole) <= MAX_TAG_CHARS and "" not in names
    return sorted({name.lower() for name in names}) if plain and len(names) <= MAX_TAGS else None


def _mask(flags: pa.Array) -> _Bools:
    mask: _Bools = flags.to_numpy(zero_copy_only=False)
    return mask
