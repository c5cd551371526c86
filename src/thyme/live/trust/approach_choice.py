"""The approach of a namespace: the default, or what the decision map recommends for the expected crowd
(`approaches.deciding`, `thyme study map`).

It is decided once, by the creator of the namespace, and is part of its invitations: all members run the same approach.
Without an area the positions of devices are unknown, so approaches with cells are excluded, and all nodes count as in
range.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from thyme.approaches.deciding import Decision, Needs, decide
from thyme.approaches.decision_table import CrowdKind, density_of
from thyme.approaches.entry import with_defaults
from thyme.approaches.registry import APPROACHES
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError
from thyme.routing.cells.grid import cell_side_m

AUTO = "auto"
DEFAULT_APPROACH = "dcs"
"""Of live nodes: what a device shared is still there when it leaves. Without positions all nodes share one cell."""
APPROACH_BY_HAND = "ls"
"""Of nodes with a number given by hand, for tests and emulations, whose topologies need no cells."""
MAX_PEOPLE = 1_000_000


class ExpectedCrowd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The crowd of a namespace, as far as it is known before it comes."""

    people: int
    width_m: float = 0.0
    height_m: float = 0.0
    """Of the area; 0: not known."""
    range_m: float = 113.0
    """How far a radio reaches, from which the size of cells follows; the papers'."""
    walking: float = 0.0
    """Share of people who walk, …"""
    switching: float = 0.0
    """… and who switch off and on."""

    def __post_init__(self) -> None:
        if not isinstance(self.people, int) or not 1 <= self.people <= MAX_PEOPLE:
            raise InputError(f"{self.people} people are expected; give a number from 1 to {MAX_PEOPLE:,}")
        sides = (self.width_m, self.height_m)
        if not all(isfinite(side) and side >= 0.0 for side in sides) or (min(sides) == 0.0) != (max(sides) == 0.0):
            raise InputError(f"an area of {self.width_m:g} x {self.height_m:g} m; give two positive numbers, or none")
        if not (isfinite(self.range_m) and self.range_m > 0.0):
            raise InputError(f"a range of {self.range_m:g} m; give a positive number")
        for name in ("walking", "switching"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} is {getattr(self, name):g}; give the share of people, from 0 to 1")

    @property
    def has_area(self) -> bool:
        return self.width_m > 0.0

    def kind(self) -> CrowdKind:
        area_m2 = self.width_m * self.height_m if self.has_area else 0.0
        density = density_of(self.people, area_m2, self.range_m)
        return CrowdKind(self.people, density, self.walking, switching=self.switching)


def refuse_auto(approach: object) -> None:
    """A node cannot decide by itself: others might decide otherwise."""
    if approach == AUTO:
        raise InputError(
            "approach auto is resolved when a namespace is created (thyme namespace new NAME --approach auto --people "
            "300); a node uses its namespace's approach: leave auto out, or name an approach"
        )


def choose(expected: ExpectedCrowd) -> tuple[Decision, dict[str, Any]]:
    """The decision, and the settings of its approach: the area and the size of cells, for one that has cells."""
    decision = decide(expected.kind(), Needs(positions=expected.has_area))
    if not APPROACHES[decision.approach].capabilities.needs_positions:
        return decision, {}
    return decision, _grid(expected.width_m, expected.height_m, expected.range_m)


def settings_of(namespace: Namespace, approach: str) -> dict[str, Any]:
    """What an invitation says about an approach: its settings, and the grid that follows from the area and its radio.
    Another approach than the namespace's gets the grid alone."""
    settings = namespace.settings if approach == namespace.approach else {}
    area = namespace.area
    if area is None or approach not in APPROACHES or not APPROACHES[approach].capabilities.needs_positions:
        return settings
    return with_defaults(settings, _grid(area.width_m, area.height_m, area.range_m))


def _grid(width_m: float, height_m: float, range_m: float) -> dict[str, Any]:
    return {"grid": {"width_m": width_m, "height_m": height_m, "cell_m": round(cell_side_m(range_m), 1)}}


def resolved(
    approach: str, settings: dict[str, Any] | None, expected: ExpectedCrowd | None
) -> tuple[str, dict[str, Any], Decision | None]:
    """The approach and the settings of a new namespace, and how they were decided if they were."""
    if approach != AUTO:
        if expected is not None:
            raise InputError(
                f"the expected crowd is used only with approach auto, not with {approach!r}; leave one out"
            )
        return approach, settings or {}, None
    if settings:
        raise InputError("approach auto takes no settings; name the approach that they belong to")
    if expected is None:
        raise InputError("approach auto: describe the expected crowd, at least the number of people")
    decision, found = choose(expected)
    return decision.approach, found, decision
