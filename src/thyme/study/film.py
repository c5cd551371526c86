"""A moving picture for the report: the approach that the answer names, at work in the crowd that was asked about.

Runs of a study keep what happened and not what was sent, so the beginning of one is played again, with its frames. Of
it the busiest moment is shown, as a replay that needs nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.model.operations import Operation
from thyme.pipeline.runs.run import RunSpec
from thyme.sim.output import summarise
from thyme.sim.radios.disc.model import DiscModel
from thyme.sim.run import Run
from thyme.sim.scenario import Scenario
from thyme.study.replay import NOTIFIED, Deed, Replay, control_names, deeds_of
from thyme.study.replay_page import page_of

PLAYED_S = 180.0
"""So much is played from when all have joined on, or from the first operation if that is later."""
SHOWN_S, STEP_S = 30.0, 0.5
MAX_PEOPLE = 120
"""Larger crowds take long to play again, and nobody sees anything in them."""
WIFI_RANGE_M = 113.0


class Film(msgspec.Struct, frozen=True):
    title: str
    caption: str
    page: str


def film_of(title: str, spec: RunSpec) -> Film | None:
    """The beginning of a run of an approach; None where there is nothing to see."""
    scenario, operations = spec.scenario, spec.trace.unpack()
    if scenario.nodes > MAX_PEOPLE or not scenario.movement.knows_places or not operations:
        return None
    began_s = max(scenario.time.join_to_s, operations[0].at_s)
    until_s = min(began_s + PLAYED_S, scenario.time.until_s)
    played = _play(scenario, [one for one in operations if one.at_s < until_s], until_s)
    if not played.deeds:
        return None
    from_s = busiest(played.deeds, began_s, until_s)
    range_m = scenario.radio.range_m if isinstance(scenario.radio, DiscModel) else WIFI_RANGE_M
    shots = played.shots(from_s, min(from_s + SHOWN_S, until_s), STEP_S, range_m)
    return Film(
        f"{title} at work",
        f"{shots[-1].at_s - shots[0].at_s:.0f} seconds of the first run, from above. Lines are messages from device to "
        "device, arcs lead from whoever published something to whoever is told of it. Click a person to look at them.",
        page_of(played, shots, scenario.area().cell_m if title.startswith("Thyme-DCS") else 0.0, range_m, "film"),
    )


def _play(scenario: Scenario, operations: Sequence[Operation], until_s: float) -> Replay:
    run = Run(scenario, operations)
    run.world.keep_frames()
    result = run.go(until_s=until_s)
    control = control_names()
    frames = run.world.frames()
    said = [frame for frame in frames.to_pylist() if frame["message"] not in control] if frames is not None else []
    return Replay(result.movement, summarise(result), said, deeds_of(result.events))


def busiest(deeds: Sequence[Deed], from_s: float, until_s: float) -> float:
    """When to begin, so that most people are seen to be told of something, or else to do something."""
    seen = [deed for deed in deeds if deed.at_s >= from_s]
    times = [deed.at_s for deed in seen if deed.what == NOTIFIED] or [deed.at_s for deed in seen]
    starts = [from_s] + [at_s for at_s in times if at_s + SHOWN_S <= until_s]
    return max(starts, key=lambda start_s: sum(start_s <= at_s < start_s + SHOWN_S for at_s in times))
