"""Churn: who joins, leaves, comes back or crashes, and when (Thyme FGCS §9.3.2).

A churn is a schedule of changes. A node whose first change switches it on is off until then; every other node
is on from the start. `keeps_store` says whether what the node had stored survives its absence: a node that
leaves for good or crashes loses it, a node that was merely switched off finds it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, Self

import msgspec

from thyme.model.errors import InputError
from thyme.model.settings import check_bounds
from thyme.model.settings.bounds import NotNegative, Positive, Probability, Share
from thyme.world.streams import chosen, stream


class Change(msgspec.Struct, frozen=True, order=True):
    """At `at_s`, `node` is switched on or off."""

    at_s: float
    node: int
    on: bool
    keeps_store: bool = False


class Churn(msgspec.Struct, frozen=True):
    """Changes in order of time."""

    changes: tuple[Change, ...] = ()

    def __post_init__(self) -> None:
        if any(later < sooner for sooner, later in pairwise(self.changes)):
            raise InputError("churn: changes are not in order of time; build it with `churn_of`")

    def starts_off(self) -> tuple[int, ...]:
        """The nodes that are off at the start: those whose first change switches them on."""
        first: dict[int, bool] = {}
        for change in self.changes:
            first.setdefault(change.node, change.on)
        return tuple(sorted(node for node, on in first.items() if on))


class Population(msgspec.Struct, frozen=True):
    """The nodes that churn applies to: those of users, not servers, from the time when all have joined until the
    end."""

    nodes: int
    joined_s: float
    until_s: float
    seed: int
    cells: Callable[[float], Sequence[int]]
    """The cell of each node at an instant."""


class NoChurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="model", tag="none"):
    """Everybody stays from the start to the end."""

    def concerned(self) -> tuple[int, ...]:
        """The nodes that are named."""
        return ()

    def of(self, nodes: tuple[int, ...]) -> NoChurn:
        """The same, but of these nodes."""
        return self

    def make(self, present: Population) -> Churn:
        return Churn()


class _Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="model"):
    """Churn of some nodes: the given ones, or a random share."""

    purpose: ClassVar[str] = "leaving nodes"
    """Name of the random stream that selects the nodes."""
    fraction: Share = 0.0
    """The share of nodes concerned, drawn at random."""
    nodes: tuple[int, ...] = ()
    """The nodes concerned; a random share of `fraction` if none are named."""
    keep_cells: bool = False
    """Whether the drawn nodes leave at least one in each cell of the venue."""
    among: tuple[int, ...] = ()
    """If given, the share of all nodes is drawn from these only, such as publishers."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.nodes and self.fraction:
            raise InputError("give either nodes or a fraction of them, not both")

    def concerned(self) -> tuple[int, ...]:
        return self.nodes

    def of(self, nodes: tuple[int, ...]) -> Self:
        """Drawn from these nodes: all of them, or the given share."""
        return (
            msgspec.structs.replace(self, among=nodes) if self.fraction else msgspec.structs.replace(self, nodes=nodes)
        )

    def chosen(self, present: Population, at_s: float) -> tuple[int, ...]:
        if self.nodes:
            return self.nodes
        if not (self.keep_cells or self.among):
            return chosen(present.nodes, self.fraction, present.seed, self.purpose)
        cells = present.cells(at_s) if self.keep_cells else range(-present.nodes, 0)
        return chosen_sparing(cells, self.among, self.fraction, present.seed, self.purpose)


class Leave(_Drawn, frozen=True, tag="leave"):
    """A share of nodes leaves for good, each at an instant of its own (Thyme FGCS §9.3.2)."""

    from_s: NotNegative = 200.0
    """The first may leave at this instant …"""
    to_s: NotNegative = 300.0
    """… and the last at this one."""

    def make(self, present: Population) -> Churn:
        return _switched_once(self.chosen(present, self.from_s), self.from_s, self.to_s, present.seed, on=False)


class Crash(_Drawn, frozen=True, tag="crash"):
    """A share of nodes leaves for good, all in one instant."""

    purpose: ClassVar[str] = "crashing"
    from_s: NotNegative = 200.0
    """The instant."""

    def make(self, present: Population) -> Churn:
        return churn_of([Change(self.from_s, node, False) for node in self.chosen(present, self.from_s)])


class Alternate(_Drawn, frozen=True, tag="alternate"):
    """A share of nodes switches off and on from when all have joined: after each period the state changes with
    `change_probability`, else it lasts on (Thyme FGCS §9.3.2)."""

    purpose: ClassVar[str] = "alternating"
    on_s: Positive = 120.0
    """Length of a period on."""
    off_s: Positive = 60.0
    """Length of a period off."""
    change_probability: Probability = 0.75
    """Probability that the state changes after a period."""
    keeps_store: bool = True
    """Whether a node that returns still has its store."""
    spread: bool = True
    """Each node's first on period ends after U(0, `on_s`): nodes do not all fail in one instant."""

    def make(self, present: Population) -> Churn:
        nodes = self.chosen(present, present.joined_s)
        return churn_of([change for node in nodes for change in self._changes(node, present)])

    def _changes(self, node: int, present: Population) -> Iterator[Change]:
        draws = stream(present.seed, "on and off", node)
        at_s, on = present.joined_s + self.on_s * (float(draws.random()) if self.spread else 1.0), True
        while at_s < present.until_s:
            if draws.random() < self.change_probability:
                on = not on
                yield Change(at_s, node, on, self.keeps_store)
            at_s += self.on_s if on else self.off_s


class Join(_Drawn, frozen=True, tag="join"):
    """A share of the nodes is off at first; each arrives at its own random time."""

    from_s: NotNegative = 200.0
    """Earliest arrival …"""
    to_s: NotNegative = 300.0
    """… and the last at this one."""

    def make(self, present: Population) -> Churn:
        return _switched_once(self.chosen(present, self.from_s), self.from_s, self.to_s, present.seed, on=True)


class ListedChurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="model", tag="listed"):
    """Exactly these nodes are switched, each at its instant."""

    changes: tuple[Change, ...] = ()
    """In any order: `at_s`, `node`, `on`, and whether the store survives (`keeps_store`; default: it does not)."""

    def concerned(self) -> tuple[int, ...]:
        return tuple(sorted({change.node for change in self.changes}))

    def of(self, nodes: tuple[int, ...]) -> ListedChurn:
        return ListedChurn(tuple(change for change in self.changes if change.node in nodes))

    def make(self, present: Population) -> Churn:
        return churn_of(self.changes)


ChurnModel = NoChurn | Leave | Crash | Alternate | Join | ListedChurn
"""The only list of churn models."""


def churn_of(changes: Sequence[Change]) -> Churn:
    """A churn from changes in any order."""
    return Churn(tuple(sorted(changes)))


def _switched_once(nodes: Sequence[int], from_s: float, to_s: float, seed: int, *, on: bool) -> Churn:
    """Each of the nodes changes once, at a uniform instant."""
    if not 0.0 <= from_s <= to_s:
        raise InputError(f"churn between {from_s:g} s and {to_s:g} s: the interval must not be negative or reversed")
    draws = [stream(seed, "joining" if on else "leaving", node) for node in nodes]
    return churn_of(
        [Change(float(draw.uniform(from_s, to_s)), node, on) for node, draw in zip(nodes, draws, strict=True)]
    )


def chosen_sparing(
    cells: Sequence[int], among: Sequence[int], fraction: float, seed: int, purpose: str
) -> tuple[int, ...]:
    """A random `fraction` of all nodes, drawn from `among` if given, but never the last node of a cell. `cells` has the
    cell of each node, or a negative number if it does not matter. Fewer are chosen if cells would become empty."""
    if not 0.0 <= fraction <= 1.0:
        raise InputError(f"fraction {fraction:g} for {purpose} is not between 0 and 1")
    left = Counter(cells)
    picked: list[int] = []
    for node in stream(seed, purpose).permutation(len(cells)).tolist():
        if len(picked) >= round(fraction * len(cells)):
            break
        if (not among or node in among) and (cells[node] < 0 or left[cells[node]] > 1):
            left[cells[node]] -= 1
            picked.append(node)
    return tuple(sorted(picked))
