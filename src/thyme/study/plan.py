"""The plan of a study: every point of its grid and every run, with its scenario and the trace that it plays.

A point is an approach, a scene and one value of each grid key; the scenes beside the one that was asked are played at
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
from thyme.study.scenes import ASKED, Leaving, Scene, neighbours

TRACE_PREFIX = "trace."
SCENE_COLUMN = "scene"


class Point(msgspec.Struct, frozen=True):
    """What one figure's dot or one table's line stands for."""

    approach: str
    values: dict[str, Any]
    scene: str = ""
    """Empty in a study that has only one."""

    @property
    def asked(self) -> bool:
        return self.scene in ("", ASKED)

    def columns(self) -> dict[str, Any]:
        scene = {SCENE_COLUMN: self.scene} if self.scene else {}
        return {"approach": self.approach} | scene | self.values

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
    points: tuple[Point, ...]
    runs: tuple[PlannedRun, ...]

    @property
    def columns(self) -> list[str]:
        """What tells points apart, besides the approach."""
        scene = [SCENE_COLUMN] if any(point.scene for point in self.points) else []
        return [*scene, *self.definition.grid]

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
    scenes = _scenes(definition, places[0], where)
    points: list[Point] = []
    runs: list[PlannedRun] = []
    staged: list[tuple[dict[str, Any], Scene | None]] = [(named, None) for named in places]
    staged.extend((places[0], scene) for scene in scenes)
    for named, scene in staged:
        for choice in definition.approaches:
            points.append(Point(choice.title, named, scene.name if scene else ASKED if scenes else ""))
            runs.extend(_runs_of(definition, choice, named, scene, len(points) - 1, f"{where}, {points[-1]}"))
    return Plan(definition, posts, tuple(points), tuple(runs))


def _scenes(definition: StudyDefinition, named: Mapping[str, Any], where: str) -> tuple[Scene, ...]:
    """Those of the study, or the neighbours of its first place."""
    if definition.scenes is not None:
        return definition.scenes
    scenario, trace = _settings_of(definition, definition.approaches[0], named, None, where)
    return neighbours(scenario, not trace.file)


def _runs_of(
    definition: StudyDefinition,
    choice: ApproachChoice,
    named: Mapping[str, Any],
    scene: Scene | None,
    point: int,
    where: str,
) -> Iterator[PlannedRun]:
    scenario, trace = _settings_of(definition, choice, named, scene, where)
    leaving = (scene and scene.leaving) or definition.leaving
    copies = (scene.topologies, 1) if scene else (definition.topologies, definition.repetitions)
    for topology, repetition in product(*map(range, copies)):
        placed = msgspec.structs.replace(scenario, topology=topology, repetition=repetition)
        yield PlannedRun(point, placed, trace, leaving)


def _settings_of(
    definition: StudyDefinition, choice: ApproachChoice, named: Mapping[str, Any], scene: Scene | None, where: str
) -> tuple[Scenario, TraceChoice]:
    """The scenario and the trace of one approach at one place of the grid, in one scene."""
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
    if scene is not None:
        given |= copy.deepcopy(scene.scenario)
        trace_given |= copy.deepcopy(scene.trace)
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
