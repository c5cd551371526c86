"""A post as read from any format, and the three ways in which a record can end.

A record becomes a post, is skipped because it is no post and was never meant to be one (a deletion notice, a like), or
is unreadable, with a reason. Whatever a record holds, it never ends the reading of others (`attempt`). Tags are
normalised here, whatever the format: those that the format lists, or else those in the text; one that was cut off by
an ellipsis is dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import msgspec

from thyme.model.errors import InputError
from thyme.model.objects import MAX_TAGS
from thyme.model.tags import normalise_tag, tags_in_text

MAX_TEXT_CHARS = 100_000
MAX_ID_CHARS = 1_000
"""Addresses name posts of the fediverse, so ids can be long, but not without end."""
MAX_SEEN_CHARS = 200
EARLIEST_S = 631_152_000.0
"""1990: what is older is a mistake in the file."""
LATEST_S = 4_102_444_800.0
"""2100, likewise."""
_ELLIPSIS = ("…", "...")


class Skipped(Exception):
    """The record is something else than a post."""


class Unreadable(Exception):
    """The record should have been a post; the message says why it is none.

    Where the message quotes the record, it has `{}` in that place and `seen` is the quotation, so that the reason can
    also be told without it. `record` is what the record was, where it is a part of something larger.
    """

    def __init__(self, message: str, seen: str | None = None) -> None:
        super().__init__(message)
        self._message = message
        self._seen = seen
        self.record: object = None

    def __str__(self) -> str:
        return self._told("" if self._seen is None else repr(self._seen[:MAX_SEEN_CHARS]))

    @property
    def without_content(self) -> str:
        """The reason with nothing of the record in it."""
        return self._told("…")

    def _told(self, quotation: str) -> str:
        return self._message if self._seen is None else self._message.replace("{}", quotation, 1)


class ParsedPost(msgspec.Struct, frozen=True):
    id: str
    author: str
    at_s: float
    text: str
    tags: tuple[str, ...]


Outcome = ParsedPost | Skipped | Unreadable


def attempt(read: Callable[..., ParsedPost], record: object, *more: object) -> Outcome:
    """What reading a record comes to. Records are made by anyone, so any exception is the record's fault here."""
    try:
        return read(record, *more)
    except Skipped as skipped:
        return skipped
    except Unreadable as error:
        unreadable = error
    except Exception as error:
        unreadable = Unreadable("a part of it is not as expected ({})", f"{type(error).__name__}: {error}")
    unreadable.record = record
    return unreadable


def finish(identity: object, author: object, at_s: float, text: object, listed: Iterable[object] | None) -> ParsedPost:
    """A post of what a format gave, checked. Without a usable identity, one is made of author, time and text."""
    if not isinstance(author, str) or not author.strip():
        raise Unreadable("it has no author")
    if not isinstance(text, str):
        raise Unreadable("it has no text")
    if len(text) > MAX_TEXT_CHARS:
        raise Unreadable(f"its text has {len(text)} characters; expected at most {MAX_TEXT_CHARS}")
    if identity and not isinstance(identity, str):
        raise Unreadable(f"its id is a {type(identity).__name__}; expected a text")
    if isinstance(identity, str) and len(identity) > MAX_ID_CHARS:
        raise Unreadable(f"its id has {len(identity)} characters; expected at most {MAX_ID_CHARS}")
    if not EARLIEST_S <= at_s <= LATEST_S:
        raise Unreadable(f"its time is {at_s:.0f} s since 1970; expected one from 1990 to 2100")
    named = [tag for tag in listed or () if isinstance(tag, str) and not tag.rstrip().endswith(_ELLIPSIS)]
    tags = _normal(named) or tags_in_text(text)
    made = identity if isinstance(identity, str) and identity else _made_identity(author, at_s, text)
    return ParsedPost(made, author.strip(), at_s, text, tags[:MAX_TAGS])


def _normal(tags: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for tag in tags:
        try:
            found[normalise_tag(tag)] = None
        except InputError:
            continue
    return tuple(found)


def _made_identity(author: str, at_s: float, text: str) -> str:
    content = f"{author}\n{at_s:.0f}\n{text}".encode(errors="surrogatepass")
    return "made-" + hashlib.blake2b(content, digest_size=12).hexdigest()
