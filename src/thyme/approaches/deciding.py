"""Which approach to take for a crowd before anything was played: the decision map, and the rule that reads it.

`decision.csv` has what all six approaches did on the same posts in the crowds of the preset `six`, one line for each
place, workload and approach. A crowd is described by how many people a radio reaches, how many walk, how many switch
off and on, and how much they ask. Between places of the map, figures are interpolated linearly along each axis. There
are two workloads: one with questions about the past and deletes, and one without either, so that nobody is
judged by what is not asked for. `approach = "auto"` is this rule, and a study says whether it agrees with it. What may
be asked of an approach at all is a matter of its capabilities.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from math import log2, pi, prod
from typing import Literal

import msgspec

from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError

Priority = Literal["delivery", "delay", "battery", "traffic"]
"""What decides among dependable approaches: notifications that arrive, time until they do, energy, or bytes sent."""
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
            raise InputError("a crowd has a negative number; expected reach and questions from 0, shares from 0 to 1")
        if max(self.walking, self.switching) > 1.0:
            raise InputError(f"walking {self.walking:g}, switching {self.switching:g}: expected shares from 0 to 1")

    def coordinates(self) -> tuple[float, ...]:
        """How many people and how much they ask matters by factors."""
        return (log2(1.0 + self.reach), self.walking, self.switching, log2(1.0 + self.questions))


def reach_of(people: int, area_m2: float, range_m: float) -> float:
    """How many others a radio reaches, on average, where people are spread evenly; all of them in no area at all."""
    share = min(1.0, pi * range_m**2 / area_m2) if area_m2 else 1.0
    return round((people - 1) * share, 1)


Workload = Literal["all", "future"]
"""Questions about past and future, with deletes; or about the future only, without deletes."""


class Needs(msgspec.Struct, frozen=True):
    """What a crowd has, and what it wants of an approach besides."""

    server: bool = False
    """Somebody brings a server."""
    positions: bool = True
    """Devices know where they are."""
    past: bool = True
    """Who asks is told what there was before."""
    deletes: bool = True

    @property
    def workload(self) -> Workload:
        return "all" if self.past or self.deletes else "future"


USUAL_NEEDS = Needs()


class Line(msgspec.Struct, frozen=True):
    """What one approach did in one place of the map."""

    kind: CrowdKind
    workload: Workload
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

    places: tuple[CrowdKind, ...]
    """The crowd of the map that answers, or those between which figures are interpolated."""

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


MEASURED = Line.__struct_fields__[3:]


@cache
def table() -> tuple[Line, ...]:
    """The map as it comes with Thyme."""
    return tuple(read_table(files("thyme.approaches").joinpath(TABLE).read_text("utf-8")))


def read_table(text: str) -> Iterable[Line]:
    for row in csv.DictReader(text.splitlines()):
        numbers = {name: _number(row[name]) for name in CrowdKind.__struct_fields__}
        kind = msgspec.convert(numbers, CrowdKind)
        measured = {name: _number(row[name]) for name in MEASURED}
        named = {"kind": kind, "workload": row["workload"], "approach": row["approach"]}
        yield msgspec.convert(measured | named, Line)


def _number(text: str) -> float | None:
    return float(text) if text else None


def fits(approach: str, needs: Needs) -> bool:
    """Whether an approach can do what is wanted of it with what there is."""
    can = APPROACHES[approach].capabilities
    return (
        (needs.server or not can.needs_server)
        and (needs.positions or not can.needs_positions)
        and ((can.answers_past and not can.past_is_best_effort) or not needs.past)
        and (can.deletes or not needs.deletes)
    )


def decide(
    kind: CrowdKind, needs: Needs = USUAL_NEEDS, priority: Priority = "traffic", lines: Sequence[Line] | None = None
) -> Decision:
    """The rule of `approach = "auto"`."""
    measured = table() if lines is None else lines
    known = [line for line in measured if line.workload == needs.workload] or measured
    allowed = [line for line in known if fits(line.approach, needs)]
    if not allowed:
        raise InputError(f"no approach fits {needs}")
    corners = corners_of(kind, known)
    there = tuple(_interpolated(kind, corners, allowed))
    return Decision(tuple(corners), _best(there, priority), there)


def corners_of(kind: CrowdKind, lines: Sequence[Line]) -> dict[CrowdKind, float]:
    """The places of the map around a crowd, with the weight of each; beyond the map's ends, its ends. The weights are
    products of the distances along each axis."""
    places = {line.kind for line in lines}
    axes = [sorted({place.coordinates()[axis] for place in places}) for axis in range(len(kind.coordinates()))]
    sides = [_sides(values, at) for values, at in zip(axes, kind.coordinates(), strict=True)]
    weights = {tuple(at for at, _ in corner): prod(share for _, share in corner) for corner in product(*sides)}
    return {place: weights[place.coordinates()] for place in sorted(places) if weights.get(place.coordinates())}


def _sides(values: Sequence[float], at: float) -> list[tuple[float, float]]:
    """The neighbouring values of an axis on both sides of a number, with their weights."""
    if at <= values[0] or at >= values[-1]:
        return [(values[0] if at <= values[0] else values[-1], 1.0)]
    above = next(value for value in values if value >= at)
    below = values[values.index(above) - 1]
    share = (at - below) / (above - below)
    return [(below, 1.0 - share), (above, share)]


def _interpolated(kind: CrowdKind, corners: Mapping[CrowdKind, float], lines: Sequence[Line]) -> Iterator[Line]:
    """What each approach does in a crowd between these places; one that is missing in any of them is left out."""
    for approach in dict.fromkeys(line.approach for line in lines):
        around = {line.kind: line for line in lines if line.approach == approach and line.kind in corners}
        if len(around) < len(corners):
            continue
        if len(corners) == 1:
            yield from around.values()
            continue
        whole = sum(corners.values())
        values = {}
        for name in MEASURED:
            parts = [(getattr(line, name), corners[place] / whole) for place, line in around.items()]
            missing = any(value is None for value, _ in parts)
            values[name] = None if missing else sum(value * share for value, share in parts)
        first = next(iter(around.values()))
        yield msgspec.structs.replace(first, kind=kind, **values)


def _best(lines: Sequence[Line], priority: Priority) -> tuple[Line, ...]:
    dependable = [line for line in lines if line.dependable]
    if not dependable:
        return (max(lines, key=lambda line: line.success * line.recall),)
    match priority:
        case "battery":
            least_j = min(line.joules for line in dependable)
            left = [line for line in dependable if line.joules <= least_j * (1.0 + CLEARLY)]
        case "traffic":
            least = min(line.air_bytes for line in dependable)
            left = [line for line in dependable if line.air_bytes <= least * (1.0 + CLEARLY)]
        case "delay":
            soonest = min(_soon(line) for line in dependable)
            left = [line for line in dependable if _soon(line) <= max(soonest * (1.0 + CLEARLY), SOON_LEAST_S)]
        case "delivery":
            most = max(line.recall for line in dependable)
            left = [line for line in dependable if line.recall >= most - (1.0 - DEPENDABLE_RECALL) / 2.0]
    return tuple(sorted(left, key=lambda line: line.air_bytes))


def _soon(line: Line) -> float:
    return float("inf") if line.notified_s is None else line.notified_s
