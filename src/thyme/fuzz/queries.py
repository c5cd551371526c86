"""The judge's own reading of queries: a few lines that evaluate the text, apart from the parser, the normal forms and
the matching index, so that no mistake of theirs is shared."""

from __future__ import annotations

import re
from collections.abc import Container

_PIECES = re.compile(r'\s*(\(|\)|&&?|\|\|?|!|"[^"]*"|[^\s()&|!"]+)')
_SPELLINGS = {"and": "&", "&&": "&", "or": "|", "||": "|", "not": "!"}


def is_true(query: str, tags: Container[str]) -> bool:
    """Whether an object with these tags matches the query."""
    pieces = [_SPELLINGS.get(piece.lower(), piece) for piece in _PIECES.findall(query)]
    value = _either(pieces, tags)
    assert not pieces, f"the judge cannot read {query!r} from {pieces[0]!r} on"
    return value


def _either(pieces: list[str], tags: Container[str]) -> bool:
    value = _both(pieces, tags)
    while pieces and pieces[0] == "|":
        pieces.pop(0)
        other = _both(pieces, tags)
        value = value or other
    return value


def _both(pieces: list[str], tags: Container[str]) -> bool:
    value = _one(pieces, tags)
    while pieces and pieces[0] == "&":
        pieces.pop(0)
        other = _one(pieces, tags)
        value = value and other
    return value


def _one(pieces: list[str], tags: Container[str]) -> bool:
    piece = pieces.pop(0)
    if piece == "!":
        return not _one(pieces, tags)
    if piece == "(":
        value = _either(pieces, tags)
        assert pieces.pop(0) == ")"
        return value
    return piece.strip('"') in tags
