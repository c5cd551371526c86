"""The variations of a study: the same crowd with one assumption changed.

An answer that holds only while nobody moves is no answer for a festival. So a study also runs a few variations of its
crowd, each with few runs, and the report says in which of them the answer changes. A study that names no variations
gets the `usual_variations` of its scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from thyme.model.errors import InputError
from thyme.pipeline.traces.behaviour import Rates
from thyme.pipeline.traces.sizes import ObjectSizes
from thyme.sim.radios.models import DiscModel
from thyme.sim.scenario import Scenario
from thyme.world.churn import NoChurn
from thyme.world.movement_models import Static

ASKED = "as asked"
"""Name of the study's own crowd in tables of variations."""
MAX_VARIATIONS = 20
Leaving = Literal["drawn", "publishers"]

WALKING = {"model": "waypoint", "min_speed_mps": 0.5, "max_speed_mps": 1.5}
LOST = 0.1
_USUAL = Rates()
TWICE_THE_QUESTIONS = {
    "subscriptions_first_per_hour": 2.0 * _USUAL.subscriptions_first_per_hour,
    "subscriptions_rest_per_hour": 2.0 * _USUAL.subscriptions_rest_per_hour,
}


class Variation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one variation changes; everything else is as in the study, at the first value of each grid key."""

    name: str
    """Reads on after "if": everybody walks."""
    scenario: dict[str, Any] = {}
    """Keys of the scenario; a section such as `movement` is given as a whole."""
    trace: dict[str, Any] = {}
    """Keys of the trace, a section such as `rates` as a whole."""
    topologies: int = 1
    """Random placements that it runs on."""
    leaving: Leaving | None = None
    """Which nodes leave, if not as in the study."""

    def __post_init__(self) -> None:
        if not self.name.strip() or self.name == ASKED:
            raise InputError(f"variations: name is {self.name!r}; expected a few words other than {ASKED!r}")
        if self.topologies < 1:
            raise InputError(f"variations, {self.name!r}: topologies is {self.topologies}; expected at least 1")


PHOTOS = Variation("every post is a photo of 100 kB", trace={"sizes": {"kind": "photos", "size_bytes": 100_000}})
TEXTS = Variation("only texts are shared", trace={"sizes": {"kind": "text"}})


def check_variations(variations: tuple[Variation, ...]) -> None:
    if len(variations) > MAX_VARIATIONS:
        raise InputError(f"variations: there are {len(variations)}; expected at most {MAX_VARIATIONS}")
    names = [variation.name for variation in variations]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"variations: two of them are called {twice!r}; give each its own name")


def usual_variations(scenario: Scenario, sizes: ObjectSizes | None) -> tuple[Variation, ...]:
    """The variations of a study that names none. `sizes` are what is shared, None where the trace is a file, which
    cannot be played by other numbers of people."""
    return tuple(_usual(scenario, sizes))


def _usual(scenario: Scenario, sizes: ObjectSizes | None) -> Iterator[Variation]:
    has_posts = sizes is not None
    if isinstance(scenario.movement, Static):
        yield Variation("everybody walks", {"movement": WALKING})
    elif scenario.movement.knows_places and has_posts:
        yield Variation("everybody stands", {"movement": {"model": "static"}})
    if isinstance(scenario.churn, NoChurn):
        yield Variation("a tenth leaves", {"churn": {"model": "leave", "fraction": 0.1}})
        yield Variation("a fifth switches off and on", {"churn": {"model": "alternate", "fraction": 0.2}})
    if scenario.movement.knows_places and has_posts:
        venue = scenario.area()
        sides = {"width_m": venue.width_m, "height_m": venue.height_m, "cell_m": venue.cell_m}
        # Where posts have too few authors for so many, they are dealt out (`workload`).
        yield Variation("twice as many people come", {"nodes": 2 * scenario.nodes, "venue": sides})
        yield Variation("people ask twice as much", trace={"rates": TWICE_THE_QUESTIONS})
    yield _lossy(scenario)
    if sizes is not None:
        yield TEXTS if sizes.kind == "photos" and sizes.share == 1.0 else PHOTOS


def _lossy(scenario: Scenario) -> Variation:
    """Frames that a radio misses are sent again by the link. Where it has no such setting, the link itself fails."""
    if isinstance(scenario.radio, DiscModel):
        radio = msgspec.structs.replace(scenario.radio, loss=max(scenario.radio.loss, LOST))
        return Variation("a tenth of frames is lost", {"radio": msgspec.to_builtins(radio)})
    return Variation("a tenth of messages is lost", {"faults": [{"kind": "loss", "probability": LOST}]})
