"""The decision map: which crowds are played, what becomes of their results, and how a study tells of it."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise

from PIL import Image

from thyme.approaches.decision_table import CrowdKind, DecisionRow, Measured, read_table
from thyme.papers.thyme.claims import PRESETS
from thyme.sim.scenario import crowd_of
from thyme.study.decision import kind_of, prior_words
from thyme.study.definition import load_preset
from thyme.study.figures.decision import decision_figure
from thyme.study.map_plan import OTHERS, PEOPLE, STEPS, cells_of, definition_of, players, state_of
from thyme.study.mapping import rows_of, together
from thyme.study.plan import make_plan
from thyme.study.results import Results, Summary

MEASURED = {
    "all.success": 0.99,
    "recall": 0.9,
    "phy_sent.bytes": 2.4e6,
    "energy.node_joules.mean": 24.0,
    "load.gini": 0.1,
}


def test_every_crowd_of_the_map_is_a_study_of_such_a_crowd() -> None:
    for step in (step for step in STEPS if step.people == 20):
        for kind, workload in cells_of(20, step.respects, step.contents):
            (run, *_) = make_plan(definition_of((kind, workload), step.approaches)).runs
            found = kind_of(run)
            assert found == crowd_of(run.scenario, kind.contents)
            assert found is not None
            assert (found.people, found.walking, found.leaving, found.switching, found.contents) == (
                kind.people, kind.walking, kind.leaving, kind.switching, kind.contents,
            )  # fmt: skip
            assert (run.trace.options.rates.always_share > 0.0) == (workload == "all")


def test_each_pair_of_a_crowd_and_an_approach_is_played_in_one_step() -> None:
    for people in PEOPLE:
        asked = [
            (cell, name)
            for step in STEPS
            if step.people == people
            for cell in cells_of(people, step.respects, step.contents)
            for name in step.approaches
        ]
        assert len(asked) == len(set(asked))
        assert {len({name for at, name in asked if at == cell}) for cell, _ in asked} == {6}
        assert not any(kind.leaving and kind.switching for (kind, _), _ in asked)
    assert [len(list(cells_of(20, respects))) for respects in (0, 1, 2)] == [1, 9, 32]


def test_who_failed_clearly_among_fewer_people_does_not_play() -> None:
    def line(kind: CrowdKind, approach: str, recall: float) -> DecisionRow:
        one = Measured(1.0, 1.0, 1.0)
        return DecisionRow(kind, "all", approach, one, Measured(0.3, 0.2, recall), None, None, one, one, one)

    known = [line(CrowdKind(20, walking=1.0), "walks", 0.49), line(CrowdKind(20, walking=1.0), "dcs", 0.51)]
    assert players((CrowdKind(50, walking=1.0), "all"), OTHERS, known) == ["dcs", "drip", "socialcast"]
    assert players((CrowdKind(50), "all"), OTHERS, known) == list(OTHERS), "another crowd"
    assert players((CrowdKind(20, walking=1.0), "all"), OTHERS, known) == list(OTHERS), "no fewer people"
    states = [state_of(people, known) for people in PEOPLE]
    assert (states[0].played, states[0].left_out) == (2, 0)
    assert all(state.left_out == 1 for state in states[1:])
    assert all(sooner.missing >= later.missing for sooner, later in pairwise(states[1:]))


def test_the_results_of_crowds_become_rows_with_ranges() -> None:
    cells = [(CrowdKind(20), "all"), (CrowdKind(20, walking=0.5), "future")]
    plan = together([make_plan(definition_of(cell, ("ls", "dcs"))) for cell in cells])  # type: ignore[arg-type]
    assert [run.point for run in plan.runs] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    summaries = {
        (point, name): Summary(value, 0.0, 0.5 * value, 1.5 * value, 3)
        for point in range(3)
        for name, value in MEASURED.items()
    }
    text = rows_of(cells, Results(plan, summaries), ("1", "abc", "day"), heading=True)  # type: ignore[arg-type]
    lines = list(read_table(text))
    assert [(line.kind, line.workload, line.approach) for line in lines] == [
        (*cells[0], "ls"), (*cells[0], "dcs"), (*cells[1], "ls"),
    ], "the last one failed in all runs"  # fmt: skip
    assert (lines[0].air_bytes, lines[0].joules.mean, lines[0].notified_s) == (Measured(1e4, 5e3, 1.5e4), 2.0, None)
    wide, narrow = (Image.open(BytesIO(decision_figure(lines, narrow).png)) for narrow in (False, True))
    assert wide.width > wide.height
    assert narrow.width < narrow.height


def test_a_study_tells_what_the_map_has_for_its_crowd() -> None:
    plan = make_plan(load_preset("fanzone", folders=PRESETS))
    kind = kind_of(plan.runs[0])
    assert kind is not None
    assert (kind.people, kind.walking, kind.leaving, kind.contents) == (36, 0.0, 0.0, "photos")
    told = prior_words(plan)
    assert told.startswith("What the decision map has for this crowd (")
    leaving = load_preset("fanzone", {"scenario.churn": {"model": "leave", "fraction": 0.1}}, PRESETS)
    assert prior_words(make_plan(leaving)) != told
