"""A post as read from any format, and the three ways in which a record can end.

A record becomes a post, is skipped because it is no post and was never meant to be one (a deletion notice, a like), or
is unreadable, with a reason. Tags are normalised here, whatever the format: those that the format lists, or else those
in the text; one that was cut off by an ellipsis is dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import msgspec

from thyme.model.errors import InputError
from thyme.model.objects import MAX_TAGS
from thyme.model.tags import normalise_tag, tags_in_text

MAX_TEXT_CHARS = 100_000
EARLIEST_S = 631_152_000.0
"""1990: what is older is a mistake in the file."""
LATEST_S = 4_102_444_800.0
"""2100, likewise."""
_MENTION = re.compile(r"(?<![\w@])@(\w[\w.-]*(?:@[\w.-]+)?)")
_ELLIPSIS = ("…", "...")


class Skipped(Exception):
    """The record is something else than a post."""


class Unreadable(Exception):
    """The record should have been a post; the message says why it is none. `record` is what it was, where it is a part
    of something larger than a line."""

    record: object = None


class ParsedPost(msgspec.Struct, frozen=True):
    id: str
    author: str
    at_s: float
    text: str
    tags: tuple[str, ...]


def finish(
    identity: str | None, author: object, at_s: float, text: object, listed: Iterable[object] | None
) -> ParsedPost:
    """A post of what a format gave, checked. Without a usable identity, one is made of author, time and text."""
    if not isinstance(author, str) or not author.strip():
        raise Unreadable("it has no author")
    if not isinstance(text, str):
        raise Unreadable("it has no text")
    if len(text) > MAX_TEXT_CHARS:
        raise Unreadable(f"its text has {len(text)} characters; expected at most {MAX_TEXT_CHARS}")
    if not EARLIEST_S <= at_s <= LATEST_S:
        raise Unreadable(f"its time is {at_s:.0f} s since 1970; expected one from 1990 to 2100")
    named = [tag for tag in listed or () if isinstance(tag, str) and not tag.rstrip().endswith(_ELLIPSIS)]
    tags = _normal(named) or tags_in_text(text)
    return ParsedPost(identity or _made_identity(author, at_s, text), author.strip(), at_s, text, tags[:MAX_TAGS])


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


class Pseudonyms(msgspec.Struct, frozen=True):
    """Replaces whatever leads to a person: author, mentions in the text, and the id, by which a post can be
    looked up. The same key gives the same pseudonyms."""

    key: bytes

    def of(self, post: ParsedPost) -> ParsedPost:
        text = _MENTION.sub(lambda mention: "@" + self._name(mention.group(1)), post.text)
        return ParsedPost(self._hash("id", post.id), self._name(post.author), post.at_s, text, post.tags)

    def _name(self, name: str) -> str:
        return "user" + self._hash("author", name.casefold())

    def _hash(self, purpose: str, value: str) -> str:
        content = value.encode(errors="surrogatepass")
        return hashlib.blake2b(content, key=self.key, person=purpose.encode(), digest_size=8).hexdigest()
