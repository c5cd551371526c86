"""The decision map: which crowds are played, what becomes of their results, and how a study tells of it."""

from __future__ import annotations

from io import BytesIO

from PIL import Image

from thyme.approaches.deciding import decide
from thyme.approaches.decision_table import CrowdKind, DecisionRow, Measured, read_table
from thyme.papers.thyme.claims import PRESETS
from thyme.sim.scenario import crowd_of
from thyme.study.decision import kind_of, prior_words
from thyme.study.definition import load_preset
from thyme.study.figures.decision import decision_figure
from thyme.study.map_plan import ALL, PEOPLE, STEPS, cells_of, definition_of, players, state_of
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
    for kind, workload in (cell for step in STEPS if step.people == 20 for cell in cells_of(step)):
        (run, *_) = make_plan(definition_of((kind, workload), ALL)).runs
        found = kind_of(run)
        assert found == crowd_of(run.scenario, kind.contents)
        assert found is not None
        assert (found.people, found.walking, found.leaving, found.switching, found.contents) == (
            kind.people, kind.walking, kind.leaving, kind.switching, kind.contents,
        )  # fmt: skip
        assert (run.trace.options.rates.always_share > 0.0) == (workload == "all")


def test_each_crowd_is_played_in_one_step() -> None:
    cells = [cell for step in STEPS for cell in cells_of(step)]
    assert len(cells) == len(set(cells))
    for people in PEOPLE:
        assert (CrowdKind(people), "all") in cells
        assert (CrowdKind(people, contents="photos"), "all") in cells
    assert len({cell for cell in cells if cell[0].people == 20}) == 10


def test_who_was_never_dependable_in_an_easier_crowd_does_not_play() -> None:
    def line(kind: CrowdKind, approach: str, recall: float) -> DecisionRow:
        one = Measured(1.0, 1.0, 1.0)
        return DecisionRow(kind, "all", approach, one, Measured(0.3, 0.2, recall), None, None, one, one, one)

    walking = CrowdKind(20, walking=1.0)
    known = [line(walking, "walks", 0.89), line(walking, "dcs", 0.9)]
    without = [name for name in ALL if name != "walks"]
    assert players((CrowdKind(50, walking=1.0), "all"), known) == without
    assert players((CrowdKind(20, walking=1.0, contents="photos"), "all"), known) == without, "larger contents"
    assert players((CrowdKind(50), "all"), known) == list(ALL), "another crowd"
    assert players((CrowdKind(50, walking=1.0), "future"), known) == list(ALL), "another workload"
    assert players((walking, "all"), known) == list(ALL), "itself"
    states = [state_of(people, known) for people in PEOPLE]
    assert (states[0].played, states[0].left_out) == (2, 0)
    assert [state.left_out for state in states[1:3]] == [1, 1]


def test_an_approach_that_an_easier_crowd_ruled_out_is_not_unknown() -> None:
    def line(people: int, approach: str, recall: float) -> DecisionRow:
        one, all_ = Measured(1.0, 1.0, 1.0), Measured(recall, recall, recall)
        return DecisionRow(CrowdKind(people), "all", approach, all_, all_, None, None, one, one, one)

    known = [line(20, "dcs", 1.0), line(20, "walks", 0.5), line(20, "ls", 1.0), line(50, "dcs", 1.0)]
    assert decide(CrowdKind(50), lines=known).unknown == ("ls",)
    assert decide(CrowdKind(50), lines=[*known, line(50, "ls", 1.0)]).unknown == ()


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
    assert told.startswith("The decision map for this crowd (")
    leaving = load_preset("fanzone", {"scenario.churn": {"model": "leave", "fraction": 0.1}}, PRESETS)
    assert prior_words(make_plan(leaving)) != told
