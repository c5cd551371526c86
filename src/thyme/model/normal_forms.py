"""Disjunctive normal form: a query as alternatives, each a set of tags wanted and unwanted (Thyme FGCS §3.3).

Brokers and cells work on conjunctions, so a query is expanded before it is sent. The expansion distributes
over one part at a time and drops contradictory conjunctions and those that another one subsumes as it goes,
which keeps what is in between about as small as the result. Its size has a named cap, since the normal form
of n two-literal clauses has up to 2ⁿ conjunctions.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from thyme.model.formulas import And, Formula, Not, Or, QueryError, Tag, tag_text, tags_of

MAX_CONJUNCTIONS = 1024
"""Ten independent two-literal clauses; a subscription with more would not fit a reasonable message."""

_MAX_PRODUCTS = 16 * MAX_CONJUNCTIONS
"""Combinations looked at in one distribution step, before contradictory and subsumed ones are dropped."""


class Conjunction(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """All positive tags and none of the negative ones; both sorted."""

    positive: tuple[str, ...]
    negative: tuple[str, ...] = ()

    def matches(self, tags: Container[str]) -> bool:
        for tag in self.positive:
            if tag not in tags:
                return False
        for tag in self.negative:  # noqa: SIM110 - a generator would double the time of this hot path
            if tag in tags:
                return False
        return True

    def __str__(self) -> str:
        return " & ".join([*map(tag_text, self.positive), *("!" + tag_text(tag) for tag in self.negative)])


def expand(formula: Formula) -> tuple[Conjunction, ...]:
    """The conjunctions, shortest first, then by tags; none if the formula can never hold."""
    names = sorted(set(tags_of(formula)))
    literals = _Literals({name: 1 << (2 * place) for place, name in enumerate(names)})
    conjunctions = [_conjunction(mask, names) for mask in literals.expansion(formula, negated=False)]
    return tuple(sorted(conjunctions, key=_length_and_tags))


class _Literals:
    """Conjunctions as bit masks: two neighbouring bits per tag, the lower for wanted, the upper for not."""

    def __init__(self, bits: dict[str, int]) -> None:
        self._bits = bits
        self._wanted = sum(bits.values())

    def expansion(self, formula: Formula, negated: bool) -> list[int]:
        match formula:
            case Tag(name):
                return [self._bits[name] << negated]
            case Not(part):
                return self.expansion(part, not negated)
            case And(parts) | Or(parts) if isinstance(formula, And) is negated:
                return _absorbed(mask for part in parts for mask in self.expansion(part, negated))
            case And(parts) | Or(parts):
                return self._product([self.expansion(part, negated) for part in parts])

    def _product(self, factors: list[list[int]]) -> list[int]:
        masks = [0]
        for factor in sorted(factors, key=len):  # short ones first: they contradict and subsume the most
            if len(masks) * len(factor) > _MAX_PRODUCTS:
                raise _too_large()
            products = {left | right for left in masks for right in factor}
            masks = _absorbed(mask for mask in products if not mask & (mask >> 1) & self._wanted)
        return masks


def _absorbed(masks: Iterable[int]) -> list[int]:
    """Without the masks that hold all bits of a smaller one."""
    kept: list[int] = []
    shorter: list[int] = []  # only one with fewer literals can subsume, so equals in length are not compared
    length = -1
    for mask in sorted(set(masks), key=lambda mask: (mask.bit_count(), mask)):
        if mask.bit_count() != length:
            length, shorter = mask.bit_count(), kept.copy()
        if not any(mask & smaller == smaller for smaller in shorter):
            kept.append(mask)
            if len(kept) > MAX_CONJUNCTIONS:
                raise _too_large()
    return kept


def _conjunction(mask: int, names: list[str]) -> Conjunction:
    positive = tuple(name for place, name in enumerate(names) if mask >> (2 * place) & 1)
    negative = tuple(name for place, name in enumerate(names) if mask >> (2 * place) & 2)
    return Conjunction(positive, negative)


def _length_and_tags(conjunction: Conjunction) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    positive, negative = conjunction.positive, conjunction.negative
    return len(positive) + len(negative), positive, negative


def _too_large() -> QueryError:
    return QueryError(
        f"the query expands to more than {MAX_CONJUNCTIONS} conjunctions: subscribe to its parts one by one"
    )
