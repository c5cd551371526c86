"""A scenario's crowd as the decision map tells crowds apart (`approaches.deciding`), and `approach = "auto"`."""

from __future__ import annotations

from thyme.approaches.deciding import CrowdKind, Needs, decide, reach_of
from thyme.model.errors import InputError
from thyme.sim.radios.disc.model import DiscModel
from thyme.sim.scenario import Scenario
from thyme.world.churn import Alternate, Crash, Join, Leave, NoChurn
from thyme.world.mobility.models import Community, Places, Static, Waypoint

WIFI_RANGES_M = {"thyme": 113.0, "def": 51.0, "p27": 100.0}
"""How far the profiles of the 802.11g radio reach, about."""


def decided(scenario: Scenario) -> str:
    """The approach that the map has for a scenario whose approach was left open: without a server, past and deletes
    included."""
    kind = crowd_of(scenario)
    if kind is None:
        raise InputError('approach = "auto": how people of this movement stand and walk is not known; name an approach')
    return decide(kind, Needs(positions=scenario.movement.knows_places)).approach


def crowd_of(scenario: Scenario, questions: float = 1.0) -> CrowdKind | None:
    """None where it is not known how people stand or move; `questions` are subscriptions per person and hour."""
    walking = _walking(scenario)
    if walking is None:
        return None
    return CrowdKind(_reach(scenario), walking, _switching(scenario), questions)


def _reach(scenario: Scenario) -> float:
    radio, area = scenario.radio, scenario.area()
    range_m = radio.range_m if isinstance(radio, DiscModel) else WIFI_RANGES_M[radio.profile]
    return reach_of(scenario.nodes, area.width_m * area.height_m, range_m)


def _walking(scenario: Scenario) -> float | None:
    match scenario.movement:
        case Static() | Places():
            return 0.0
        case Waypoint():
            return scenario.movement.mobile_fraction
        case Community():
            return 1.0
        case _:
            return None


def _switching(scenario: Scenario) -> float:
    match scenario.churn:
        case NoChurn():
            return 0.0
        case Alternate() | Leave() | Crash() | Join():
            named = len(scenario.churn.nodes) / scenario.nodes
            return min(1.0, named or scenario.churn.fraction)
        case _:
            return 0.0
