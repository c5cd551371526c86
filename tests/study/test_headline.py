"""The headline follows its stated rules: who is dependable, who is clearly better, and where the answer tips over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from thyme.sim.radios.disc.model import DiscModel
from thyme.study.definition import StudyDefinition, load_study
from thyme.study.plan import make_plan
from thyme.study.report.headline import Headline, headline
from thyme.study.results import OfRuns, Results, Summary, summary_of
from thyme.study.scenes import Scene
from thyme.study.shown_metrics import AIR_BYTES, LATE_NOTIFICATION, NOTIFICATION_LATENCY, RECALL, SUCCESS

LS, OTHER = "Thyme-LS", "one at a time"
FINE = {SUCCESS: [1.0] * 3, RECALL: [1.0] * 3, AIR_BYTES: [100.0] * 3, NOTIFICATION_LATENCY: [0.2] * 3}
POOR = FINE | {SUCCESS: [0.5] * 3, RECALL: [0.5] * 3}
Runs = dict[str, list[float]]


def sending(*air_bytes: float, **more: Any) -> Runs:
    return {metric: values[: len(air_bytes)] for metric, values in FINE.items()} | {AIR_BYTES: list(air_bytes)} | more


def results(
    definition: StudyDefinition, runs: dict[tuple[str, int], Runs], scenes: dict[str, Runs] | None = None
) -> Results:
    """`runs` by approach and number of people; `scenes` by approach, for every scene but the one that was asked."""
    plan = make_plan(definition)
    summaries: dict[tuple[int, str], Summary] = {}
    of_runs: dict[tuple[int, str], OfRuns] = {}
    for number, point in enumerate(plan.points):
        given = runs[(point.approach, point.values["nodes"])] if point.asked else (scenes or {})[point.approach]
        for metric, values in given.items():
            summary = summary_of(values)
            assert summary is not None
            summaries[(number, metric)] = summary
            of_runs[(number, metric)] = {(topology, 0): value for topology, value in enumerate(values)}
        summaries[(number, LATE_NOTIFICATION)] = Summary(0.9, None, None, None, 1)
    return Results(plan, summaries, of_runs)


def of_one_size(small: StudyDefinition, **changes: Any) -> StudyDefinition:
    return msgspec.structs.replace(small, grid={"nodes": [8]}, **changes)


def decided(small: StudyDefinition, ls: Runs, other: Runs, **changes: Any) -> Headline:
    return headline(results(of_one_size(small, **changes), {(LS, 8): ls, (OTHER, 8): other}))


def test_traffic_decides_among_dependable_approaches(small: StudyDefinition) -> None:
    told = decided(small, sending(100, 110, 90), sending(300, 290, 310))
    assert told.answer == f"Choose {LS}."
    assert f"{OTHER} sends 3 times as much over the air." in told.reasons
    assert "worse in every one" in told.reasons[-1]
    assert decided(small, sending(100, 110, 90), sending(1, 1, 1) | {RECALL: [0.5] * 3}).answer == f"Choose {LS}."


def test_what_runs_do_not_separate_is_not_chosen(small: StudyDefinition) -> None:
    told = decided(small, sending(100, 150, 90), sending(140, 130, 120))
    assert told.answer == f"{LS} and {OTHER} do equally well here: this study cannot tell them apart."
    assert "`--set topologies=10`" in told.reasons[-1]
    assert decided(small, sending(100, 100, 100), sending(109, 109, 109)).answer.startswith(LS), "nobody minds a tenth"


def test_with_too_few_runs_only_a_large_difference_counts(small: StudyDefinition) -> None:
    assert "cannot tell them apart" in decided(small, sending(100), sending(140)).answer
    told = decided(small, sending(100), sending(160))
    assert told.answer == f"Choose {LS}."
    assert "1 run of each, so only large differences" in told.reasons[-1]


def test_what_matters_decides(small: StudyDefinition) -> None:
    soon = sending(200, 200, 200) | {NOTIFICATION_LATENCY: [0.3] * 3}
    late = sending(100, 100, 100) | {NOTIFICATION_LATENCY: [3.0] * 3}
    assert decided(small, soon, late).answer == f"Choose {OTHER}."
    assert decided(small, soon, late, matters="soon").answer == f"Choose {LS}."
    sure = sending(200, 200, 200) | {RECALL: [1.0] * 3}
    cheap = sending(100, 100, 100) | {RECALL: [0.93] * 3}
    assert decided(small, sure, cheap, matters="arrival").answer == f"Choose {LS}."
    blink = sending(100, 100, 100) | {NOTIFICATION_LATENCY: [0.01] * 3}
    told = decided(small, blink, sending(100, 100, 100) | {NOTIFICATION_LATENCY: [0.09] * 3}, matters="soon")
    assert "cannot tell them apart" in told.answer, "nobody notices 80 ms"


def test_the_answer_names_where_another_is_better(small: StudyDefinition) -> None:
    told = headline(
        results(
            small,
            {
                (LS, 8): sending(50, 50, 50),
                (LS, 9): sending(80, 80, 80),
                (OTHER, 8): sending(100, 100, 100),
                (OTHER, 9): sending(60, 60, 60),
            },
        )
    )
    assert told.answer == f"Choose {LS} with 8 people."
    assert f"With 9 people, {OTHER} is the better choice: it sends least." in told.reasons


def test_an_answer_never_praises_what_does_not_suffice(small: StudyDefinition) -> None:
    told = decided(small, POOR, POOR)
    assert told.answer == f"Nothing tried here is dependable for this crowd. {LS} brings most, and that is not enough."


def test_scenes_beside_tell_where_the_answer_tips_over(small: StudyDefinition) -> None:
    scenes = (Scene("everybody walks", {"movement": {"model": "waypoint"}}),)
    definition = of_one_size(small, scenes=scenes)
    asked = {(LS, 8): sending(100, 100, 100), (OTHER, 8): sending(300, 300, 300)}
    told = headline(results(definition, asked, {LS: POOR, OTHER: FINE}))
    assert told.answer == f"Choose {LS}, but not where everybody walks."
    assert [(tip.scene, tip.holds) for tip in told.tips] == [("everybody walks", False)]
    assert f"{OTHER} would do" in told.tips[0].told
    held = headline(results(definition, asked, {LS: FINE, OTHER: FINE | {AIR_BYTES: [500.0]}}))
    assert held.answer == f"Choose {LS}."
    assert [tip.holds for tip in held.tips] == [True]


def test_a_scene_may_tell_winners_apart(small: StudyDefinition) -> None:
    definition = of_one_size(small, scenes=(Scene("everybody walks", {"movement": {"model": "waypoint"}}),))
    told = headline(results(definition, {(LS, 8): FINE, (OTHER, 8): FINE}, {LS: POOR, OTHER: FINE}))
    apart = f"{LS} and {OTHER} do equally well here: this study cannot tell them apart."
    assert told.answer == f"{apart} Take {OTHER} where everybody walks."
    assert [(tip.verdict, tip.only) for tip in told.tips] == [("holds in part", (OTHER,))]


def test_without_results_there_is_no_choice(small: StudyDefinition) -> None:
    assert headline(Results(make_plan(small), {})).answer.startswith("No run finished")


def test_a_study_that_names_no_scenes_gets_the_neighbours_of_its_own(study_file: Path) -> None:
    text = study_file.read_text().replace("scenes = []\n", "")
    study_file.write_text(text)
    plan = make_plan(load_study(study_file))
    scenes = list(dict.fromkeys(point.scene for point in plan.points))
    assert scenes[:4] == ["as asked", "everybody walks", "a tenth leaves", "a fifth switches off and on"]
    assert "twice as many people come" not in scenes, "the trace is a file, and has its people"
    beside = [run for run in plan.runs if not plan.points[run.point].asked]
    assert {run.scenario.nodes for run in beside} == {8}
    lossy = [run.scenario for run in beside if plan.points[run.point].scene == "a tenth of frames is lost"]
    assert {(one.radio.loss, one.faults) for one in lossy if isinstance(one.radio, DiscModel)} == {(0.1, ())}
    assert len(beside) == 2 * (len(scenes) - 1), "few runs, at the first value of the grid"
    study_file.write_text(text.replace("topologies = 2\n", 'topologies = 2\nscenes = [{ name = "as asked" }]\n'))
    with pytest.raises(Exception, match="expected a few words other than 'as asked'"):
        load_study(study_file)
