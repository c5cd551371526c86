"""The headline follows its rules: who is dependable, which is better by the priority, where the answer changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from thyme.approaches.registry import with_plain_names
from thyme.sim.radios.models import DiscModel
from thyme.study.definition import ApproachChoice, StudyDefinition, load_study
from thyme.study.plan import make_plan
from thyme.study.report.headline import Headline, headline
from thyme.study.results import OfRuns, Results, Summary, summary_of
from thyme.study.shown_metrics import AIR_BYTES, ENERGY, LATE_NOTIFICATION, NOTIFICATION_LATENCY, RECALL, SUCCESS
from thyme.study.variations import Variation

LS, OTHER = "Thyme-LS", "one at a time"
FINE = {SUCCESS: [1.0] * 3, RECALL: [1.0] * 3, AIR_BYTES: [100.0] * 3, NOTIFICATION_LATENCY: [0.2] * 3}
POOR = FINE | {SUCCESS: [0.5] * 3, RECALL: [0.5] * 3}
Runs = dict[str, list[float]]


def sending(*air_bytes: float, **more: Any) -> Runs:
    return {metric: values[: len(air_bytes)] for metric, values in FINE.items()} | {AIR_BYTES: list(air_bytes)} | more


def results(
    definition: StudyDefinition, runs: dict[tuple[str, int], Runs], variations: dict[str, Runs] | None = None
) -> Results:
    """`runs` by approach and number of people; `variations` by approach, the same for every variation."""
    plan = make_plan(definition)
    summaries: dict[tuple[int, str], Summary] = {}
    of_runs: dict[tuple[int, str], OfRuns] = {}
    for number, point in enumerate(plan.points):
        given = runs[(point.approach, point.values["nodes"])] if point.asked else (variations or {})[point.approach]
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


def uses(title: str, more: str = "") -> str:
    return with_plain_names(f"Phones alone can do it: use {title}{more}.")


def test_traffic_decides_among_dependable_approaches(small: StudyDefinition) -> None:
    told = decided(small, sending(100, 110, 90), sending(300, 290, 310))
    assert told.answer == uses(LS) == "Phones alone can do it: use Owners (Thyme-LS)."
    assert f"{OTHER} sends 3 times as much over the air." in told.reasons
    assert "worse in every one" in told.reasons[-1]
    assert decided(small, sending(100, 110, 90), sending(1, 1, 1) | {RECALL: [0.5] * 3}).answer == uses(LS)


def test_a_small_difference_that_every_run_shows_is_told_and_decides(small: StudyDefinition) -> None:
    told = decided(small, sending(109, 110, 108), sending(100, 101, 99))
    assert told.answer == uses(OTHER)
    assert "Owners (Thyme-LS) sends 9% more over the air." in told.reasons
    alike = decided(small, sending(100, 100, 100), sending(100.3, 100.3, 100.3))
    assert "do not separate" in alike.reasons[-1], "a difference that reads as 0 % is none"


def test_approaches_whose_runs_overlap_are_both_told_with_their_ranges(small: StudyDefinition) -> None:
    told = decided(small, sending(100e6, 150e6, 90e6), sending(140e6, 130e6, 120e6))
    assert told.answer == uses(LS), "the one with the better mean"
    assert (
        "do not separate Owners (Thyme-LS) (90 MB to 150 MB) from one at a time (120 MB to 140 MB)" in told.reasons[-1]
    )
    assert "`--set topologies=10`" in told.reasons[-1]


def test_with_few_runs_the_answer_says_so(small: StudyDefinition) -> None:
    told = decided(small, sending(100), sending(140))
    assert told.answer == uses(LS)
    assert "1 run of each: another placement may decide otherwise" in told.reasons[-1]


def test_the_priority_decides_by_its_own_measure(small: StudyDefinition) -> None:
    soon = sending(200, 200, 200) | {NOTIFICATION_LATENCY: [0.3] * 3, ENERGY: [50.0] * 3}
    late = sending(100, 100, 100) | {NOTIFICATION_LATENCY: [3.0] * 3, ENERGY: [60.0] * 3}
    assert decided(small, soon, late).answer == uses(OTHER)
    assert decided(small, soon, late, priority="delay").answer == uses(LS)
    battery = decided(small, soon, late, priority="battery")
    assert battery.answer == uses(LS), "by energy, though it sends more"
    assert f"{OTHER} uses 20% more energy and sends 50% less over the air." in battery.reasons
    sure = sending(200, 200, 200) | {RECALL: [1.0] * 3}
    cheap = sending(100, 100, 100) | {RECALL: [0.93] * 3}
    assert decided(small, sure, cheap, priority="delivery").answer == uses(LS)
    blink = sending(110, 110, 110) | {NOTIFICATION_LATENCY: [0.01] * 3}
    unnoticed = decided(small, blink, sending(100, 100, 100) | {NOTIFICATION_LATENCY: [0.09] * 3}, priority="delay")
    assert unnoticed.answer == uses(OTHER), "nobody notices 80 ms, so traffic decides"


def test_an_answer_that_needs_a_server_says_so(small: StudyDefinition) -> None:
    definition = of_one_size(small, approaches=(ApproachChoice("es"), ApproachChoice("ls")))
    cheap = headline(results(definition, {("Thyme-ES", 8): sending(50, 50, 50), (LS, 8): FINE}))
    assert cheap.answer == "Bring a server (it needs no Internet): use Server (Thyme-ES)."
    alike = headline(results(definition, {("Thyme-ES", 8): sending(90, 100, 105), (LS, 8): sending(95, 98, 110)}))
    assert alike.answer == uses(LS), "of two whose runs overlap, the one that needs no server"
    assert "needs no server" in alike.reasons[-1]


def test_an_approach_that_cannot_carry_the_contents_is_said_to(small: StudyDefinition) -> None:
    trace = {"sizes": {"kind": "photos"}}
    approaches = (ApproachChoice("ls"), ApproachChoice("drip"))
    told = headline(results(of_one_size(small, approaches=approaches, trace=trace), {(LS, 8): FINE, ("DRIP", 8): POOR}))
    assert any("because it sends contents within messages, at most 1,000 bytes" in reason for reason in told.reasons)


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
    assert told.answer == uses(LS, " with 8 people")
    assert f"With 9 people, {OTHER} is the better choice: it sends least." in told.reasons


def test_an_answer_never_praises_what_does_not_suffice(small: StudyDefinition) -> None:
    told = decided(small, POOR, POOR)
    nothing = "Nothing tried here is dependable for this crowd."
    assert told.answer == f"{nothing} Owners (Thyme-LS) delivers most, and that is not enough."
    assert told.chosen is None


def test_variations_show_where_the_answer_fails_or_another_is_better(small: StudyDefinition) -> None:
    variations = (Variation("everybody walks", {"movement": {"model": "waypoint"}}),)
    definition = of_one_size(small, variations=variations)
    asked = {(LS, 8): sending(100, 100, 100), (OTHER, 8): sending(300, 300, 300)}
    told = headline(results(definition, asked, {LS: POOR, OTHER: FINE}))
    assert told.answer == uses(LS, ", but not if everybody walks")
    assert [(tip.variation, tip.verdict) for tip in told.tips] == [("everybody walks", "fails")]
    assert f"{OTHER} would do" in told.tips[0].told
    held = headline(results(definition, asked, {LS: FINE, OTHER: FINE | {AIR_BYTES: [500.0]}}))
    assert held.answer == uses(LS)
    assert [tip.verdict for tip in held.tips] == ["holds"]
    works = headline(results(definition, asked, {LS: FINE, OTHER: FINE | {AIR_BYTES: [80.0]}}))
    assert works.answer == uses(LS)
    assert [(tip.verdict, tip.told) for tip in works.tips] == [
        ("works", f"100% succeeds, 100% arrives; {OTHER} sends 20% less over the air")
    ]


def test_without_results_there_is_no_choice(small: StudyDefinition) -> None:
    assert headline(Results(make_plan(small), {})).answer.startswith("No run finished")


def test_a_study_that_names_no_variations_gets_the_usual_ones(study_file: Path) -> None:
    text = study_file.read_text().replace("variations = []\n", "")
    study_file.write_text(text)
    plan = make_plan(load_study(study_file))
    variations = list(dict.fromkeys(point.variation for point in plan.points))
    assert variations[:4] == ["as asked", "everybody walks", "a tenth leaves", "a fifth switches off and on"]
    assert "twice as many people come" not in variations, "the trace is a file, and has its people"
    beside = [run for run in plan.runs if not plan.points[run.point].asked]
    assert {run.scenario.nodes for run in beside} == {8}
    lossy = [run.scenario for run in beside if plan.points[run.point].variation == "a tenth of frames is lost"]
    assert {(one.radio.loss, one.faults) for one in lossy if isinstance(one.radio, DiscModel)} == {(0.1, ())}
    assert len(beside) == 2 * (len(variations) - 1), "few runs, at the first value of the grid"
    study_file.write_text(text.replace("topologies = 2\n", 'topologies = 2\nvariations = [{ name = "as asked" }]\n'))
    with pytest.raises(Exception, match="expected a few words other than 'as asked'"):
        load_study(study_file)
