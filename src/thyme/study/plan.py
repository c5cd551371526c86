"""The plan of a study: every point of its grid and every run, with its scenario and the trace that it plays.

A point is an approach, a variation and one value of each grid key; the variations are played at
the first value of each key. Runs of a point differ in topology and repetition. Traces belong to the crowd and not to
the approach, so all approaches play the same ones: as many users as there are nodes, unless the study says otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from thyme.model.errors import InputError
from thyme.model.settings import set_key, to_record
from thyme.pipeline.posts.generate import PostOptions
from thyme.pipeline.traces.trace import TraceOptions
from thyme.sim.scenario import Scenario, scenario_of
from thyme.study.definition import ApproachChoice, StudyDefinition
from thyme.study.variations import ASKED, Leaving, Variation, usual_variations

TRACE_PREFIX = "trace."
VARIATION_COLUMN = "variation"


class StudyPoint(msgspec.Struct, frozen=True):
    """The run settings behind one dot of a figure or one line of a table."""

    approach: str
    values: dict[str, Any]
    variation: str = ""
    """Empty in a study that has only one."""

    @property
    def asked(self) -> bool:
        return self.variation in ("", ASKED)

    def columns(self) -> dict[str, Any]:
        variation = {VARIATION_COLUMN: self.variation} if self.variation else {}
        return {"approach": self.approach} | variation | self.values

    def __str__(self) -> str:
        return ", ".join(
            [self.approach, *(f"{key} = {value}" for key, value in self.columns().items() if key != "approach")]
        )


class TraceChoice(msgspec.Struct, frozen=True):
    """A trace that runs play: made from the posts by these options, or read from a file."""

    options: TraceOptions
    file: str = ""

    @property
    def title(self) -> str:
        return Path(self.file).name if self.file else f"{self.options.users} users"


class PlannedRun(msgspec.Struct, frozen=True):
    point: int
    scenario: Scenario
    trace: TraceChoice
    leaving: Leaving = "drawn"


class Plan(msgspec.Struct, frozen=True):
    definition: StudyDefinition
    posts: PostOptions
    points: tuple[StudyPoint, ...]
    runs: tuple[PlannedRun, ...]

    @property
    def columns(self) -> list[str]:
        """The values that distinguish points, besides the approach."""
        variation = [VARIATION_COLUMN] if any(point.variation for point in self.points) else []
        return [*variation, *self.definition.grid]

    @property
    def needs_posts(self) -> bool:
        return any(not run.trace.file for run in self.runs)

    def traces(self) -> list[TraceChoice]:
        """The traces that the runs need, each once, in the order of the runs."""
        return list({msgspec.json.encode(run.trace): run.trace for run in self.runs}.values())


def make_plan(definition: StudyDefinition) -> Plan:
    where = f"study {definition.name}"
    posts = to_record({"seed": definition.seed} | definition.posts.generate, PostOptions, where, ("posts", "generate"))
    places = [dict(zip(definition.grid, values, strict=True)) for values in product(*definition.grid.values())]
    variations = _variations(definition, places[0], where)
    points: list[StudyPoint] = []
    runs: list[PlannedRun] = []
    staged: list[tuple[dict[str, Any], Variation | None]] = [(named, None) for named in places]
    staged.extend((places[0], variation) for variation in variations)
    for named, variation in staged:
        for choice in definition.approaches:
            points.append(StudyPoint(choice.title, named, variation.name if variation else ASKED if variations else ""))
            runs.extend(_runs_of(definition, choice, named, variation, len(points) - 1, f"{where}, {points[-1]}"))
    return Plan(definition, posts, tuple(points), tuple(runs))


def _variations(definition: StudyDefinition, named: Mapping[str, Any], where: str) -> tuple[Variation, ...]:
    """Those of the study, or the usual ones of its first place."""
    if definition.variations is not None:
        return definition.variations
    scenario, trace = _settings_of(definition, definition.approaches[0], named, None, where)
    return usual_variations(scenario, None if trace.file else trace.options.sizes)


def _runs_of(
    definition: StudyDefinition,
    choice: ApproachChoice,
    named: Mapping[str, Any],
    variation: Variation | None,
    point: int,
    where: str,
) -> Iterator[PlannedRun]:
    scenario, trace = _settings_of(definition, choice, named, variation, where)
    leaving = (variation and variation.leaving) or definition.leaving
    copies = (variation.topologies, 1) if variation else (definition.topologies, definition.repetitions)
    for topology, repetition in product(*map(range, copies)):
        placed = msgspec.structs.replace(scenario, topology=topology, repetition=repetition)
        yield PlannedRun(point, placed, trace, leaving)


def _settings_of(
    definition: StudyDefinition,
    choice: ApproachChoice,
    named: Mapping[str, Any],
    variation: Variation | None,
    where: str,
) -> tuple[Scenario, TraceChoice]:
    """The scenario and the trace of one approach at one place of the grid, in one variation."""
    given: dict[str, Any] = copy.deepcopy(definition.scenario)
    given.setdefault("seed", definition.seed)
    given |= {"name": definition.name, "approach": choice.name}
    given["settings"] = copy.deepcopy(choice.settings) | given.get("settings", {})
    trace_given: dict[str, Any] = {"seed": definition.seed} | copy.deepcopy(definition.trace)
    for name, value in named.items():
        for key in definition.keys_of(name):
            if key.startswith(TRACE_PREFIX):
                set_key(trace_given, key.removeprefix(TRACE_PREFIX), value)
            else:
                set_key(given, key, value, Scenario)
    if variation is not None:
        given |= copy.deepcopy(variation.scenario)
        trace_given |= copy.deepcopy(variation.trace)
    scenario = scenario_of(given, where)
    return scenario, _trace_choice(trace_given, scenario.nodes, where)


def _trace_choice(given: dict[str, Any], nodes: int, where: str) -> TraceChoice:
    file = given.pop("file", "")
    if not isinstance(file, str):
        raise InputError(f"{where}, [trace]: file is {file!r}; expected the path of a trace")
    options = to_record({"users": nodes} | given, TraceOptions, where, ("trace",))
    if options.users > nodes:
        raise InputError(f"{where}: the trace has {options.users} users, but there are {nodes} nodes")
    return TraceChoice(TraceOptions(), file) if file else TraceChoice(options)
