"""Playing the decision map: which crowds of it are played, in which order, by whom, and what is left out.

A crowd of the map has 20 to 1,000 people on 802.11g for ten minutes, in which each posts about twice and asks once, and
differs from the usual one (two people in 40 m × 40 m who stand and stay and share texts, with questions about the past
and deletes) in some respects of `CHANGES`. What is left out:

- crowds that differ in more respects than the steps of `STEPS` say: two at 20 and 50 people, and one beyond;
- an approach that failed clearly in such a crowd of fewer people (no run brought half of what was expected);
- two kinds of coming and going at once, two numbers of walkers, and so on.

Steps are in order of what they cost and tell: an interrupted sweep goes on with the run in which it stopped, and each
finished step writes its rows, with commit and date, into the table (`thyme study map --play`). Rows of steps that were
not played are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec

from thyme.approaches.decision_table import CONTENTS_BYTES, PHOTO_SHARE, Contents, CrowdKind, DecisionRow, Workload
from thyme.study.definition import ApproachChoice, PostsChoice, StudyDefinition
from thyme.study.variations import WALKING

SEED = 1
TOPOLOGIES = 3
PEOPLE = (20, 50, 100, 200, 500, 1000)
CHANGES: tuple[tuple[str, object], ...] = (
    ("density", 8.0), ("density", 0.2), ("walking", 0.5), ("walking", 1.0), ("leaving", 0.2), ("switching", 0.2),
    ("contents", "photos"), ("contents", "large photos"), ("workload", "future"),
)  # fmt: skip
"""In what a crowd differs from the usual one: a hall or a campus, some or all walking, a fifth leaving or going off and
on, photos, nobody asking for the past or deleting."""
ALL = ("es", "ls", "dcs", "drip", "socialcast", "walks")
FLOODING, OTHERS = ALL[:2], ALL[2:]
"""Routes on demand cost much to play in large crowds."""
SMALL: tuple[Contents, ...] = ("texts", "photos")
LARGE: tuple[Contents, ...] = ("large photos",)


class Step(NamedTuple):
    """A part of the map, played together."""

    people: int
    respects: int
    """In how many respects its crowds differ from the usual one."""
    approaches: tuple[str, ...]
    contents: tuple[Contents, ...] = SMALL


STEPS = (
    Step(20, 0, ALL), Step(20, 1, ALL), Step(50, 0, ALL), Step(100, 0, ALL), Step(200, 0, OTHERS), Step(50, 1, ALL),
    Step(500, 0, ("dcs",)), Step(20, 1, ALL, LARGE), Step(100, 1, ALL), Step(200, 0, FLOODING),
    Step(500, 0, ("drip", "socialcast", "walks")), Step(1000, 0, ("dcs",)), Step(50, 1, ALL, LARGE),
    Step(200, 1, OTHERS), Step(20, 2, ALL), Step(100, 1, ALL, LARGE), Step(50, 2, ALL), Step(500, 1, ("dcs",)),
    Step(200, 1, OTHERS, LARGE), Step(1000, 0, ("drip", "socialcast", "walks")), Step(1000, 1, ("dcs",)),
    Step(200, 1, FLOODING), Step(20, 2, ALL, LARGE), Step(500, 0, FLOODING), Step(1000, 0, FLOODING),
    Step(500, 1, ("drip", "socialcast", "walks")), Step(1000, 1, ("drip", "socialcast", "walks")),
    Step(500, 1, FLOODING), Step(1000, 1, FLOODING), Step(50, 2, ALL, LARGE), Step(200, 1, FLOODING, LARGE),
    Step(500, 1, ALL, LARGE), Step(1000, 1, ALL, LARGE),
)  # fmt: skip
"""The cheapest and those that tell most first. Photos of 2 MB cost most."""
POSTS_PER_PERSON = 2
QUESTIONS_PER_HOUR = 0.33
DELETES_PER_HOUR = 0.1
"""Of the event's three hours, which are played in ten minutes."""
SIZES: dict[str, dict[str, object]] = {
    "texts": {"kind": "text"},
    **{
        name: {"kind": "photos", "size_bytes": size, "largest_bytes": max(1_000_000, 5 * size), "share": PHOTO_SHARE}
        for name, size in CONTENTS_BYTES.items()
    },
}

Cell = tuple[CrowdKind, Workload]
"""A crowd and what it asks for."""


def cells_of(people: int, respects: int, contents: Sequence[Contents] = SMALL + LARGE) -> Iterator[Cell]:
    """The crowds of so many people that share this and differ from the usual one in exactly so many respects."""
    for changes in combinations(CHANGES, respects):
        changed = dict(changes)
        if len(changed) < respects or {"leaving", "switching"} <= set(changed):
            continue
        if changed.get("contents", "texts") not in contents:
            continue
        workload = changed.pop("workload", "all")
        yield msgspec.convert({"people": people} | changed, CrowdKind), msgspec.convert(workload, Workload)


def players(cell: Cell, approaches: Sequence[str], known: Iterable[DecisionRow]) -> list[str]:
    """Those that play there: all but those that failed clearly among fewer people."""
    kind, workload = cell
    failed = {
        line.approach
        for line in known
        if line.failed_clearly
        and line.workload == workload
        and line.kind.people < kind.people
        and msgspec.structs.replace(line.kind, people=kind.people) == kind
    }
    return [approach for approach in approaches if approach not in failed]


def definition_of(cell: Cell, approaches: Sequence[str]) -> StudyDefinition:
    """A crowd of the map as a study."""
    kind, workload = cell
    asks = {"subscriptions_first_per_hour": QUESTIONS_PER_HOUR, "subscriptions_rest_per_hour": QUESTIONS_PER_HOUR}
    rates = asks | {"deletes_per_hour": DELETES_PER_HOUR}
    if workload == "future":
        rates |= {"always_share": 0.0, "deletes_per_hour": 0.0}
    scenario: dict[str, object] = {
        "nodes": kind.people,
        "venue": {"nodes_per_cell": kind.density},
        "radio": {"model": "wifi"},
    }
    if kind.walking:
        scenario["movement"] = WALKING | {"mobile_fraction": kind.walking}
    if kind.leaving:
        scenario["churn"] = {"model": "leave", "fraction": kind.leaving}
    if kind.switching:
        scenario["churn"] = {"model": "alternate", "fraction": kind.switching}
    return StudyDefinition(
        name="map",
        seed=SEED,
        posts=PostsChoice(generate={"posts": POSTS_PER_PERSON * kind.people}),
        trace={"authors": "deal", "rates": rates, "sizes": SIZES[kind.contents]},
        scenario=scenario,
        approaches=tuple(ApproachChoice(name) for name in approaches),
        topologies=TOPOLOGIES,
        variations=(),
    )


class MapProgress(msgspec.Struct, frozen=True):
    """How much of the map is there at a number of people, counted in pairs of a crowd and an approach."""

    people: int
    played: int
    left_out: int
    missing: int


def state_of(people: int, known: Sequence[DecisionRow]) -> MapProgress:
    there = {((line.kind, line.workload), line.approach) for line in known}
    counts = {"played": 0, "left_out": 0, "missing": 0}
    for step in (step for step in STEPS if step.people == people):
        for cell in cells_of(people, step.respects, step.contents):
            wanted = players(cell, step.approaches, known)
            for name in step.approaches:
                played = (cell, name) in there
                counts["played" if played else "missing" if name in wanted else "left_out"] += 1
    return MapProgress(people, **counts)
