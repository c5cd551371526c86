"""Which approach to take for a crowd before anything was played: the decision map, and the rule that reads it.

`decision.csv` has what all six approaches did on the same posts in the crowds of the preset `six`, one line for each
place and approach. A crowd is told by how many people a radio reaches, how many walk, how many switch off and on, and
how much they ask; the place that is nearest to it answers. `approach = "auto"` is this rule, and a study says whether
it agrees with it. What may be asked of an approach at all is a matter of its capabilities.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from math import log2, pi
from typing import Literal

import msgspec

from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError

Matters = Literal["arrival", "battery", "soon"]
TABLE = "decision.csv"
DEPENDABLE_SUCCESS = 0.95
DEPENDABLE_RECALL = 0.90
CLEARLY = 0.50
"""The map has few runs of each place, so only what sends (or takes) half as much again is clearly worse."""
SOON_LEAST_S = 0.1
"""Times that differ by less are nobody's concern."""


class CrowdKind(msgspec.Struct, frozen=True, order=True):
    """A crowd as the map tells crowds apart."""

    reach: float
    """How many others a radio reaches, on average."""
    walking: float = 0.0
    """Share of people who walk."""
    switching: float = 0.0
    """Share of people who switch off and on."""
    questions: float = 1.0
    """Subscriptions per person and hour."""

    def __post_init__(self) -> None:
        if min(msgspec.structs.astuple(self)) < 0.0:
            raise InputError(f"{self}: no number of a crowd is negative")
        if max(self.walking, self.switching) > 1.0:
            raise InputError(f"{self}: walking and switching are shares, from 0 to 1")

    def coordinates(self) -> tuple[float, ...]:
        """How many people and how much they ask matters by factors."""
        return (log2(1.0 + self.reach), self.walking, self.switching, log2(1.0 + self.questions))


def reach_of(people: int, area_m2: float, range_m: float) -> float:
    """How many others a radio reaches, on average, where people are spread evenly; all of them in no area at all."""
    share = min(1.0, pi * range_m**2 / area_m2) if area_m2 else 1.0
    return round((people - 1) * share, 1)


class Needs(msgspec.Struct, frozen=True):
    """What a crowd has, and what it wants of an approach besides."""

    server: bool = False
    """Somebody brings a server."""
    positions: bool = True
    """Devices know where they are."""
    past: bool = True
    """Who asks is told what there was before."""
    deletes: bool = True


USUAL_NEEDS = Needs()


class Line(msgspec.Struct, frozen=True):
    """What one approach did in one place of the map."""

    kind: CrowdKind
    approach: str
    success: float
    recall: float
    notified_s: float | None
    """Half of the notifications came within this."""
    late_s: float | None
    """19 of 20 did."""
    air_bytes: float
    """Sent by each person in a minute."""
    joules: float
    """Used by each radio in a minute."""
    gini: float

    @property
    def dependable(self) -> bool:
        return self.success >= DEPENDABLE_SUCCESS and self.recall >= DEPENDABLE_RECALL


class Decision(msgspec.Struct, frozen=True):
    """What the map has for a crowd: the best, and others that cannot be told apart from it."""

    best: tuple[Line, ...]
    lines: tuple[Line, ...]
    """All that were allowed, in the order of the table."""

    @property
    def approach(self) -> str:
        return self.best[0].approach

    @property
    def dependable(self) -> bool:
        return self.best[0].dependable

    @property
    def margin(self) -> float | None:
        """How much more the next dependable one sends; None without one."""
        sent = sorted(line.air_bytes for line in self.lines if line.dependable)
        return sent[1] / sent[0] - 1.0 if len(sent) > 1 and sent[0] > 0.0 else None


@cache
def table() -> tuple[Line, ...]:
    """The map as it comes with Thyme."""
    return tuple(read_table(files("thyme.approaches").joinpath(TABLE).read_text("utf-8")))


def read_table(text: str) -> Iterable[Line]:
    for row in csv.DictReader(text.splitlines()):
        numbers = {name: _number(row[name]) for name in CrowdKind.__struct_fields__}
        kind = msgspec.convert(numbers, CrowdKind)
        measured = {name: _number(row[name]) for name in Line.__struct_fields__[2:]}
        yield msgspec.convert(measured | {"kind": kind, "approach": row["approach"]}, Line)


def _number(text: str) -> float | None:
    return float(text) if text else None


def fits(approach: str, needs: Needs) -> bool:
    """Whether an approach can do what is wanted of it with what there is."""
    can = APPROACHES[approach].capabilities
    return (
        (needs.server or not can.needs_server)
        and (needs.positions or not can.needs_positions)
        and (can.answers_past or not needs.past)
        and (can.deletes or not needs.deletes)
    )


def decide(
    kind: CrowdKind, needs: Needs = USUAL_NEEDS, matters: Matters = "battery", lines: Sequence[Line] | None = None
) -> Decision:
    """The rule of `approach = "auto"`."""
    known = table() if lines is None else lines
    allowed = [line for line in known if fits(line.approach, needs)]
    if not allowed:
        raise InputError(f"no approach fits {needs}")
    place = nearest(kind, known)
    there = tuple(line for line in allowed if line.kind == place)
    return Decision(_best(there, matters), there)


def nearest(kind: CrowdKind, lines: Sequence[Line]) -> CrowdKind:
    """The place of the map that is most like a crowd, each axis measured by its own length."""
    places = sorted({line.kind for line in lines})
    axes = list(zip(*(place.coordinates() for place in places), strict=True))
    lengths = [max(axis) - min(axis) or 1.0 for axis in axes]

    def distance(place: CrowdKind) -> float:
        pairs = zip(place.coordinates(), kind.coordinates(), lengths, strict=True)
        return sum(((there - here) / length) ** 2 for there, here, length in pairs)

    return min(places, key=lambda place: (distance(place), place))


def _best(lines: Sequence[Line], matters: Matters) -> tuple[Line, ...]:
    dependable = [line for line in lines if line.dependable]
    if not dependable:
        return (max(lines, key=lambda line: line.success * line.recall),)
    match matters:
        case "battery":
            least = min(line.air_bytes for line in dependable)
            left = [line for line in dependable if line.air_bytes <= least * (1.0 + CLEARLY)]
        case "soon":
            soonest = min(_soon(line) for line in dependable)
            left = [line for line in dependable if _soon(line) <= max(soonest * (1.0 + CLEARLY), SOON_LEAST_S)]
        case "arrival":
            most = max(line.recall for line in dependable)
            left = [line for line in dependable if line.recall >= most - (1.0 - DEPENDABLE_RECALL) / 2.0]
    return tuple(sorted(left, key=lambda line: line.air_bytes))


def _soon(line: Line) -> float:
    return float("inf") if line.notified_s is None else line.notified_s
