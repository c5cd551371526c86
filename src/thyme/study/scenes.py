"""The scenes of a study: the crowd that was asked about, and neighbours of it in which one assumption is another.

An answer that holds only while everybody stands still is no answer for a festival. So a study plays, beside what was
asked, a few scenes that differ from it in one thing each, with few runs; the report says in which of them its answer
tips over. A study names its scenes; where it names none, these are `neighbours` of the scenario it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from thyme.model.errors import InputError
from thyme.pipeline.traces.behaviour import Rates
from thyme.sim.radios.disc.model import DiscModel
from thyme.sim.scenario import Scenario
from thyme.world.churn import NoChurn
from thyme.world.mobility.models import Static

ASKED = "as asked"
"""How the study's own scene is called beside the others."""
MAX_SCENES = 20
Leaving = Literal["drawn", "publishers"]

WALKING = {"model": "waypoint", "min_speed_mps": 0.5, "max_speed_mps": 1.5}
LOST = 0.1
_USUAL = Rates()
TWICE_THE_QUESTIONS = {
    "subscriptions_first_per_hour": 2.0 * _USUAL.subscriptions_first_per_hour,
    "subscriptions_rest_per_hour": 2.0 * _USUAL.subscriptions_rest_per_hour,
}


class Scene(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is different in one scene; everything else is as the study has it, at the first value of each grid key."""

    name: str
    """Reads on after "if": everybody walks."""
    scenario: dict[str, Any] = {}
    """Keys of the scenario; a section such as `movement` is given as a whole."""
    trace: dict[str, Any] = {}
    """Keys of the trace, a section such as `rates` as a whole."""
    topologies: int = 1
    """On how many placements it is played."""
    leaving: Leaving | None = None
    """Who leaves, if not as in the study."""

    def __post_init__(self) -> None:
        if not self.name.strip() or self.name == ASKED:
            raise InputError(f"scenes: name is {self.name!r}; expected a few words other than {ASKED!r}")
        if self.topologies < 1:
            raise InputError(f"scenes, {self.name!r}: topologies is {self.topologies}; expected at least 1")


def check_scenes(scenes: tuple[Scene, ...]) -> None:
    if len(scenes) > MAX_SCENES:
        raise InputError(f"scenes: there are {len(scenes)}; expected at most {MAX_SCENES}")
    names = [scene.name for scene in scenes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"scenes: two of them are called {twice!r}; give each a name of its own")


def neighbours(scenario: Scenario, has_posts: bool) -> tuple[Scene, ...]:
    """The scenes beside a scenario whose study names none; a trace that is a file fits no other number of people."""
    return tuple(_neighbours(scenario, has_posts))


def _neighbours(scenario: Scenario, has_posts: bool) -> Iterator[Scene]:
    if isinstance(scenario.movement, Static):
        yield Scene("everybody walks", {"movement": WALKING})
    elif scenario.movement.knows_places and has_posts:
        yield Scene("everybody stands", {"movement": {"model": "static"}})
    if isinstance(scenario.churn, NoChurn):
        yield Scene("a tenth leaves", {"churn": {"model": "leave", "fraction": 0.1}})
        yield Scene("a fifth switches off and on", {"churn": {"model": "alternate", "fraction": 0.2}})
    if scenario.movement.knows_places and has_posts:
        venue = scenario.area()
        sides = {"width_m": venue.width_m, "height_m": venue.height_m, "cell_m": venue.cell_m}
        # Where posts have too few authors for so many, they are dealt out (`workload`).
        yield Scene("twice as many people come", {"nodes": 2 * scenario.nodes, "venue": sides})
        yield Scene("people ask twice as much", trace={"rates": TWICE_THE_QUESTIONS})
    yield _lossy(scenario)


def _lossy(scenario: Scenario) -> Scene:
    """Frames that a radio misses are sent again by the link. Where it has no such setting, the link itself fails."""
    if isinstance(scenario.radio, DiscModel):
        radio = msgspec.structs.replace(scenario.radio, loss=max(scenario.radio.loss, LOST))
        return Scene("a tenth of frames is lost", {"radio": msgspec.to_builtins(radio)})
    return Scene("a tenth of messages is lost", {"faults": [{"kind": "loss", "probability": LOST}]})
