"""What a paper states is judged by stated rules, and marked where it is a number on the axis."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from thyme.study.claims import Bound, Claim, Expectation, Found, Relation, Trend, agreement, judge_study, those_tested
from thyme.study.definition import StudyDefinition, load_preset
from thyme.study.figures.lines import metric_figure
from thyme.study.plan import Plan, make_plan
from thyme.study.report.tables import claims_table
from thyme.study.results import Results, Summary, axis_of
from thyme.study.shown_metrics import RECALL, SHOWN_METRICS

RECALL_SHOWN = next(measure for measure in SHOWN_METRICS if measure.metric == RECALL)


def expected(rule: Bound | Trend, at: float | None = None, against: str = "") -> Expectation:
    return Expectation(Claim("X", "§1", "as it was", rule, "Thyme-LS"), "Thyme-LS", RECALL, at, against)


@pytest.mark.parametrize(
    ("relation", "value", "found", "holds"),
    [
        ("=", 0.95, 0.965, True),
        ("=", 0.95, 0.98, False),
        ("=", 100.0, 119.0, True),
        ("=", 100.0, 121.0, False),
        ("=", 0.95, Summary(0.98, 0.1, 0.94, 1.02, 3), True),
        (">", 0.9, 0.9, False),
        (">=", 0.9, 0.9, True),
        ("<", 1.0, 1.0, False),
        ("<=", 1.0, 1.0, True),
    ],
)
def test_a_number_holds_by_its_relation(relation: Relation, value: float, found: Found, holds: bool) -> None:
    assert Bound(relation, value).holds([found]) == holds


def test_a_stated_tolerance_decides_whatever_the_interval() -> None:
    wide = Summary(0.5, 0.2, 0.2, 0.8, 2)
    assert Bound("=", 0.4).holds([wide])
    assert not Bound("=", 0.4, near=0.05).holds([wide])


def test_a_bound_holds_everywhere_or_not_and_tells_the_worst_place() -> None:
    bound = Bound(">=", 0.9, is_share=True)
    claim = Claim("X", "§1", "most", bound)
    judged = claim.judged_by_rule([0.95, 0.85, 0.99])
    assert (judged.stated, judged.measured, judged.verdict) == ("≥ 90%", "85.0%", "differs")
    ratio = Claim("X", "§1", "twice", Bound(">", 2.0, against="others")).judged_by_rule([3.0, 2.5])
    assert (ratio.stated, ratio.measured, ratio.verdict) == ("> 2 × others", "2.50 × others", "holds")


def test_a_range_holds_from_its_lower_to_its_upper_end() -> None:
    ranges = [Bound("between", low, high, is_share=True) for low, high in ((0.9, 0.99), (0.96, 0.99), (0.5, 0.94))]
    assert [one.holds([0.95]) for one in ranges] == [True, False, False]
    assert ranges[0].stated() == "90%–99%"


def test_a_trend_goes_from_the_first_place_to_the_last() -> None:
    assert Trend("falls").holds([0.9, 0.95, 0.8])
    assert Trend("holds").holds([0.9, 0.5, 0.88])
    assert not Trend("falls").holds([0.9, 0.88])
    assert Trend("falls", change=0.0).holds([0.9, 0.88])
    assert Trend("falls", is_share=True).told([0.9, 0.8]) == "90.0% → 80.0%"


def test_what_was_not_run_is_not_tested_and_not_counted() -> None:
    claims = [Claim("X", "§1", "falls", Trend("falls")).judged_by_rule(line) for line in ([], [0.9], [0.9, 0.8])]
    assert [claim.verdict for claim in claims] == ["not tested", "not tested", "holds"]
    assert agreement(claims) == "1 of 1 statements of the paper hold here too."
    table = claims_table(claims)
    assert table is not None
    assert "These runs cannot test 2 more." in table.lead
    assert claims_table(claims[:2]) is None


def test_a_study_is_judged_along_its_axis(small: StudyDefinition) -> None:
    plan = make_plan(small)
    recall = {("Thyme-LS", 8): 0.9, ("Thyme-LS", 9): 0.8, ("one at a time", 8): 0.5, ("one at a time", 9): 0.5}
    results = Results(
        plan,
        {
            (number, RECALL): Summary(recall[(point.approach, point.values["nodes"])], None, None, None, 1)
            for number, point in enumerate(plan.points)
        },
    )
    expectations = [
        expected(Bound(">=", 0.85)),
        expected(Bound(">=", 0.75)),
        expected(Bound("=", 0.81), at=9.0),
        expected(Bound("=", 0.84), at=9.0),
        expected(Trend("falls")),
        expected(Trend("holds")),
        expected(Bound(">", 1.5), against="one at a time"),
        expected(Bound(">", 1.7), against="one at a time"),
        expected(Bound("=", 0.9), at=196.0),
    ]
    verdicts = [claim.verdict for claim in judge_study(expectations, results, axis_of(plan))]
    assert verdicts == ["differs", "holds", "holds", "differs", "holds", "differs", "holds", "differs", "not tested"]


def test_figures_mark_numbers_and_not_ratios(results: Results) -> None:
    axis = axis_of(results.plan)
    bare = metric_figure(results, axis, RECALL_SHOWN)
    ratio = metric_figure(results, axis, RECALL_SHOWN, [expected(Bound(">", 1.5), against="one at a time")])
    number = metric_figure(results, axis, RECALL_SHOWN, [expected(Bound(">=", 0.85))])
    assert bare is not None
    assert ratio is not None
    assert number is not None
    assert ratio.png == bare.png
    assert number.png != bare.png


def test_numbers_of_another_place_are_not_marked_nor_judged(made_up: Callable[[Plan], Results]) -> None:
    results = made_up(make_plan(load_preset("quick", {"nodes": [16]})))
    axis = axis_of(results.plan)
    assert (axis.key, axis.values) == ("nodes", (16.0,))
    elsewhere, here = (expected(Bound("=", 0.95), at=at) for at in (196.0, 16.0))
    pictures = [metric_figure(results, axis, RECALL_SHOWN, marks) for marks in ([], [elsewhere], [here])]
    bare, unmarked, marked = (picture.png if picture else b"" for picture in pictures)
    assert unmarked == bare != b""
    assert marked != bare
    assert len(those_tested(judge_study([elsewhere, here], results, axis))) == 1
