"""A report stands alone, tells the answer first, and hides neither failures nor settings."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from thyme.cli.namespaces import app as namespaces
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.runs.carried import pack_trace
from thyme.pipeline.runs.run import RunSpec
from thyme.pipeline.traces.outline import outline_of
from thyme.sim.traces import read_trace, table_from_operations
from thyme.study.animation import animation_of
from thyme.study.definition import StudyDefinition, load_preset
from thyme.study.figures.chosen import FigureGroup, draw
from thyme.study.figures.lines import breakdown_figure, metric_figure, trace_figure
from thyme.study.plan import Plan, make_plan
from thyme.study.report.choosing import Score
from thyme.study.report.headline import headline
from thyme.study.report.pages import prose
from thyme.study.report.report import Report, at_the_event, render
from thyme.study.report.tables import Expense, FailedRun
from thyme.study.results import Results, Summary, axis_of
from thyme.study.shown_metrics import COSTS, SHOWN_METRICS, SUCCESS_PARTS, WORKS
from thyme.study.stages import StageReport
from thyme.study.variations import Variation


def rendered(results: Results, failed: tuple[FailedRun, ...] = ()) -> str:
    axis = axis_of(results.plan)
    drawn = metric_figure(results, axis, SHOWN_METRICS[0])
    assert drawn is not None
    expense = Expense((StageReport("runs", "done", "8 runs", 4.0),), 8, 3.5, "local[2]")
    return render(
        Report(
            results.plan,
            results,
            headline(results),
            {"Figures": FigureGroup([drawn], ["Energy: 500 J everywhere."])},
            (),
            failed,
            expense,
        )
    )


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
    assert not {"link", "object"} & set(parser.order)
    assert parser.order.count("script") == 1, "the one that sorts tables, within the page"
    assert not re.search(r"url\(|@import|https?://", page)
    assert '<meta name="viewport" content="width=device-width' in page


def test_the_answer_comes_before_everything_else(results: Results) -> None:
    page = rendered(results)
    answer = page.index(prose(headline(results).answer))
    assert '<span class="name">Owners (Thyme-LS)</span>' in page, "names do not break at their hyphen"
    assert answer < page.index("The numbers behind the answer") < page.index("<figure>") < page.index("Settings")
    assert "Nothing: all 8 runs finished." in page


def test_failures_are_told_with_their_error_and_escaped(results: Results) -> None:
    failure = FailedRun("r", "Thyme-LS, nodes 8", 2, "KeyError: '<node>'", "Thyme-LS")
    page = rendered(results, (failure,))
    told = page.index(
        '1 of 4 runs of <span class="name">Owners (Thyme-LS)</span> failed, so what follows is without them'
    )
    assert told < page.index("What was compared"), "on the first screen"
    assert "1 of 8 runs gave no result" in page
    assert "KeyError: &#39;&lt;node&gt;&#39;" in page


def test_the_same_results_give_the_same_bytes(results: Results) -> None:
    axis = axis_of(results.plan)
    one, two = (metric_figure(results, axis, SHOWN_METRICS[0]) for _ in range(2))
    assert one == two
    assert rendered(results) == rendered(results)


def test_a_figure_is_drawn_with_and_without_an_axis(results: Results, made_up: Callable[[Plan], Results]) -> None:
    assert axis_of(results.plan).key == "nodes"
    single = made_up(make_plan(load_preset("quick", {"nodes": [16]})))
    axis = axis_of(single.plan)
    assert not axis.is_line
    assert metric_figure(single, axis, SHOWN_METRICS[0]) is not None
    series = next(iter(axis.series))
    assert breakdown_figure(single, axis, series, "parts", "Parts", "", SUCCESS_PARTS) is not None
    assert metric_figure(Results(single.plan, {}), axis, SHOWN_METRICS[0]) is None


def test_a_trace_is_drawn_over_time() -> None:
    operations = [Operation(i, 10.0 * i, NodeId(0), OperationKind.INSERT, oid=str(i)) for i in range(5)]
    picture = trace_figure(outline_of(table_from_operations(operations).to_batches()), "trace", "Operations")
    assert picture.png.startswith(b"\x89PNG")
    assert b"<svg" in picture.svg
    assert "5 operations" in picture.caption


def test_metrics_are_tidy(results: Results) -> None:
    header, *lines = results.csv().splitlines()
    assert header == "approach,nodes,metric,mean,deviation,low,high,runs"
    assert len(lines) == len(results.points) * len(results.metrics)
    assert "Thyme-LS,8,recall,0.95,0.01,0.94,0.96,3" in lines


def test_a_figure_tells_its_numbers_where_somebody_points(results: Results) -> None:
    axis = axis_of(results.plan)
    picture = metric_figure(results, axis, SHOWN_METRICS[1])
    assert picture is not None
    assert [mark.told for mark in picture.marks if "(Thyme-LS), 8 people" in mark.told] == [
        "Owners (Thyme-LS), 8 people: 95.0% (94.0% to 96.0%)"
    ]
    for mark in picture.marks:
        assert 0.0 < mark.left < mark.left + mark.width < 1.0
        assert 0.0 < mark.top < mark.top + mark.height < 1.0
    by_place = {mark.told: mark for mark in picture.marks}
    assert len(by_place) == len(picture.marks) == len(results.points)


def test_what_does_not_differ_is_a_sentence(made_up: Callable[[Plan], Results]) -> None:
    """All kinds of operations have the same made-up success."""
    plan = make_plan(load_preset("quick", {"nodes": [16], "approaches": ["ls", "drip"], "variations": []}))
    works = draw(made_up(plan), axis_of(plan), (), ())[WORKS]
    assert not [picture.name for picture in works.pictures if picture.name.startswith("success-of")]
    assert works.remarks == [
        "Each kind of operation by itself, with Thyme-LS: 95.0%.",
        "Each kind of operation by itself, with DRIP: 94.0%.",
    ]


def test_the_approach_of_the_answer_is_seen_at_work(small: StudyDefinition) -> None:
    plan = make_plan(small)
    spec = RunSpec(plan.runs[0].scenario, pack_trace(read_trace(plan.runs[0].trace.file)))
    animation = animation_of("Thyme-LS", spec)
    assert animation is not None
    assert animation.title == "Owners (Thyme-LS) at work"
    shown = json.loads(animation.page.partition("const run = ")[2].partition(";\n")[0])
    assert any(snapshot["m"] for snapshot in shown["shots"]), "messages on their way"
    assert {shown["whats"][what] for _, _, what, _, _ in shown["deeds"]} >= {
        "published",
        "subscribed to",
        "was notified of",
    }
    assert animation_of("Thyme-LS", RunSpec(spec.scenario, pack_trace(()))) is None


def test_what_differs_only_between_variations_is_a_sentence_unless_it_is_a_share(small: StudyDefinition) -> None:
    variation = Variation("everybody walks", {"movement": {"model": "waypoint"}})
    plan = make_plan(msgspec.structs.replace(small, grid={"nodes": [8]}, variations=(variation,)))
    energy, recall = "energy.node_joules.mean", SHOWN_METRICS[1].metric
    means = {energy: [500.0, 510.0, 600.0, 610.0], recall: [1.0, 0.98, 0.97, 1.0]}
    summaries = {
        (point, metric): Summary(mean, None, None, None, 1)
        for metric, of_points in means.items()
        for point, mean in enumerate(of_points)
    }
    groups = draw(Results(plan, summaries), axis_of(plan), (), ())
    assert groups[COSTS].remarks == ["Energy: 500 J to 610 J, by variation; approaches differ little."]
    assert "recall-by-variation" in [picture.name for picture in groups[WORKS].pictures]


@pytest.mark.parametrize("name", ["es", "ls", "dcs"])
def test_the_commands_for_the_event_are_those_of_the_command_line(name: str, tmp_path: Path) -> None:
    plan = make_plan(load_preset("quick", {"approaches": [name], "nodes": [16]}))
    score = Score(0, plan.points[0].approach, name == "es", 1.0, 1.0, 0.1, 36e6, 600.0)
    event = at_the_event(plan, score)
    assert ("server" in event.needs, "battery" in event.costs) == (True, True)
    new, invite = (step.command for step in event.steps if "namespace new" in step.command or "invite" in step.command)
    for command in (new.replace("ID", "5"), invite):
        told = CliRunner().invoke(namespaces, [*shlex.split(command)[2:], "--store", str(tmp_path)])
        assert told.exit_code == 0, told.output
        assert "thyme:" in told.output
