"""The decision map in words, and applied to a study's crowd.

The map itself and the rule that reads it belong to the approaches (`thyme.approaches.deciding`), so that a device can
use it too; `thyme.study.mapping` plays it.
"""

from __future__ import annotations

from math import log

from thyme.approaches.deciding import Decision, Needs, decide, fits
from thyme.approaches.decision_table import CONTENTS_BYTES, Contents, CrowdKind, Measured, table
from thyme.approaches.registry import APPROACHES, find_approach
from thyme.pipeline.traces.sizes import ObjectSizes
from thyme.sim.scenario import crowd_of
from thyme.study.plan import Plan, PlannedRun
from thyme.study.wording import KILOBYTE, MEGABYTE, duration, listed, round_share, share, size, span

HOW = {
    "played": "simulated in this crowd",
    "interpolated": "interpolated between simulated crowds",
    "combined": "not simulated: combined from simulated crowds that each differ from the usual one in one property",
}


def how_words(decision: Decision, kind: CrowdKind) -> str:
    """Where an answer comes from."""
    people = sorted({place.people for place in decision.places})
    elsewhere = not people[0] <= kind.people <= people[-1]
    other = f", of {people[0]:,} people: no other crowd was simulated" if elsewhere else ""
    return f"{HOW[decision.how]}{other}"


def kind_of(run: PlannedRun) -> CrowdKind | None:
    """The crowd of a planned run as a kind of crowd on the map; None if its layout or movement is unknown."""
    return None if run.trace.file else crowd_of(run.scenario, contents_of(run.trace.options.sizes))


def contents_of(sizes: ObjectSizes) -> Contents:
    """Of the map's contents, the one that is nearest in size."""
    if sizes.kind == "text":
        return "texts"
    return min(CONTENTS_BYTES, key=lambda name: abs(log(CONTENTS_BYTES[name] / sizes.size_bytes)))


def crowd_words(kind: CrowdKind) -> str:
    walking = "standing" if kind.walking == 0.0 else f"{round_share(kind.walking)} walking"
    going = [
        f"{round_share(part)} {what}"
        for part, what in ((kind.leaving, "leaving"), (kind.switching, "switching off and on"))
        if part
    ]
    staying = listed(going, "and") or "all staying"
    shared = kind.contents if kind.contents == "texts" else f"{kind.contents} among texts"
    return f"{kind.people} people, {kind.reach:.0f} others in reach, {walking}, {staying}, {shared}"


def share_range(measured: Measured) -> str:
    return span(share(measured.low), share(measured.high))


def size_range(measured: Measured) -> str:
    low, high = measured.low, measured.high
    if high >= MEGABYTE:
        return span(size(low), size(high))
    digits = 0 if high >= 10 * KILOBYTE else 1
    return f"{span(*(f'{end / KILOBYTE:.{digits}f}' for end in (low, high)))} kB"


def best_words(decision: Decision) -> str:
    names = [APPROACHES[line.approach].full_title for line in decision.best]
    best = decision.best[0]
    brought = f"{share_range(best.success)} succeed, {share_range(best.recall)} arrive"
    if not decision.dependable:
        return f"nothing is dependable; {names[0]} delivers most ({brought}){_unplayed(decision)}"
    soon = "" if best.notified_s is None else f", half within {duration(best.notified_s.mean)}"
    sent = f"{size_range(best.air_bytes)} per person and minute"
    together = "; their ranges overlap" if names[1:] else ""
    return f"{listed(names, 'or')} ({brought}{soon}, {sent}{together}){_unplayed(decision)}"


def _unplayed(decision: Decision) -> str:
    """Fitting approaches for which the map has no data here."""
    names = [APPROACHES[name].title for name in decision.unknown]
    return f"; not known there: {listed(names, 'and')}" if names else ""


def prior_words(plan: Plan) -> str:
    """What the map has for the crowd that was asked about and the approaches that compete, before anything runs;
    empty if it knows no such."""
    kind = kind_of(plan.runs[0])
    names = {choice.name for choice in plan.definition.approaches}
    lines = [line for line in table() if line.approach in names]
    needs = Needs(server=any(find_approach(name).capabilities.needs_server for name in names))
    if kind is None or not any(fits(line.approach, needs) for line in lines):
        return ""
    decision = decide(kind, needs, plan.definition.priority, lines)
    return f"The decision map for this crowd ({how_words(decision, kind)}): {best_words(decision)}."
