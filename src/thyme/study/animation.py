"""An animation for the report: the recommended approach at work in the study's crowd.

Runs of a study keep events but not frames, so the beginning of one run is simulated again with its frames. The
animation shows its busiest moment, as a self-contained replay.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.approaches.registry import with_plain_names
from thyme.model.operations import Operation
from thyme.pipeline.runs.run import RunSpec
from thyme.sim.output import summarise
from thyme.sim.run import Run
from thyme.sim.scenario import Scenario
from thyme.study.replay import NOTIFIED, Activity, Replay, activities_of, control_names
from thyme.study.replay_page import page_of

PLAYED_S = 180.0
"""Simulated time after all nodes have joined, or after the first operation if that is later."""
SHOWN_S, STEP_S = 30.0, 0.5
MAX_PEOPLE = 120
"""Larger crowds take long to simulate again, and a picture of them is unreadable."""


class Animation(msgspec.Struct, frozen=True):
    title: str
    caption: str
    page: str


def animation_of(title: str, spec: RunSpec) -> Animation | None:
    """The beginning of a run of an approach; None if there is nothing to show."""
    scenario, operations = spec.scenario, spec.trace.unpack()
    if scenario.nodes > MAX_PEOPLE or not scenario.movement.knows_places or not operations:
        return None
    began_s = max(scenario.time.join_to_s, operations[0].at_s)
    until_s = min(began_s + PLAYED_S, scenario.time.until_s)
    played = _play(scenario, [one for one in operations if one.at_s < until_s], until_s)
    if not played.activities:
        return None
    from_s = busiest(played.activities, began_s, until_s)
    range_m = scenario.radio.reach_m
    snapshots = played.snapshots(from_s, min(from_s + SHOWN_S, until_s), STEP_S, range_m)
    return Animation(
        f"{with_plain_names(title)} at work",
        f"{snapshots[-1].at_s - snapshots[0].at_s:.0f} seconds of the first run, from above. Lines are messages from "
        "device to device, arcs lead from the publisher of an object to the person who is notified. Click a "
        "person for details.",
        page_of(played, snapshots, scenario.area().cell_m if title.startswith("Thyme-DCS") else 0.0, range_m, "film"),
    )


def _play(scenario: Scenario, operations: Sequence[Operation], until_s: float) -> Replay:
    run = Run(scenario, operations)
    run.world.keep_frames()
    result = run.go(until_s=until_s)
    control = control_names()
    frames = run.world.frames()
    said = [frame for frame in frames.to_pylist() if frame["message"] not in control] if frames is not None else []
    return Replay(result.movement, summarise(result), said, activities_of(result.events, operations))


def busiest(activities: Sequence[Activity], from_s: float, until_s: float) -> float:
    """The start of the window with the most notifications, or else with the most activities."""
    seen = [activity for activity in activities if activity.at_s >= from_s]
    times = [activity.at_s for activity in seen if activity.what == NOTIFIED] or [activity.at_s for activity in seen]
    starts = [from_s] + [at_s for at_s in times if at_s + SHOWN_S <= until_s]
    return max(starts, key=lambda start_s: sum(start_s <= at_s < start_s + SHOWN_S for at_s in times))
