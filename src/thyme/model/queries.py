"""Queries: which objects are relevant, as a propositional formula over tags (Thyme FGCS §3.3).

`goal & (portugal | france) & !replay` reads as it looks; `and`, `or`, `not`, `&&`, `||` are other spellings; a
tag with spaces or signs stands in quotes. Negation binds tightest, then conjunction. Parsed by recursive descent:

    either  := all ( ("|" | "||" | or) all )*
    all     := literal ( ("&" | "&&" | and) literal )*
    literal := ("!" | not)* ( tag | "(" either ")" )
    tag     := #?word | "any text" | 'any text'          with \\" \\' \\\\ inside quotes

Every error names the character at which reading stopped, shows it, and says what could have stood there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator

import msgspec

from thyme.model.errors import InputError
from thyme.model.formulas import (
    BARE_TAG,
    KEYWORDS,
    Formula,
    QueryError,
    Tag,
    conjunction,
    disjunction,
    formula_text,
    holds,
    negation,
    tags_of,
)
from thyme.model.normal_forms import MAX_CONJUNCTIONS, Conjunction, expand
from thyme.model.tags import normalise_tag

__all__ = [
    "MAX_CONJUNCTIONS",
    "MAX_QUERY_CHARS",
    "MAX_QUERY_DEPTH",
    "Conjunction",
    "Query",
    "QueryError",
    "parse_query",
]

MAX_QUERY_CHARS = 1000
MAX_QUERY_DEPTH = 32
"""Parentheses within parentheses: far beyond what a person writes, far below the interpreter's stack."""

_SYMBOL = re.compile(r"&&|\|\||[&|!()]")
_SHOWN_CHARS = 30
_EXPECTED_OPERAND = "a tag, '!' or '('"


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
    """Parse a query; QueryError says where and why it is invalid."""
    if len(text) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(text)} characters: at most {MAX_QUERY_CHARS} are allowed", MAX_QUERY_CHARS
        )
    formula = _Parser(text).whole()
    canonical = formula_text(formula)
    if len(canonical) > MAX_QUERY_CHARS:
        raise QueryError(
            f"the query has {len(canonical)} characters in its normal form: at most {MAX_QUERY_CHARS} are allowed"
        )
    return Query(canonical, formula)


class _Token(msgspec.Struct, frozen=True):
    kind: str  # one of & | ! ( ), "tag" or "end"
    text: str
    position: int


def _fault(text: str, position: int, problem: str) -> QueryError:
    """An error that points at a place: the text around it with a mark before the offending character."""
    start, stop = max(0, position - _SHOWN_CHARS), position + _SHOWN_CHARS
    before = ("…" if start else "") + text[start:position]
    after = text[position:stop] + ("…" if stop < len(text) else "")
    shown = " ".join(f"{before}▶{after}".split())
    return QueryError(f"query, character {position + 1}: {problem}: {shown}", position)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._token = next(self._tokens)
        self._depth = 0

    def whole(self) -> Formula:
        formula = self._either()
        if self._token.kind == ")":
            raise _fault(self._text, self._token.position, "this ')' closes nothing; remove it or add a '('")
        if self._token.kind != "end":
            raise self._unexpected("'&', '|' or the end (a tag with spaces needs quotes)")
        return formula

    def _either(self) -> Formula:
        return self._chain("|", self._all, disjunction)

    def _all(self) -> Formula:
        return self._chain("&", self._literal, conjunction)

    def _chain(self, sign: str, read: Callable[[], Formula], join: Callable[[list[Formula]], Formula]) -> Formula:
        parts = [read()]
        while self._token.kind == sign:
            self._advance()
            parts.append(read())
        return join(parts)

    def _literal(self) -> Formula:
        negated = False
        while self._token.kind == "!":
            negated = not negated
            self._advance()
        formula = self._operand()
        return negation(formula) if negated else formula

    def _operand(self) -> Formula:
        token = self._token
        if token.kind == "tag":
            self._advance()
            return Tag(token.text)
        if token.kind == "(":
            return self._parenthesised()
        raise self._unexpected(_EXPECTED_OPERAND)

    def _parenthesised(self) -> Formula:
        opening = self._token
        if self._depth == MAX_QUERY_DEPTH:
            raise _fault(self._text, opening.position, f"more than {MAX_QUERY_DEPTH} nested parentheses")
        self._depth += 1
        self._advance()
        formula = self._either()
        if self._token.kind != ")":
            raise self._unexpected(f"'&', '|' or the ')' for the '(' of character {opening.position + 1}")
        self._depth -= 1
        self._advance()
        return formula

    def _advance(self) -> None:
        self._token = next(self._tokens)

    def _unexpected(self, expected: str) -> QueryError:
        found = "the end" if self._token.kind == "end" else repr(self._token.text)
        return _fault(self._text, self._token.position, f"expected {expected}, found {found}")


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] in "\"'":
            content, end = _quoted(text, position)
            yield _Token("tag", _tag(text, position, content), position)
            position = end
        elif symbol := _SYMBOL.match(text, position):
            yield _Token(symbol[0][0], symbol[0], position)
            position = symbol.end()
        else:
            word = BARE_TAG.match(text, position)
            assert word is not None, "whatever is neither space, quote nor sign starts a word"
            sign = KEYWORDS.get(word[0].lower())
            content = word[0] if sign else _tag(text, position, word[0])
            yield _Token(sign or "tag", content, position)
            position = word.end()
    yield _Token("end", "", len(text))


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The text inside the quotes that open at `start`, and the position after the closing quote."""
    quote, content, position = text[start], "", start + 1
    while position < len(text):
        character = text[position]
        if character == quote:
            return content, position + 1
        if character == "\\":
            position += 1
            character = text[position : position + 1]
            if character not in ('"', "'", "\\"):
                raise _fault(text, position - 1, "expected \\\", \\' or \\\\ as escape")
        content += character
        position += 1
    raise _fault(text, start, f"the quote {quote} is never closed")


def _tag(text: str, position: int, content: str) -> str:
    try:
        return normalise_tag(content)
    except InputError as error:
        raise _fault(text, position, str(error)) from error
