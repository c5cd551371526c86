"""The assumptions of a study, in words for a reader who has never seen a scenario: people, place, radio, movement,
workload.

An answer is worth as much as its assumptions, so they are on the report's first screen.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.approaches.interface import Capabilities
from thyme.approaches.registry import find_approach
from thyme.pipeline.traces.sizes import ObjectSizes
from thyme.sim.radios.models import DiscModel, RadioModel, WifiModel
from thyme.sim.scenario import Scenario
from thyme.study.plan import Plan
from thyme.study.posts_fit import PostsSpan, use_words
from thyme.study.wording import counted, duration, listed, round_share, size, span
from thyme.study.workload import PlayedTrace
from thyme.world.churn import Alternate, ChurnModel, Crash, Join, Leave, NoChurn
from thyme.world.movement_models import (
    Community,
    MovementModel,
    Places,
    RecordedContacts,
    RecordedMovement,
    Static,
    Waypoint,
)


class Assumption(msgspec.Struct, frozen=True):
    about: str
    told: str


class Competitor(msgspec.Struct, frozen=True):
    """An approach as the report introduces it."""

    title: str
    summary: str
    notes: tuple[str, ...]


def assumptions(plan: Plan, traces: Sequence[PlayedTrace], posts: PostsSpan | None = None) -> list[Assumption]:
    """Those of the crowd that was asked about, with all values of the grid."""
    asked = [run.scenario for run in plan.runs if plan.points[run.point].asked]
    scenario = asked[0]
    definition = plan.definition
    crowds = [str(nodes) for nodes in sorted({one.nodes for one in asked})]
    areas = sorted({(one.area().width_m, one.area().height_m) for one in asked if one.movement.knows_places})
    sides = [f"{width:g} m × {height:g} m" for width, height in (areas[0], areas[-1])] if areas else []
    return [
        Assumption("People", f"{listed(crowds, 'or')}, each with a device"),
        Assumption("Place", span(sides[0], sides[1]) if sides else "unknown: the trace says only who meets whom"),
        Assumption("Radio", _varied(asked, "radio", radio_words(scenario.radio) + _faults(scenario))),
        Assumption("Movement", _varied(asked, "movement", movement_words(scenario.movement))),
        Assumption("Coming and going", _varied(asked, "churn", churn_words(scenario.churn))),
        Assumption("What they share", _contents(plan)),
        Assumption("What they do", _workload(plan, traces, posts)),
        Assumption("Runs", _runs(definition.topologies, definition.repetitions)),
    ]


def _contents(plan: Plan) -> str:
    asked = [run.trace for run in plan.runs if plan.points[run.point].asked]
    words = "as in the given trace" if asked[0].file else _contents_words(asked[0].options.sizes)
    return f"{words}, and other values below" if len({one.options.sizes for one in asked}) > 1 else words


def _varied(asked: Sequence[Scenario], section: str, words: str) -> str:
    several = len({msgspec.json.encode(getattr(one, section)) for one in asked}) > 1
    return f"{words}, and other values below" if several else words


def _runs(topologies: int, repetitions: int) -> str:
    each = f", {repetitions} times each" if repetitions > 1 else ""
    if topologies == 1:
        return f"everything once, on one random placement{each}"
    return f"everything {topologies} times, each on a different random placement{each}"


def _faults(scenario: Scenario) -> str:
    return f"; {counted(len(scenario.faults), 'disturbance')} besides" if scenario.faults else ""


def radio_words(radio: RadioModel) -> str:
    match radio:
        case DiscModel():
            lost = f"loses {round_share(radio.loss)} of frames" if radio.loss else "loses nothing"
            return f"an ideal one that reaches {radio.range_m:g} m, never interferes and {lost}"
        case WifiModel():
            return f"Wi-Fi (802.11g) that reaches about {radio.reach_m:g} m, with interference and collisions"


def movement_words(movement: MovementModel) -> str:
    match movement:
        case Static() | Places():
            return "everybody stands still"
        case Waypoint():
            share = movement.mobile_fraction
            who = "everybody walks" if share == 1.0 else f"{round_share(share)} walk"
            speeds = span(f"{movement.min_speed_mps:g}", f"{movement.max_speed_mps:g}")
            pauses = f"pausing up to {duration(movement.max_pause_s)}" if movement.max_pause_s else "without pauses"
            return f"{who} at {speeds} m/s, {pauses}"
        case Community():
            speeds = span(f"{movement.min_speed_mps:g}", f"{movement.max_speed_mps:g}")
            return f"everybody walks to where friends are, at {speeds} m/s"
        case RecordedMovement():
            return "as recorded in the given movement trace"
        case RecordedContacts():
            return "as recorded in the given contact trace"


def churn_words(churn: ChurnModel) -> str:
    match churn:
        case NoChurn():
            return "nobody leaves"
        case Leave() | Crash():
            instant = span(duration(churn.from_s), duration(getattr(churn, "to_s", churn.from_s)))
            return f"{_who(churn.fraction, churn.nodes)} leave for good, without notice, after {instant}"
        case Alternate():
            who = _who(churn.fraction, churn.nodes)
            return f"{who} switch off and on, {duration(churn.on_s)} on and {duration(churn.off_s)} off"
        case Join():
            return f"{_who(churn.fraction, churn.nodes)} come late"
    return "as the scenario lists it"


def _who(fraction: float, nodes: Sequence[int]) -> str:
    return f"{len(nodes)} of them" if nodes else round_share(fraction)


def _workload(plan: Plan, traces: Sequence[PlayedTrace], posts: PostsSpan | None) -> str:
    definition = plan.definition
    if definition.posts.dataset:
        source = "the posts of the given dataset"
    elif plan.needs_posts:
        source = f"{plan.posts.posts:,} generated posts like those of a football match"
    else:
        source = "the trace given"
    if not traces or not traces[0].outline.operations:
        return f"as in {source}"
    outline = traces[0].outline
    minutes = max(outline.when.lasts_s, 1.0) / 60.0
    rate = outline.operations / minutes / max(1, outline.nodes)
    told = f"post, ask and delete as in {source}: {rate:.1f} operations per person and minute for {minutes:.0f} minutes"
    return f"{told}; {use_words(posts, outline)}" if posts is not None else told


def competitors(plan: Plan) -> list[Competitor]:
    return [_competitor(choice.title, choice.name) for choice in plan.definition.approaches]


def _competitor(title: str, name: str) -> Competitor:
    approach = find_approach(name)
    return Competitor(title, approach.summary, tuple(_notes(approach.capabilities)))


def _notes(can: Capabilities) -> list[str]:
    told = {
        "needs a server": can.needs_server,
        "needs positions": can.needs_positions,
        "cannot delete": not can.deletes,
        "finds nothing that was shared before you subscribed": not can.answers_past,
        "finds older objects only on devices in reach": can.past_is_best_effort,
    }
    return [note for note, is_so in told.items() if is_so]


def _contents_words(sizes: ObjectSizes) -> str:
    """What is shared, for a reader of the report."""
    match sizes.kind:
        case "text":
            return "texts only, as long as the posts"
        case "fixed":
            return f"objects of {size(sizes.size_bytes)} each"
        case "photos":
            photos = f"photos of {size(sizes.size_bytes)} (half are larger, up to {size(sizes.largest_bytes)})"
            return photos if sizes.share == 1.0 else f"{round_share(sizes.share)} {photos}, the other posts are texts"
