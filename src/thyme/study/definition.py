"""What a study is: posts, a trace, a scenario, the approaches, and the grid of values to go through.

A study is a TOML file, or one of the presets that come with the package. `--set` narrows it: a key of the grid gets
other values, a key of the study or of the scenario another value. The grid's keys are those of a scenario in dotted
form (`nodes`, `churn.fraction`), those of the trace (`trace.publisher_share`), or names of the study's own that stand
for several such keys (`[names]`). Everything is checked before anything is run.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from thyme.approaches.deciding import Priority
from thyme.approaches.registry import APPROACHES, find_approach
from thyme.model.errors import InputError
from thyme.model.settings import SettingsSource, read_toml, set_key, to_record
from thyme.sim.scenario import Scenario, resolve_beside
from thyme.study.variations import Leaving, Variation, check_variations

MAX_RUNS = 100_000
MAX_COPIES = 1_000
"""Topologies, and repetitions of each, at most."""


class ApproachChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One competitor: an approach of the registry, how the report calls it, and its settings."""

    name: str
    """Which approach; `thyme scenario models` lists them."""
    label: str = ""
    """How the report calls it; needed where one approach competes with itself."""
    settings: dict[str, Any] = {}
    """Of the approach."""

    @property
    def title(self) -> str:
        return self.label or find_approach(self.name).title


class PostsChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where posts come from: the folder of a dataset, or the generator with these options."""

    dataset: str = ""
    """A folder that `thyme posts ingest` wrote; a study file's is sought beside the file."""
    generate: dict[str, Any] = {}
    """Options of the generator, if no dataset is given."""


class StudyDefinition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    """Of its folder; by default the name of the study file."""
    title: str = ""
    """The report's heading."""
    question: str = ""
    """What the study asks, in a sentence for its reader."""
    seed: int = 1
    """The seed of posts, trace and scenarios alike."""
    posts: PostsChoice = PostsChoice()
    trace: dict[str, Any] = {}
    """How posts become operations."""
    scenario: dict[str, Any] = {}
    """Everything about the crowd (`thyme scenario models`)."""
    approaches: tuple[ApproachChoice, ...] = (ApproachChoice("ls"),)
    """Those that compete."""
    grid: dict[str, list[Any]] = {}
    """Keys with several values each; every combination is run."""
    names: dict[str, list[str]] = {}
    """Names in the grid that stand for several keys, which all get the value."""
    topologies: int = 1
    """Random placements of the people; everything runs on each."""
    repetitions: int = 1
    """How often on each."""
    leaving: Leaving = "drawn"
    """Which nodes leave where the scenario lets nodes leave: a random share, or the publishers (Thyme FGCS §9.3.2)."""
    variations: tuple[Variation, ...] | None = None
    """Crowds in which one assumption is different, which show where the answer changes; if not given, the usual
    neighbours of the scenario, and with an empty list none."""
    priority: Priority = "traffic"
    """What decides among dependable approaches: delivery (notifications that arrive), delay (time until they do),
    battery (energy that radios use) or traffic (bytes that they send)."""

    def __post_init__(self) -> None:
        if not self.approaches:
            raise InputError("approaches: name at least one")
        labels = [choice.title for choice in self.approaches]
        for label in labels:
            if labels.count(label) > 1:
                raise InputError(f"approaches: two of them are called {label!r}; give each its own label")
        for key, copies in (("topologies", self.topologies), ("repetitions", self.repetitions)):
            if not 1 <= copies <= MAX_COPIES:
                raise InputError(f"{key} is {copies}; expected 1 to {MAX_COPIES}")
        runs = len(self.approaches) * self.topologies * self.repetitions
        for key, values in self.grid.items():
            _check_grid(key, values)
            runs *= len(values)
        check_variations(self.variations or ())
        if runs > MAX_RUNS:
            raise InputError(f"the study has {runs} runs; expected at most {MAX_RUNS}")

    def keys_of(self, name: str) -> list[str]:
        """The keys that a name of the grid stands for."""
        return self.names.get(name, [name])


def _check_grid(key: str, values: Sequence[Any]) -> None:
    if not values:
        raise InputError(f"[grid] {key}: give at least one value")
    if any(value in values[:i] for i, value in enumerate(values)):
        raise InputError(f"[grid] {key}: a value occurs twice in {values}")
    if key in {"approach", "topology", "repetition", "seed", "variation"}:
        raise InputError(f"[grid] {key}: use approaches, topologies, repetitions or seed of the study instead")


OWN_PRESETS = files("thyme.study").joinpath("presets")
Presets = Sequence[Traversable]
"""Folders of studies as TOML files; the caller that starts a study lists them."""


def presets(folders: Presets = (OWN_PRESETS,)) -> dict[str, str]:
    """The names of the presets and what each asks."""
    found = {}
    for folder in folders:
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".toml"):
                name = file.name.removesuffix(".toml")
                found[name] = load_preset(name, folders=folders).title
    return found


def load_preset(
    name: str, changes: Mapping[str, Any] | None = None, folders: Presets = (OWN_PRESETS,)
) -> StudyDefinition:
    known = [file for folder in folders if (file := folder.joinpath(f"{name}.toml")).is_file()]
    if not name or "/" in name or not known:
        raise InputError(f"--preset {name}: there is no such preset; expected one of {', '.join(presets(folders))}")
    given, source = read_toml(Path(str(known[0])))
    return _definition(given, changes, msgspec.structs.replace(source, name=f"preset {name}"))


def load_study(path: Path, changes: Mapping[str, Any] | None = None) -> StudyDefinition:
    """The study of a file; the files that it names are sought beside it."""
    given, source = read_toml(path)
    if "nodes" in given and "scenario" not in given:
        raise InputError(
            f"{path}: it has nodes and no section [scenario], so it is a scenario; run it with: thyme simulate {path}, "
            "or write a study of such a crowd: thyme study new"
        )
    given.setdefault("name", path.stem)
    for section, key in (("posts", "dataset"), ("trace", "file"), ("scenario", "movement.file")):
        resolve_beside(given.get(section), key, path.parent)
    return _definition(given, changes, source)


def _definition(given: dict[str, Any], changes: Mapping[str, Any] | None, source: SettingsSource) -> StudyDefinition:
    given = copy.deepcopy(given)
    for key, value in (changes or {}).items():
        narrow(given, key, value)
    return to_record(given, StudyDefinition, source.with_changes(changes or ()))


def narrow(given: dict[str, Any], key: str, value: Any) -> None:
    """Set one key, as `--set key=value` does, wherever it belongs: grid, study or scenario."""
    grid = given.get("grid", {})
    root = key.split(".")[0]
    wider = next((name for name in (*grid, *given.get("names", {})) if key.startswith(f"{name}.")), None)
    if wider is not None:
        raise InputError(f"--set {key}: {wider} is a column of the grid and has no parts; expected --set {wider}=[…]")
    if key in grid or key in given.get("names", {}):
        given.setdefault("grid", {})[key] = value if isinstance(value, list) else [value]
    elif key == "approaches":
        given["approaches"] = _chosen_approaches(given, value)
    elif root == "grid" and "." in key:
        given.setdefault("grid", {})[key.removeprefix("grid.")] = value if isinstance(value, list) else [value]
    elif root == "scenario" and "." in key:
        set_key(given.setdefault("scenario", {}), key.removeprefix("scenario."), value, Scenario)
    elif root in {field.name for field in msgspec.structs.fields(StudyDefinition)}:
        set_key(given, key, value)
    elif root in {field.name for field in msgspec.structs.fields(Scenario)}:
        set_key(given.setdefault("scenario", {}), key, value, Scenario)
    else:
        known = [*grid, "approaches", "topologies", "repetitions", "seed", "posts.…", "trace.…", "scenario.…"]
        raise InputError(f"--set {key}: a study has no such key; expected one of {', '.join(known)}")


def _title(given: dict[str, Any]) -> str | None:
    label, known = given.get("label"), APPROACHES.get(str(given.get("name")))
    return label or (known.title if known else None)


def _chosen_approaches(given: dict[str, Any], value: Any) -> list[Any]:
    """Those of the study that are named by approach or title; one of the registry that is not among them joins."""
    wanted = [value] if isinstance(value, str) else value
    if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
        raise InputError('--set approaches: expected a list of names, such as approaches=["ls"]')
    chosen: list[Any] = []
    for name in wanted:
        listed = [one for one in given.get("approaches", []) if name in (one.get("name"), _title(one))]
        if not listed:
            find_approach(name, "--set approaches")
        chosen.extend(listed or [{"name": name}])
    return chosen
