"""Formulas: propositional logic over tags, as a tree (Thyme FGCS §3.3).

A formula is a tag, or a negation, conjunction or disjunction of formulas. It can be evaluated against an
object's tags and written as text, with the fewest parentheses, such that reading the text gives it back.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

import msgspec

from thyme.model.errors import InputError

KEYWORDS = {"and": "&", "or": "|", "not": "!"}
BARE_TAG = re.compile(r"[^\s&|!()\"'][^\s&|!()\"]*")
"""What needs no quotes: an apostrophe may stand inside a word (l'équipe), not before it."""


class QueryError(InputError):
    """A query that cannot be used; `position` is the offset of the fault in its text, if it has one place."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class Tag(msgspec.Struct, frozen=True, gc=False):
    name: str


class Not(msgspec.Struct, frozen=True, gc=False):
    part: Formula


class And(msgspec.Struct, frozen=True, gc=False):
    parts: tuple[Formula, ...]


class Or(msgspec.Struct, frozen=True, gc=False):
    parts: tuple[Formula, ...]


Formula = Tag | Not | And | Or


def holds(formula: Formula, tags: Container[str]) -> bool:
    """Whether the formula is true of an object with exactly these tags."""
    match formula:
        case Tag(name):
            return name in tags
        case Not(part):
            return not holds(part, tags)
        case And(parts):
            return all(holds(part, tags) for part in parts)
        case Or(parts):
            return any(holds(part, tags) for part in parts)


def tags_of(formula: Formula) -> Iterator[str]:
    """Every tag the formula mentions, from left to right, repeated as it repeats them."""
    match formula:
        case Tag(name):
            yield name
        case Not(part):
            yield from tags_of(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from tags_of(part)


def negation(formula: Formula) -> Formula:
    return formula.part if isinstance(formula, Not) else Not(formula)


def conjunction(parts: list[Formula]) -> Formula:
    """All parts at once, nested conjunctions flattened."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(parts: list[Formula]) -> Formula:
    """Any of the parts, nested disjunctions flattened."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def formula_text(formula: Formula) -> str:
    """The canonical query text."""
    match formula:
        case Tag(name):
            return tag_text(name)
        case Not(part):
            return "!" + (tag_text(part.name) if isinstance(part, Tag) else f"({formula_text(part)})")
        case And(parts):
            return " & ".join(f"({formula_text(p)})" if isinstance(p, Or) else formula_text(p) for p in parts)
        case Or(parts):
            return " | ".join(formula_text(part) for part in parts)


def tag_text(name: str) -> str:
    """A normalised tag as written in a query: quoted if it would otherwise be parsed as something else."""
    if BARE_TAG.fullmatch(name) and name not in KEYWORDS:
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
