"""Settings: what a person wrote becomes a checked record, or one line that says where and what else there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from thyme.model.errors import InputError
from thyme.model.settings import (
    changed,
    check_bounds,
    keys_of,
    model_of,
    parse_setting,
    read_toml,
    sections_of,
    set_key,
    to_record,
)
from thyme.model.settings.bounds import AtLeastOne, Share
from thyme.model.settings.writing import toml_template


class Oak(msgspec.Struct, frozen=True, tag_field="model", tag="oak"):
    """A slow tree."""

    acorns: AtLeastOne = 3
    """How many fall
    in autumn."""
    height_m: float = 20.0

    def __post_init__(self) -> None:
        check_bounds(self)


class Birch(msgspec.Struct, frozen=True, tag_field="model", tag="birch"):
    """A light tree."""

    height_m: float = 15.0
    bark: Literal["white", "grey"] = "white"


class Soil(msgspec.Struct, frozen=True):
    """What trees stand on."""

    wet: Share = 0.5
    layers: tuple[float, ...] = ()
    depth_m: float | None = None


class Forest(msgspec.Struct, frozen=True):
    trees: int = 10
    tree: Oak | Birch = Oak()
    soil: Soil = Soil()


def read(tmp_path: Path, text: str, **changes: Any) -> Forest:
    file = tmp_path / "forest.toml"
    file.write_text(text)
    given, source = read_toml(file)
    for key, value in changes.items():
        set_key(given, key, value, Forest)
    return to_record(given, Forest, source.with_changes(changes))


def test_a_table_that_names_no_model_means_the_default(tmp_path: Path) -> None:
    assert read(tmp_path, "[tree]\nacorns = 5\n") == Forest(tree=Oak(5))
    assert read(tmp_path, 'tree = { model = "birch", bark = "grey" }\n') == Forest(tree=Birch(bark="grey"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tree = !\n", "forest.toml: not valid TOML: .*line 1"),
        ("trees = 3\ntreez = 3\n", r"forest.toml:2: there is no key 'treez'; it has .*did you mean tree"),
        ("[soil]\n\nwet = 'very'\n", r'forest.toml:3: soil.wet is "very"; expected a number'),
        ("[soil]\nwet = 1.5\n", r"forest.toml:2: soil.wet is 1.5; expected a number <= 1"),
        ("soil.layers = [1.0, 'x']\n", r'forest.toml:1: soil.layers.1 is "x"; expected a number'),
        ("[tree]\nmodel = 'beech'\n", r'forest.toml:2: tree.model is "beech"; expected one of oak, birch'),
        (
            "[tree]\nmodel='birch'\nbark = 'gray'\n",
            r"forest.toml:3: tree.bark .*one of grey, white \(did you mean grey",
        ),
        (
            "[tree]\nbark = 'grey'\n",
            r'tree with model = "oak" has model, acorns, height_m; a model of "birch" has that',
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_what_there_is(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as raised:
        read(tmp_path, text)
    assert "\n" not in str(raised.value)


def test_what_the_command_line_gave_is_not_sought_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--set: trees is \"many\""):
        read(tmp_path, "trees = 4\n", trees="many")


def test_another_model_drops_what_only_the_former_has_if_it_says_nothing_new(tmp_path: Path) -> None:
    text = "[tree]\nacorns = 3\nheight_m = 7.0\n"
    assert read(tmp_path, text, **{"tree.model": "birch"}).tree == Birch(height_m=7.0)
    with pytest.raises(InputError, match=r'tree.acorns = 4 is given too, which only the model "oak" has'):
        read(tmp_path, "[tree]\nacorns = 4\n", **{"tree.model": "birch"})
    assert read(tmp_path, "[tree]\nacorns = 4\n", tree={"model": "birch"}).tree == Birch()


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [("a.b=3", "a.b", 3), ("a=x", "a", "x"), ("a=[1, 2]", "a", [1, 2]), ("a = true", "a", True), ("a=x=y", "a", "x=y")],
)
def test_a_value_is_read_as_toml_reads_it(text: str, key: str, value: object) -> None:
    assert parse_setting(text) == (key, value)


@pytest.mark.parametrize("text", ["a", "=3", "a..b=3", "a=[1"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--set"):
        parse_setting(text)


def test_a_record_is_changed_by_settings() -> None:
    assert changed(Forest(trees=2), ["soil.wet=0.1", "tree.model=birch"]) == Forest(2, Birch(height_m=20.0), Soil(0.1))
    with pytest.raises(InputError, match=r"--set: there is no key 'soil\.wett'"):
        changed(Forest(), ["soil.wett=0.1"])


def test_bounds_hold_for_records_that_programs_make() -> None:
    with pytest.raises(InputError, match="acorns is 0; expected a whole number ≥ 1"):
        Oak(0)
    assert model_of(Oak()) == "oak"


def test_a_record_describes_itself() -> None:
    keys, (tree, soil) = sections_of(Forest)
    assert [(key.name, key.words, key.default) for key in keys] == [("trees", "whole number", 10)]
    assert (tree.default_model, [model.name for model in tree.models]) == ("oak", ["oak", "birch"])
    assert (tree.models[0].doc, tree.models[0].keys[0].doc) == ("A slow tree.", "How many fall in autumn.")
    assert [key.words for key in soil.keys] == ["number ≥ 0 and ≤ 1", "list of numbers", "number"]
    assert [key.name for key in keys_of(Forest)][-1] == "soil.depth_m"


def test_a_template_says_the_defaults() -> None:
    template = toml_template(Forest, {"trees": 4}, {})
    lines = template.splitlines()
    assert lines[0] == "trees = 4"
    assert {"[tree]", 'model = "oak"', '#model = "birch"', "#height_m = 15.0", "[soil]"} <= set(lines)
    assert "# depth_m (number; not set)" in lines
