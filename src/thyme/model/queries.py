"""Queries: which objects are relevant, as a propositional formula over tags (Thyme FGCS §3.3).

`goal & (portugal | france) & !replay` reads as it looks; `and`, `or`, `not`, `&&`, `||` are other spellings; a
tag with spaces or signs stands in quotes. Negation binds tightest, then conjunction.
"""

from __future__ import annotations

from collections.abc import Container

import msgspec

from thyme.model.formulas import Formula, QueryError, formula_text, holds, tags_of
from thyme.model.normal_forms import MAX_CONJUNCTIONS, Conjunction, expand
from thyme.model.query_parser import MAX_QUERY_CHARS, MAX_QUERY_DEPTH, parse_formula

__all__ = [
    "MAX_CONJUNCTIONS",
    "MAX_QUERY_CHARS",
    "MAX_QUERY_DEPTH",
    "Conjunction",
    "Query",
    "QueryError",
    "parse_query",
]


class Query(msgspec.Struct, frozen=True):
    """A query that was read; `text` is its canonical spelling, which reads back as the same query."""

    text: str
    formula: Formula

    def matches(self, tags: Container[str]) -> bool:
        return holds(self.formula, tags)

    def dnf(self) -> tuple[Conjunction, ...]:
        """Its conjunctions, none contradictory or subsumed; empty if it can never match."""
        return expand(self.formula)

    def tags(self) -> tuple[str, ...]:
        """The tags it mentions, sorted."""
        return tuple(sorted(set(tags_of(self.formula))))

    def __str__(self) -> str:
        return self.text


def parse_query(text: str) -> Query:
    """Read a query; QueryError points at what cannot be read."""
    formula = parse_formula(text)
    canonical = formula_text(formula)
    if len(canonical) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(canonical)} characters when spelled out: at most {MAX_QUERY_CHARS} can be"
        )
    return Query(canonical, formula)
