"""A study is checked as a whole before anything runs, and a mistake is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from thyme.model.errors import InputError
from thyme.study.definition import StudyDefinition, load_preset, load_study, presets
from thyme.study.plan import make_plan


@pytest.mark.parametrize("name", list(presets()))
def test_every_preset_can_be_planned(name: str) -> None:
    plan = make_plan(load_preset(name))
    definition = plan.definition
    assert definition.name == name
    assert definition.title
    assert definition.question.endswith((")", "?"))
    asked = [point for point in plan.points if point.asked]
    beside = len(definition.approaches) * sum(variation.topologies for variation in definition.variations or ())
    assert len(plan.runs) == len(asked) * definition.topologies * definition.repetitions + beside


def test_a_new_dimension_of_the_grid_can_be_set() -> None:
    plan = make_plan(load_preset("quick", {"nodes": 16, "grid.radio.loss": [0.0, 0.1], "approaches": "ls"}))
    assert [point.values["radio.loss"] for point in plan.points] == [0.0, 0.1]


def test_a_name_in_the_grid_stands_for_several_keys(study_file: Path) -> None:
    text = study_file.read_text().replace("[grid]", '[names]\nend_s = ["time.until_s"]\n[grid]\nend_s = [50.0]')
    study_file.write_text(text)
    assert {run.scenario.time.until_s for run in make_plan(load_study(study_file)).runs} == {50.0}


def test_runs_of_all_approaches_share_a_crowd_and_its_trace(small: StudyDefinition) -> None:
    plan = make_plan(small)
    assert len(plan.traces()) == 1
    by_point = {plan.points[run.point].approach: run.scenario for run in plan.runs if run.scenario.topology == 0}
    assert len({scenario.place_seed for scenario in by_point.values()}) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"nodez": 3}, "--set nodez: a study has no such key; expected one of nodes"),
        ({"nodes.x": 3}, "--set nodes.x: nodes is a column of the grid and has no parts; expected --set nodes=[…]"),
        ({"nodes": []}, "[grid] nodes: give at least one value"),
        ({"nodes": [8, 8]}, "[grid] nodes: a value occurs twice"),
        ({"nodes": ["many"]}, 'nodes = many: nodes is "many"; expected a whole number'),
        ({"repetitions": 0}, "repetitions is 0; expected 1 to"),
        ({"approaches": ["telepathy"]}, "--set approaches: there is no approach 'telepathy'; expected one of"),
        ({"approaches": 3}, "--set approaches: expected a list of names"),
        ({"trace.userz": 3}, "there is no key 'trace.userz'; trace has users"),
        ({"trace.rates.often": 3}, "there is no key 'trace.rates.often'; trace.rates has half_time_s"),
        ({"trace.users": 200}, "the trace has 200 users, but there are"),
        ({"posts.generate.posts": -1}, "posts.generate.posts is -1; expected a whole number >= 1"),
        ({"posts.dataset": 3}, "--set: posts.dataset is 3; expected text"),
        ({"radio.model": "smoke"}, "radio.model"),
        ({"grid.seed": [1, 2]}, "[grid] seed: use approaches, topologies, repetitions or seed of the study"),
        ({"topologies": 1_000, "repetitions": 1_000}, "runs; expected at most"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as error:
        make_plan(load_preset("quick", change))
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_preset_is_told_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"--preset slow: there is no such preset; expected one of .*quick"):
        load_preset("slow")
    with pytest.raises(InputError, match="no such preset"):
        load_preset("../presets/quick")


def test_a_scenario_that_is_given_for_a_study_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "crowd.toml"
    path.write_text('nodes = 9\napproach = "ls"\n')
    with pytest.raises(InputError, match=r"so it is a scenario; run it with: thyme simulate .*crowd\.toml"):
        load_study(path)


def test_a_file_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.toml: there is no such file"):
        load_study(tmp_path / "gone.toml")
    (tmp_path / "broken.toml").write_text("grid = [")
    with pytest.raises(InputError, match=r"broken\.toml: not valid TOML"):
        load_study(tmp_path / "broken.toml")
    (tmp_path / "odd.toml").write_text("colour = 3")
    with pytest.raises(InputError, match=r"odd\.toml:1: there is no key 'colour'"):
        load_study(tmp_path / "odd.toml")


def test_two_approaches_need_two_names(study_file: Path) -> None:
    study_file.write_text(study_file.read_text().replace('label = "one at a time"\n', ""))
    with pytest.raises(InputError, match="two of them are called 'Thyme-LS'; give each its own label"):
        load_study(study_file)
