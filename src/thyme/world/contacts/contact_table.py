"""Contacts: who was near whom, from when until when.

A contact table has one row per unbroken stay of two nodes within range of each other, in order of start. It
comes from a movement (`encounters`) or from a trace of real people (`thyme.world.files.contacts`), and is all that a
delay-tolerant run needs to know about space.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thyme.model.errors import InputError
from thyme.world.movement import Floats, Ints

TOUCHING_S = 1e-6
"""Contacts of one pair that are less than this apart are one: a rounding error is not a separation."""


@dataclass(frozen=True, slots=True)
class Contacts:
    """Contacts of `nodes` nodes: `a[k]` < `b[k]` are in contact from `start_s[k]` to `end_s[k]`."""

    nodes: int
    start_s: Floats
    end_s: Floats
    a: Ints
    b: Ints

    def __post_init__(self) -> None:
        if not len(self.start_s) == len(self.end_s) == len(self.a) == len(self.b):
            raise InputError("contacts: the four columns differ in length")
        if len(self.a) and not (self.a.min() >= 0 and (self.a < self.b).all() and self.b.max() < self.nodes):
            raise InputError(f"contacts: every row needs two different nodes a < b below {self.nodes}")
        if not (self.end_s >= self.start_s).all():
            raise InputError("contacts: every contact must end after it starts")
        if (np.diff(self.start_s) < 0.0).any():
            raise InputError("contacts: rows are not in order of start; build them with `contacts_from`")

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def span_s(self) -> tuple[float, float]:
        """The first start and the last end; (0, 0) without contacts."""
        if len(self) == 0:
            return 0.0, 0.0
        return float(self.start_s[0]), float(self.end_s.max())

    def shifted(self, by_s: float) -> Contacts:
        """The same contacts, `by_s` later: traces often start at a clock time of their own."""
        return Contacts(self.nodes, self.start_s + by_s, self.end_s + by_s, self.a, self.b)

    def between(self, from_s: float, until_s: float) -> Contacts:
        """The parts of the contacts that fall between two instants."""
        inside = (self.end_s > from_s) & (self.start_s < until_s)
        start_s = np.maximum(self.start_s[inside], from_s)
        end_s = np.minimum(self.end_s[inside], until_s)
        return contacts_from(self.nodes, start_s, end_s, self.a[inside], self.b[inside])


def contacts_from(
    nodes: int,
    start_s: Iterable[float],
    end_s: Iterable[float],
    a: Iterable[int],
    b: Iterable[int],
    *,
    touching_s: float = TOUCHING_S,
) -> Contacts:
    """A contact table from rows in any order; rows of one pair that overlap or touch become one contact."""
    start, end = _floats(start_s), _floats(end_s)
    one, other = _ints(a), _ints(b)
    pair = np.minimum(one, other) * nodes + np.maximum(one, other)
    order = np.lexsort((start, pair))
    pair, start, end = pair[order], start[order], end[order]
    start, end, pair = _merged(start, end, pair, touching_s)
    order = np.argsort(start, kind="stable")  # rows are in order of pairs: equal starts stay so
    pair = pair[order]
    return Contacts(nodes, start[order], end[order], pair // max(nodes, 1), pair % max(nodes, 1))


def _merged(start_s: Floats, end_s: Floats, pair: Ints, touching_s: float) -> tuple[Floats, Floats, Ints]:
    """Join rows of one pair that overlap or touch; rows come in order of pair and start."""
    changes = np.diff(pair) != 0
    if bool((changes | (start_s[1:] > end_s[:-1] + touching_s)).all()):
        return start_s, end_s, pair
    reach_s = _latest_end(end_s, changes)
    heads = np.flatnonzero(np.concatenate(([True], changes | (start_s[1:] > reach_s[:-1] + touching_s))))
    tails = np.append(heads[1:], len(start_s)) - 1
    return start_s[heads], reach_s[tails], pair[heads]


def _latest_end(end_s: Floats, changes: NDArray[np.bool_]) -> Floats:
    """The latest end so far within each pair's run of rows (by rank, so that no precision is lost)."""
    ascending = np.sort(end_s)
    offset = np.concatenate(([0], np.cumsum(changes))) * len(end_s)
    rank = np.searchsorted(ascending, end_s) + offset
    return np.asarray(ascending[np.maximum.accumulate(rank) - offset])


def _floats(values: Iterable[float]) -> Floats:
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)
