"""What the decision map has for a crowd that was or was not played.

At each number of people the map has its usual crowd, and crowds that differ from it in one respect, in some places in
two. A crowd within a box of played ones is interpolated linearly in it (people and density by their logarithm). Another
one is combined: what the usual crowd does, times the effect of each respect in which this one differs, as if they did
not influence each other. Ranges are interpolated with the means; a combined figure is as uncertain as the least certain
one that it was made of. Numbers of people at which one of these crowds was not played are passed over, and beyond the
ends of the map its ends answer. An approach that was not played in a crowd that counts is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import log2, prod
from typing import Any, Literal

import msgspec

from thyme.approaches.decision_table import MEASURED, CrowdKind, DecisionRow, Measured, Workload
from thyme.model.errors import InputError

SHARES = ("success", "recall", "gini")
"""At most 1, whatever is combined."""
How = Literal["played", "interpolated", "combined"]
"""Whether a crowd of the map answers, or the crowds around it, or the effects of what is different about it."""


class Estimate(msgspec.Struct, frozen=True):
    """What the approaches do in a crowd, and from which crowds of the map that is known."""

    how: How
    places: tuple[CrowdKind, ...]
    lines: tuple[DecisionRow, ...]


Found = Mapping[str, DecisionRow]
"""What was played in a crowd, by approach."""
Axis = Literal["density", "walking", "leaving", "switching"]
_AXES: tuple[Axis, ...] = ("density", "walking", "leaving", "switching")


class _Map:
    """The played crowds, by what distinguishes them."""

    def __init__(self, lines: Iterable[DecisionRow]) -> None:
        self._found: dict[tuple[CrowdKind, Workload], dict[str, DecisionRow]] = {}
        for line in lines:
            self._found.setdefault((line.kind, line.workload), {})[line.approach] = line
        kinds = [kind for kind, _ in self._found]
        self.people = sorted({kind.people for kind in kinds})
        self._values = {axis: sorted({getattr(kind, axis) for kind in kinds}) for axis in _AXES}

    def at(self, kind: CrowdKind, workload: Workload) -> Found:
        return self._found.get((kind, workload), {})

    def sides(self, kind: CrowdKind, axes: Sequence[Axis]) -> dict[CrowdKind, float]:
        """The corners of the box of the map's values around a crowd, with the weight of each."""
        ends = [[(axis, *side) for side in _sides(self._values[axis], getattr(kind, axis), axis)] for axis in axes]
        corners = {}
        for corner in product(*ends):
            changed: dict[str, Any] = {axis: value for axis, value, _ in corner}
            corners[msgspec.structs.replace(kind, **changed)] = prod(share for _, _, share in corner)
        return corners


def _sides(values: Sequence[float], at: float, axis: str) -> list[tuple[float, float]]:
    """The neighbouring values of an axis on both sides of a number, with their weights; beyond its ends, its end."""
    if at <= values[0] or at >= values[-1] or at in values:
        return [(min(max(at, values[0]), values[-1]), 1.0)]
    above = next(value for value in values if value > at)
    below = values[values.index(above) - 1]
    scale = log2 if axis in ("people", "density") else float
    share = (scale(at) - scale(below)) / (scale(above) - scale(below))
    return [(below, 1.0 - share), (above, share)]


def estimate_of(kind: CrowdKind, workload: Workload, lines: Iterable[DecisionRow]) -> Estimate:
    """What the map has for a crowd."""
    known = _Map(lines)
    at_levels = {
        people: found
        for people in known.people
        if (found := _at_level(known, msgspec.structs.replace(kind, people=people), workload)) is not None
    }
    if not at_levels:
        raise InputError(f"the decision map has no crowds comparable with {kind}")
    levels = _sides(sorted(at_levels), kind.people, "people")
    used = [at_levels[int(people)] for people, _ in levels]
    approaches = [line.approach for line in used[0].lines]
    by_approach = [{line.approach: line for line in one.lines} for one in used]
    mixed = tuple(
        _weighed([(found[approach], share) for found, (_, share) in zip(by_approach, levels, strict=True)], kind)
        for approach in approaches
        if all(approach in found for found in by_approach)
    )
    places = tuple(dict.fromkeys(place for one in used for place in one.places))
    if not mixed:
        raise InputError(f"the decision map has no approach that was simulated in the crowds on both sides of {kind}")
    how: How = "played" if places == (kind,) else "interpolated"
    if any(one.how == "combined" for one in used):
        how = "combined"
    return Estimate(how, places, mixed)


def _at_level(known: _Map, kind: CrowdKind, workload: Workload) -> Estimate | None:
    """The same for so many people as the map has; None if a crowd that this needs was not played."""
    corners = known.sides(kind, _AXES)
    found = [(known.at(corner, workload), share) for corner, share in corners.items()]
    if all(there for there, _ in found):
        lines = tuple(_weighed([(there[name], share) for there, share in found], kind) for name in _common(found))
        return Estimate("played" if len(found) == 1 else "interpolated", tuple(corners), lines) if lines else None
    return _combined(known, kind, workload)


def _combined(known: _Map, kind: CrowdKind, workload: Workload) -> Estimate | None:
    """The usual crowd, times the effect of each respect in which this one differs."""
    usual = CrowdKind(kind.people)
    base = known.at(usual, "all")
    respects = [name for name in (*_AXES, "contents") if getattr(kind, name) != getattr(usual, name)]
    effects: list[tuple[list[tuple[Found, float]], tuple[CrowdKind, ...]]] = []
    for name in respects:
        changed: dict[str, Any] = {name: getattr(kind, name)}
        one = msgspec.structs.replace(usual, **changed)
        corners = {one: 1.0} if name == "contents" else known.sides(one, [axis for axis in _AXES if axis == name])
        effects.append(([(known.at(corner, "all"), share) for corner, share in corners.items()], tuple(corners)))
    if workload != "all":
        effects.append(([(known.at(usual, workload), 1.0)], (usual,)))
    if not base or not all(there for found, _ in effects for there, _ in found):
        return None
    lines = []
    for name in _common([(base, 1.0), *(one for found, _ in effects for one in found)]):
        parts = [_weighed([(there[name], share) for there, share in found], kind) for found, _ in effects]
        lines.append(_times(base[name], parts, kind, workload))
    places = dict.fromkeys([usual, *(place for _, corners in effects for place in corners)])
    return Estimate("combined", tuple(places), tuple(lines)) if lines else None


def _common(found: Sequence[tuple[Found, float]]) -> list[str]:
    return [name for name in found[0][0] if all(name in there for there, _ in found)]


def _weighed(parts: Sequence[tuple[DecisionRow, float]], kind: CrowdKind) -> DecisionRow:
    """The mean of lines of one approach."""
    if len(parts) == 1:
        return msgspec.structs.replace(parts[0][0], kind=kind)
    values = {}
    for name in MEASURED:
        measured = [(getattr(line, name), share) for line, share in parts]
        ends = ("mean", "low", "high")
        known = all(one is not None for one, _ in measured)
        values[name] = (
            Measured(*(sum(getattr(one, end) * share for one, share in measured) for end in ends)) if known else None
        )
    return msgspec.structs.replace(parts[0][0], kind=kind, **values)


def _times(base: DecisionRow, parts: Sequence[DecisionRow], kind: CrowdKind, workload: Workload) -> DecisionRow:
    values = {}
    for name in MEASURED:
        one, others = getattr(base, name), [getattr(part, name) for part in parts]
        values[name] = None if one is None or None in others else _product(one, others, name in SHARES)
    return msgspec.structs.replace(base, kind=kind, workload=workload, **values)


def _product(base: Measured, others: Sequence[Measured], is_share: bool) -> Measured:
    """Effects multiplied. The range is as wide, relative to the mean, as the widest of those it is made of."""
    if base.mean == 0.0:
        return base
    mean = base.mean * prod(other.mean / base.mean for other in others)
    spread = [one for one in (base, *others) if one.mean > 0.0]
    low = min((one.low / one.mean for one in spread), default=1.0)
    high = max((one.high / one.mean for one in spread), default=1.0)
    product = (mean, mean * low, mean * high)
    return Measured(*(min(1.0, end) for end in product)) if is_share else Measured(*product)
