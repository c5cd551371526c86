"""Playing the decision map: which crowds of it are played, in which order, by whom, and what is left out.

A crowd of the map has 20 to 1,000 people on 802.11g for ten minutes, in which each posts about twice and asks once. The
usual one has two people in 40 m × 40 m who stand and stay and share texts, with questions about the past and deletes.
The others differ from it in one property of `CHANGES`. What is left out:

- crowds that differ in two properties: they are estimated (`thyme.approaches.estimating`);
- beyond 100 people every property but photos of 100 kB, and photos of 2 MB beyond 20 people: their runs take hours;
- approaches that were not dependable in any run of an easier crowd (`ruled_out`).

Steps are in order of what they cost and tell: an interrupted sweep goes on with the run in which it stopped, and each
finished step writes its rows, with commit and date, into the table (`thyme study map --play`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from thyme.approaches.decision_table import CONTENTS_BYTES, PHOTO_SHARE, CrowdKind, DecisionRow, Workload, ruled_out
from thyme.study.definition import ApproachChoice, PostsChoice, StudyDefinition
from thyme.study.variations import WALKING

SEED = 1
TOPOLOGIES = 3
PEOPLE = (20, 50, 100, 200, 500, 1000)
USUAL = "usual"
CHANGES: dict[str, dict[str, object]] = {
    USUAL: {},
    "hall": {"density": 8.0},
    "campus": {"density": 0.2},
    "half walk": {"walking": 0.5},
    "all walk": {"walking": 1.0},
    "leaving": {"leaving": 0.2},
    "switching": {"switching": 0.2},
    "future": {"workload": "future"},
    "photos": {"contents": "photos"},
    "large photos": {"contents": "large photos"},
}
"""In what a crowd differs from the usual one: a hall or a campus, some or all walking, a fifth leaving or going off and
on, nobody asking for the past or deleting, photos."""
ALL = ("es", "ls", "dcs", "drip", "socialcast", "walks")
ONE_BY_ONE = tuple(name for name in CHANGES if name not in (USUAL, "photos", "large photos"))


class Step(NamedTuple):
    """A part of the map, played together."""

    people: int
    changes: tuple[str, ...]
    """Its crowds, of `CHANGES`."""


STEPS = (
    Step(20, (USUAL, "photos")), Step(50, (USUAL, "photos")), Step(100, (USUAL, "photos")), Step(200, (USUAL,)),
    Step(500, (USUAL,)), Step(20, ONE_BY_ONE), Step(1000, (USUAL,)), Step(50, ONE_BY_ONE), Step(200, ("photos",)),
    Step(20, ("large photos",)), Step(100, ONE_BY_ONE), Step(200, ("future",)), Step(500, ("photos",)),
    Step(500, ("future",)), Step(1000, ("photos", "future")),
)  # fmt: skip
"""The cheapest and those that tell most first."""
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


def cells_of(step: Step) -> Iterator[Cell]:
    """The crowds of a step."""
    for name in step.changes:
        changed = {"workload": "all"} | CHANGES[name]
        workload = changed.pop("workload")
        yield msgspec.convert({"people": step.people} | changed, CrowdKind), msgspec.convert(workload, Workload)


def players(cell: Cell, known: Iterable[DecisionRow]) -> list[str]:
    """Those that play there."""
    out = ruled_out(*cell, known)
    return [approach for approach in ALL if approach not in out]


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
    """Progress of the map at a number of people, counted in pairs of a crowd and an approach."""

    people: int
    played: int
    left_out: int
    missing: int


def state_of(people: int, known: Sequence[DecisionRow]) -> MapProgress:
    there = {((line.kind, line.workload), line.approach) for line in known}
    counts = {"played": 0, "left_out": 0, "missing": 0}
    for step in (step for step in STEPS if step.people == people):
        for cell in cells_of(step):
            wanted = players(cell, known)
            for name in ALL:
                played = (cell, name) in there
                counts["played" if played else "missing" if name in wanted else "left_out"] += 1
    return MapProgress(people, **counts)
