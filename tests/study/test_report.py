"""A report stands alone, tells the answer first, and hides neither failures nor settings."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.study.claims import Claim, claims_for, judge
from thyme.study.definition import StudyDefinition, load_preset
from thyme.study.figures import breakdown_figure, measure_figure, trace_figure
from thyme.study.headline import headline
from thyme.study.measures import MEASURES, RECALL, SUCCESS, SUCCESS_PARTS
from thyme.study.pages import prose
from thyme.study.plan import Plan, make_plan
from thyme.study.report import Effort, FailedRun, Report, render
from thyme.study.results import Results, Summary, axis_of
from thyme.study.stages import StageReport


def made_up(plan: Plan) -> Results:
    """Some number for every measure at every point, with an interval."""
    names = [*(measure.metric for measure in (*MEASURES, *SUCCESS_PARTS))]
    return Results(
        plan,
        {
            (point, metric): Summary(0.95 - 0.01 * point, 0.01, 0.94 - 0.01 * point, 0.96 - 0.01 * point, 3)
            for point in range(len(plan.points))
            for metric in names
        },
    )


@pytest.fixture
def results(small: StudyDefinition) -> Results:
    return made_up(make_plan(small))


def rendered(results: Results, failed: tuple[FailedRun, ...] = ()) -> str:
    axis = axis_of(results.plan)
    drawn = measure_figure(results, axis, MEASURES[0])
    assert drawn is not None
    effort = Effort((StageReport("runs", "done", "8 runs", 4.0),), 8, 3.5, "local[2]", "0")
    return render(Report(results.plan, results, headline(results), {"Figures": [drawn]}, (), failed, effort))


class _References(HTMLParser):
    """Whatever a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.order: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.order.append(tag)
        self.found.extend(value or "" for name, value in attrs if name in {"src", "href", "srcset", "data", "action"})


def test_a_report_refers_to_nothing_outside_itself(results: Results) -> None:
    page = rendered(results)
    parser = _References()
    parser.feed(page)
    assert parser.found
    assert all(reference.startswith("data:image/svg+xml;base64,") for reference in parser.found)
    assert not {"script", "link", "iframe", "object"} & set(parser.order)
    assert not re.search(r"url\(|@import|https?://", page)
    assert '<meta name="viewport" content="width=device-width' in page


def test_the_answer_comes_before_everything_else(results: Results) -> None:
    page = rendered(results)
    answer = page.index(prose(headline(results).answer))
    assert '<span class="name">Thyme-' in page, "names do not break at their hyphen"
    assert answer < page.index("The numbers it rests on") < page.index("<figure>") < page.index("Settings")
    assert "Nothing: all 8 runs finished." in page


def test_failures_are_told_with_their_error_and_escaped(results: Results) -> None:
    failure = FailedRun("r", "Thyme-LS, nodes 8", 2, "KeyError: '<node>'")
    page = rendered(results, (failure,))
    assert "1 of 8 runs gave no result" in page
    assert "KeyError: &#x27;&lt;node&gt;&#x27;" in page


def test_the_same_results_give_the_same_bytes(results: Results) -> None:
    axis = axis_of(results.plan)
    one, two = (measure_figure(results, axis, MEASURES[0]) for _ in range(2))
    assert one == two
    assert rendered(results) == rendered(results)


def test_a_figure_is_drawn_with_and_without_an_axis(results: Results) -> None:
    assert axis_of(results.plan).key == "nodes"
    single = made_up(make_plan(load_preset("quick", {"nodes": [16]})))
    axis = axis_of(single.plan)
    assert not axis.is_line
    assert measure_figure(single, axis, MEASURES[0]) is not None
    series = next(iter(axis.series))
    assert breakdown_figure(single, axis, series, "parts", "Parts", "", SUCCESS_PARTS) is not None
    assert measure_figure(Results(single.plan, {}), axis, MEASURES[0]) is None


def test_a_trace_is_drawn_over_time() -> None:
    operations = [Operation(i, 10.0 * i, NodeId(0), OperationKind.INSERT, oid=str(i)) for i in range(5)]
    picture = trace_figure(operations, "trace", "Operations")
    assert picture.png.startswith(b"\x89PNG")
    assert b"<svg" in picture.svg
    assert "5 operations" in picture.caption


def test_metrics_are_tidy(results: Results) -> None:
    header, *lines = results.csv().splitlines()
    assert header == "approach,nodes,metric,mean,deviation,low,high,runs"
    assert len(lines) == len(results.points) * len(results.metrics)
    assert "Thyme-LS,8,recall,0.95,0.01,0.94,0.96,3" in lines


def claim(relation: str, value: float | None = None, at: float | None = None, against: str = "") -> Claim:
    return Claim("X", "§1", "Thyme-LS", RECALL, relation, value, at, against, "as it was")


def test_claims_are_judged_by_their_rules(small: StudyDefinition) -> None:
    plan = make_plan(small)
    recall = {("Thyme-LS", 8): 0.9, ("Thyme-LS", 9): 0.8, ("one at a time", 8): 0.5, ("one at a time", 9): 0.5}
    results = Results(
        plan,
        {
            (number, RECALL): Summary(recall[(point.approach, point.values["nodes"])], None, None, None, 1)
            for number, point in enumerate(plan.points)
        },
    )
    claims = [
        claim(">=", 0.85),
        claim(">=", 0.75),
        claim("=", 0.81, at=9.0),
        claim("=", 0.84, at=9.0),
        claim("falls"),
        claim("holds"),
        claim(">", 1.5, against="one at a time"),
        claim(">", 1.7, against="one at a time"),
    ]
    verdicts = [judged.verdict for judged in judge(claims, results, axis_of(plan))]
    assert verdicts == ["differs", "holds", "holds", "differs", "holds", "differs", "holds", "differs"]


def test_figures_mark_numbers_and_not_ratios(results: Results) -> None:
    axis = axis_of(results.plan)
    recall = next(measure for measure in MEASURES if measure.metric == RECALL)
    bare = measure_figure(results, axis, recall)
    ratio = measure_figure(results, axis, recall, [claim(">", 1.5, against="one at a time")])
    number = measure_figure(results, axis, recall, [claim(">=", 0.85)])
    assert bare is not None
    assert ratio is not None
    assert number is not None
    assert ratio.png == bare.png
    assert number.png != bare.png


def test_numbers_of_another_place_are_not_marked_nor_judged() -> None:
    recall = next(measure for measure in MEASURES if measure.metric == RECALL)
    results = made_up(make_plan(load_preset("quick", {"nodes": [16]})))
    axis = axis_of(results.plan)
    assert (axis.key, axis.values) == ("nodes", (16.0,))
    bare, elsewhere, here = (
        measure_figure(results, axis, recall, claims)
        for claims in ([], [claim("=", 0.95, at=196.0)], [claim("=", 0.95, at=16.0)])
    )
    assert bare is not None
    assert elsewhere is not None
    assert here is not None
    assert elsewhere.png == bare.png
    assert here.png != bare.png
    assert [one.claim.at for one in judge([claim("=", 0.95, at=at) for at in (16.0, 196.0)], results, axis)] == [16.0]


def test_a_range_holds_from_its_lower_to_its_upper_end(results: Results) -> None:
    axis = axis_of(results.plan)
    ranges = [
        msgspec.structs.replace(claim("between", low), upper=high)
        for low, high in ((0.9, 0.99), (0.96, 0.99), (0.5, 0.94))
    ]
    judged = judge(ranges, results, axis)
    assert [one.verdict for one in judged] == ["holds", "differs", "differs"]
    assert judged[0].stated == "90%–99%"


def test_the_papers_statements_are_about_the_papers_configuration() -> None:
    claims = claims_for(made_up(make_plan(load_preset("thyme-static"))))
    assert {one.approach for one in claims} == {"Thyme-ES", "Thyme-LS", "Thyme-DCS of the papers"}


def test_the_papers_claims_name_metrics_that_are_measured() -> None:
    known = {measure.metric for measure in (*MEASURES, *SUCCESS_PARTS)}
    for preset in ("thyme-static", "thyme-crash", "thyme-transient", "thyme-mobile"):
        found = claims_for(made_up(make_plan(load_preset(preset))))
        assert found
        assert {one.metric for one in found} <= known | {SUCCESS}
    assert not claims_for(made_up(make_plan(load_preset("quick"))))
