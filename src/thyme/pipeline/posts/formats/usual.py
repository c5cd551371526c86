"""Usual statuses of Twitter's v1.1, many at a time: checked and turned into columns by Arrow.

A usual one has an id that carries its time, a plain name, and plain tags or none at all; nearly all of a well-formed
file are such. Columns come out as the post-by-post way would have them (`posts.finish`), which reads all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.objects import MAX_TAGS
from thyme.model.tags import MAX_TAG_CHARS
from thyme.pipeline.posts.formats.posts import EARLIEST_S, LATEST_S, MAX_TEXT_CHARS, Unreadable
from thyme.pipeline.posts.formats.quick import Status
from thyme.pipeline.posts.formats.times import FIRST_SNOWFLAKE, TWITTER_EPOCH_MS, ZONES_S, parse_time
from thyme.pipeline.schemas import POST_COLUMNS, arrow_schema

BATCH_LINES = 1_000
_ID = "^([0-9]{11,18}|[1-8][0-9]{18})$"
"""Such a number fits 64 bits; a smaller one carries no time."""
_NAME = "^[A-Za-z0-9_]+$"
_WIDE_HASH = "＃"
_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]
_SCHEMA = arrow_schema(POST_COLUMNS)


class UsualPosts(msgspec.Struct, frozen=True):
    """Posts in the columns of a dataset of posts; their ids are worldwide, their tags ASCII."""

    rows: pa.RecordBatch


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
    columns = [ids, authors, pa.array(at_s), texts, pa.array(tags, pa.list_(pa.string()))]
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
