"""Times as files spell them, as seconds since 1970 in UTC.

A time without a zone is taken as UTC. Twitter's ids carry the millisecond of their making, which is better than a
date of minute resolution or one in the crawler's own zone; the id is believed where the two are within about a day.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from thyme.pipeline.posts.formats.posts import Unreadable

TWITTER_EPOCH_MS = 1_288_834_974_657
FIRST_SNOWFLAKE = 29_700_859_247
"""Ids from here on (November 2010) carry their time."""
MAX_ID_DIGITS = 20
"""As many as 64 bits have; a longer number is no id of Twitter's."""
ZONES_S = 26 * 3600.0
"""How far a local time may be from UTC, with some slack."""
MAX_ROUNDED_CHARS = 40
MAX_KNOWN_TIMES = 20_000
_TWITTER = "%a %b %d %H:%M:%S %z %Y"
_OTHERS = (
    "%Y-%m-%d %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%a, %d %b %Y %H:%M:%S %z",
    "%d %b %Y %H:%M:%S",
)


def parse_time(value: object) -> float:
    """Seconds since 1970 of an ISO date, Twitter's date, or a number of s, ms or µs; Unreadable otherwise."""
    if isinstance(value, bool) or value is None:
        raise Unreadable("it has no time")
    if isinstance(value, datetime):
        return _stamp(value)
    if isinstance(value, int | float):
        return _scaled(float(value))
    return _parsed(str(value).strip())


@lru_cache(MAX_KNOWN_TIMES)
def _parsed(text: str) -> float:
    """Posts come in bursts, so most dates have just been read."""
    try:
        return _scaled(float(text))
    except ValueError:
        pass
    for spelling in (None, _TWITTER, *_OTHERS):
        try:
            return _stamp(datetime.fromisoformat(text) if spelling is None else datetime.strptime(text, spelling))
        except ValueError:
            continue
    raise Unreadable("its time {} cannot be read; expected a date such as 2016-07-10T20:00:00Z", text[:40])


def snowflake_s(identity: str | None) -> float | None:
    """The time that a Twitter id carries, if it is one that does."""
    if identity is None or len(identity) > MAX_ID_DIGITS or not (identity.isascii() and identity.isdigit()):
        return None
    number = int(identity)
    return ((number >> 22) + TWITTER_EPOCH_MS) / 1000.0 if number >= FIRST_SNOWFLAKE else None


def best_time(identity: str | None, stated: object) -> float:
    """The id's time where it agrees with the stated one or that cannot be read; else the stated one."""
    carried_s = snowflake_s(identity)
    try:
        stated_s = parse_time(stated)
    except Unreadable:
        if carried_s is None or stated not in (None, ""):
            raise
        return carried_s
    return carried_s if carried_s is not None and abs(carried_s - stated_s) <= ZONES_S else stated_s


def whole_id(value: object) -> str | None:
    """An id as text; None if it is missing, no text or number, or was rounded to a float on its way (8.01496E+17)."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip().strip('"')
    return text if text and not _is_rounded(text) else None


def _is_rounded(text: str) -> bool:
    if len(text) > MAX_ROUNDED_CHARS or not text.isascii() or text.isdigit():
        return False
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _scaled(number: float) -> float:
    magnitude = abs(number)
    if magnitude >= 1e14:
        return number / 1e6
    return number / 1e3 if magnitude >= 1e11 else number


def _stamp(date: datetime) -> float:
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
