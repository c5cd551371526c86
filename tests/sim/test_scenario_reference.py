"""The template of a scenario and the reference page know whatever the types know."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from typing import Any

import pytest

from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError
from thyme.model.settings import keys_of, sections_of
from thyme.sim.scenario import Scenario, scenario_of
from thyme.sim.scenario_reference import EXAMPLE, models_reference, scenario_template

KEYS, SECTIONS = sections_of(Scenario)
MODELS = [(section.name, model.name) for section in SECTIONS for model in section.models]


def block(template: str, section: str, model: str) -> list[str]:
    """The lines of a section that belong to one of its models."""
    lines = template.split(f"\n[{section}]\n")[1].split("\n[")[0].splitlines()
    starts = [i for i, line in enumerate(lines) if line.lstrip("#").startswith("model = ")] + [len(lines)]
    (found,) = [lines[start:end] for start, end in pairwise(starts) if lines[start].endswith(f'"{model}"')]
    return found


def uncommented(lines: list[str]) -> dict[str, Any]:
    return tomllib.loads("\n".join(line.removeprefix("#") for line in lines if not line.startswith("# ")))


def test_the_models_are_those_that_scenarios_always_had() -> None:
    assert {
        ("movement", "static"), ("movement", "waypoint"), ("movement", "community"), ("movement", "file"),
        ("movement", "trace"), ("movement", "contacts"), ("radio", "disc"), ("radio", "wifi"), ("churn", "none"),
        ("churn", "leave"), ("churn", "crash"), ("churn", "alternate"), ("churn", "join"),
    } <= set(MODELS)  # fmt: skip


@pytest.mark.parametrize(("section", "model"), MODELS)
def test_every_model_of_the_template_says_all_its_keys_with_their_defaults(section: str, model: str) -> None:
    lines = block(scenario_template(9, "ls"), section, model)
    (keys,) = [one.keys for part in SECTIONS for one in part.models if (part.name, one.name) == (section, model)]
    for key in keys:
        assert any(line.startswith((f"#{key.name} =", f"# {key.name} (")) for line in lines), key.name
    bare: dict[str, Any] = {"model": model} | {key.name: "somewhere.txt" for key in keys if key.required}
    spelled = bare | uncommented(lines)
    assert scenario_of({section: spelled}, "template") == scenario_of({section: bare}, "defaults")


@pytest.mark.parametrize("approach", sorted(APPROACHES))
def test_a_template_is_a_scenario_of_defaults(approach: str) -> None:
    template = scenario_template(9, approach)
    assert scenario_of(tomllib.loads(template), "template") == Scenario(name="crowd", nodes=9, approach=approach)
    for key in (*KEYS, *keys_of(APPROACHES[approach].settings)):
        assert f"\n#{key.name} = " in template or f"\n{key.name} = " in template or f"\n# {key.name} (" in template
    settings = uncommented(template.split("\n[settings]\n")[1].splitlines())
    configure = APPROACHES[approach].configure
    assert configure(settings) == configure({})


def test_the_example_uses_every_section() -> None:
    example = tomllib.loads(EXAMPLE)
    assert {section.name for section in SECTIONS} <= set(example)
    assert scenario_of(example, "example").nodes == 100


def test_models_are_told_section_by_section() -> None:
    assert models_reference("churn").count("model = ") == 6
    assert models_reference().count("model = ") == len(MODELS)
    with pytest.raises(InputError, match="expected one of movement, radio, churn"):
        models_reference("weather")
