"""DRIP's evaluation: its points, a seeded run, coverage, the analysis, figures and claims."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.operations import Operation
from thyme.model.records import Copied, Notified, OperationKind
from thyme.model.settings import to_record
from thyme.papers.drip.claims import judge_drip
from thyme.papers.drip.evaluation import DripEvaluation, write_evaluation
from thyme.papers.drip.figures import analysis_table, meeting_time_s
from thyme.papers.drip.points import SF, DripMeasure, DripPoint, drip_points, measure, seeded
from thyme.sim.radios.models import DiscModel, WifiModel
from thyme.sim.recorder import Recorder
from thyme.sim.run import simulate
from thyme.world.movement_models import Static


def small_point(**settings: object) -> DripPoint:
    """A fifth of the crowd on a fifth of the area, for 30 s."""
    point = next(point for point in drip_points(["3b"], 30.0) if point.series == "DRIP, m = 2" and point.x == 10)
    venue = msgspec.structs.replace(point.scenario.venue, width_m=450.0, height_m=450.0)
    given = {**point.scenario.settings, **settings}
    scenario = msgspec.structs.replace(point.scenario, nodes=40, venue=venue, settings=given)
    return msgspec.structs.replace(point, scenario=scenario)


def played(point: DripPoint, seed: int) -> DripMeasure:
    scenario, operations = seeded(point, seed)
    return measure(simulate(scenario, operations).events, operations, point, seed)


def test_the_points_are_the_papers_without_those_that_break_its_bound() -> None:
    points = drip_points()
    assert {(point.figure, point.x) for point in points} == {
        (f, k) for f in ("3a", "3b", "4") for k in (10, 20, 30, 40)
    }
    for point in points:
        settings = point.scenario.settings
        assert settings["likely_brokers"] == (4 if point.figure == "3a" and not point.series.startswith(SF) else 5)
        assert settings["likely_brokers"] + settings["copies"] < point.x
    assert not [point for point in points if point.series == "DRIP, m = 6" and point.x == 10]
    assert len({point.key for point in points}) == len(points) - 12, "Figure 3(b) shares SF and DRIP with others"
    scenario = points[0].scenario
    assert (scenario.nodes, scenario.radio, scenario.time.until_s) == (200, DiscModel(range_m=120.0), 540.0)


def test_brokers_may_remember_events_in_proportion_to_their_ability() -> None:
    assert "events_per_ability" not in drip_points(["4"])[0].scenario.settings
    points = drip_points(["4"], events_per_ability=2.0)
    assert {point.scenario.settings["events_per_ability"] for point in points} == {2.0}


def test_the_seed_decides_abilities_and_workload_alike() -> None:
    scenario, operations = seeded(small_point(), 7)
    assert scenario.settings["ability_seed"] == 7
    assert (scenario, operations) == seeded(small_point(), 7)
    assert operations != seeded(small_point(), 8)[1]


def test_a_run_delivers_and_says_how_many_brokers_had_each_event() -> None:
    result = played(small_point(), 1)
    assert 0.5 < result.delivery <= 1.0
    assert 0.1 < result.coverage <= 1.0
    assert 0.0 < result.delay_s < 40.0
    assert played(small_point(), 1) == result


def test_coverage_counts_the_brokers_that_have_the_event_when_its_subscriber_gets_it() -> None:
    event, other = ObjectKey("e", NodeId(1)), ObjectKey("f", NodeId(1))
    operations = [
        Operation(0, 1.0, NodeId(2), OperationKind.SUBSCRIBE, sid=0, query="n5 | n6"),
        Operation(1, 1.0, NodeId(1), OperationKind.SUBSCRIBE, sid=0, query="n5"),
        Operation(2, 10.0, NodeId(1), OperationKind.INSERT, oid="e", tags=("n5",)),
        Operation(3, 11.0, NodeId(1), OperationKind.INSERT, oid="f", tags=("n7",)),
    ]
    recorder = Recorder()
    for at_s, broker in ((10.0, 3), (12.0, 4), (20.0, 5)):
        recorder.record(at_s, broker, Copied(event))
    recorder.record(11.0, 6, Copied(other))
    recorder.record(10.0, 1, Notified(SubscriptionKey(0, NodeId(1)), event, 0.0))
    recorder.record(15.0, 2, Notified(SubscriptionKey(0, NodeId(2)), event, 5.0))
    events: pa.Table = recorder.table(30.0)
    found = measure(events, operations, small_point(), seed=1)
    assert (found.delivered, found.ideal) == (1, 1), "the publisher's own subscription does not count"
    assert found.coverage == pytest.approx(0.2)
    assert found.delay_s == pytest.approx(5.0)


def test_of_an_event_that_several_detect_the_first_object_to_arrive_counts() -> None:
    first, second = ObjectKey("e", NodeId(1)), ObjectKey("e", NodeId(3))
    operations = [
        *(Operation(node, 1.0, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query="n5") for node in (2, 3)),
        *(
            Operation(4 + at, 10.0, key.owner, OperationKind.INSERT, oid="e", tags=("n5",))
            for at, key in ((0, first), (1, second))
        ),
    ]
    recorder = Recorder()
    for at_s, broker, key in ((10.5, 7, second), (11.0, 7, first), (12.0, 8, first), (14.0, 9, first)):
        recorder.record(at_s, broker, Copied(key))
    recorder.record(12.0, 3, Notified(SubscriptionKey(0, NodeId(3)), first, 2.0))
    recorder.record(13.0, 2, Notified(SubscriptionKey(0, NodeId(2)), second, 3.0))
    recorder.record(15.0, 2, Notified(SubscriptionKey(0, NodeId(2)), first, 5.0))
    found = measure(recorder.table(30.0), operations, small_point(), seed=1)
    assert (found.delivered, found.ideal) == (1, 1), "who detects it is not told of it"
    assert (found.delay_s, found.coverage, found.step_s) == pytest.approx((3.0, 0.2, 0.5))


def test_regions_meet_at_a_rate_that_movement_decides() -> None:
    scenario = seeded(small_point(), 1)[0]
    walking_s = meeting_time_s(scenario)
    assert 1.0 < walking_s < 100.0
    assert meeting_time_s(msgspec.structs.replace(scenario, movement=Static())) > 20.0 * walking_s


def test_figures_tables_and_claims_of_made_up_runs(tmp_path: Path) -> None:
    points = drip_points(duration_s=20.0)
    found = {point.key: [_made_up(point, seed) for seed in (1, 2)] for point in points}
    evaluated = write_evaluation(points, found, tmp_path, 2 * len(found))
    claims = {claim.id: claim for claim in evaluated.claims}
    assert {id_: claim.holds for id_, claim in claims.items()} == {
        "D01": True, "D02": True, "D03": True, "D04": True, "D05": True, "D06": True,
    }  # fmt: skip
    assert "k = 20: 18 s against 40 s (-22 ± 0)" in claims["D06"].measured
    assert "over bridges 39.9 s" in claims["D03"].measured
    assert [picture.name for picture in evaluated.pictures] == [
        f"drip_{name}" for name in ("figure_3a", "figure_3b", "figure_4", "analysis")
    ]
    delays = [one for one in evaluated.measured if one.metric == "delay_s" and one.place["series"] == "DRIP, m = 4"]
    assert [one.summary.runs for one in delays] == [2] * 8
    assert len((tmp_path / "drip.csv").read_text().splitlines()) == 1 + len(points)
    rows = {row.likely: row for row in analysis_table(points, found) if row.copies == 2 and row.brokers == 10}
    assert rows[4].series_s == pytest.approx(rows[4].meeting_s * 4.0 / 8.0)
    row = rows[5]
    assert row.printed_s == pytest.approx(row.meeting_s * 40.0 / 8.0)
    assert row.exact_s == pytest.approx(row.meeting_s * (137.0 / 60.0) / 2.0)
    assert row.series_s == 0.0


def test_a_claim_that_does_not_hold_is_told_so_and_one_without_runs_is_not_tested() -> None:
    points = drip_points(["3b"])
    found = {point.key: [DripMeasure(1, 10, 10, float(point.scenario.settings["copies"]), 0.5, 1)] for point in points}
    judged = {claim.id: claim.verdict for claim in judge_drip(points, found)}
    without = dict.fromkeys(("D01", "D02", "D06"), "not tested")
    assert judged == {**without, **dict.fromkeys(("D03", "D04", "D05"), "differs")}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"figures": []}, r"figures is \[\]; expected a list of length >= 1"),
        ({"duration_s": -5.0}, "duration_s is -5"),
        ({"duration_s": float("nan")}, "duration_s is nan"),
        ({"passing": "all"}, 'passing is "all"; expected one of copies, interested'),
    ],
)
def test_what_is_no_figure_duration_or_passing_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        to_record(given, DripEvaluation, "drip")


def _made_up(point: DripPoint, seed: int) -> DripMeasure:
    """A run as the paper says it would be."""
    settings = point.scenario.settings
    k, m = settings["brokers"], settings["copies"]
    delay_s = 10.0 + 0.6 * k - m
    if settings["relay"] == "sf" or settings["selection"] == "random":
        delay_s = 40.0 + 0.01 * (k - 20)
    return DripMeasure(seed, 9, 10, delay_s, (m + 4.0) / k, 100)


def test_what_the_paper_leaves_open_can_be_read_otherwise() -> None:
    usual, copies = drip_points(["3b"]), drip_points(["3b"], passing="copies")
    changed = {point.series for point, other in zip(usual, copies, strict=True) if point.scenario != other.scenario}
    assert changed == {"DRIP, m = 2", "DRIP, m = 4", "DRIP, m = 6"}
    assert {point.scenario.settings.get("passing") for point in copies} == {None, "copies"}
    assert isinstance(drip_points(["4"], radio="wifi")[0].scenario.radio, WifiModel)
