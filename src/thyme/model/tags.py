"""Tags: the words by which objects are found (Thyme FGCS §3.1).

Every room writes a tag the same way, as `normalise_tag` gives it: Unicode NFKC, case-folded, with no leading
`#` and single spaces inside. Two spellings that a person would call the same tag are therefore equal strings,
and hashing one to a cell gives the same cell on every device.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from thyme.model.errors import InputError

MAX_TAG_CHARS = 140
"""A whole post of 2016 fits; longer ones in the wild are noise."""

_CUT_OFF = "…"
_JOINERS = "\u200c\u200d"  # written inside words of Persian and of several Indic scripts
_HASHTAG = re.compile(r"(?<![\w&])[#＃]+(?=\w)")
_WORD = re.compile(r"\w+")


def normalise_tag(text: str) -> str:
    """The one spelling of a tag; InputError if it is empty, too long or holds control characters."""
    tag = text.lower() if text.isascii() and text.isalnum() else _folded(text)
    if not tag:
        raise InputError(f"the tag {text[:40]!r} is empty: it needs a character besides '#' and spaces")
    if len(tag) > MAX_TAG_CHARS:
        raise InputError(f"the tag {tag[:20]!r}… has {len(tag)} characters: at most {MAX_TAG_CHARS} are allowed")
    return tag


def normalise_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """All of them normalised, sorted, each once."""
    return tuple(sorted(set(map(normalise_tag, tags))))


def tags_in_text(text: str) -> tuple[str, ...]:
    """The hashtags of a running text, normalised, in order of appearance, each once.

    As on the usual networks a hashtag is a run of letters, digits, marks and `_` that is more than a number.
    One that an ellipsis cuts off is dropped, since its rest is unknown; so are overlong ones, and what only
    looks like a tag: a URL's fragment (`/#top`) or a character reference (`&#39;`). A stroke between two hashtags
    (`#por/#fra`) is no part of a URL.
    """
    found: dict[str, None] = {}
    end = -1
    for sign in _HASHTAG.finditer(text):
        if text.startswith("/", sign.start() - 1) and sign.start() and end != sign.start() - 1:
            continue
        end = _word_end(text, sign.end())
        word = text[sign.end() : end]
        if text.startswith(_CUT_OFF, end) or word.isdigit():
            continue
        tag = _folded(word)
        if 0 < len(tag) <= MAX_TAG_CHARS:
            found[tag] = None
    return tuple(found)


def _folded(text: str) -> str:
    """Fold case and compatibility forms, until stable: folding can undo NFKC, and NFKC reveal capitals."""
    tag = text
    while (folded := _folded_once(tag)) != tag:
        tag = folded
    for character in tag:
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise InputError(f"the tag {text[:40]!r} contains the control character {character!r}: remove it")
    return tag


def _folded_once(text: str) -> str:
    tag = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _single_spaced(tag).lstrip("# ")


def _single_spaced(text: str) -> str:
    """Runs of space separators become one space; control characters such as tabs stay, to be refused."""
    outside = text.strip()
    return re.sub(r"[^\S\x00-\x1f\x7f-\x9f]+", " ", outside)


def _word_end(text: str, start: int) -> int:
    """Where the word from `start` ends: Python's \\w lacks the combining marks that many scripts need."""
    end = start
    while True:
        word = _WORD.match(text, end)
        if word is not None:
            end = word.end()
        if end >= len(text) or text[end].isascii():
            return end
        if unicodedata.category(text[end])[0] != "M" and text[end] not in _JOINERS:
            return end
        end += 1
