"""SocialCast's evaluation: its workload, its points, a seeded run, figures and claims."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from thyme.model.errors import InputError
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.model.settings import to_record
from thyme.papers.point_runs import play_points
from thyme.papers.socialcast.claims import judge_socialcast
from thyme.papers.socialcast.evaluation import SeededTraces, SocialCastEvaluation, write_evaluation
from thyme.papers.socialcast.points import (
    DEFAULT_READING,
    PREDICTION,
    RANDOM,
    READINGS,
    Reading,
    SocialMeasure,
    SocialPoint,
    measure,
    paper_scenario,
    socialcast_points,
)
from thyme.papers.socialcast.workload import SocialWorkload, communities_of, publication_of, social_operations, tag_of
from thyme.pipeline.runs.sweep import SweepProgress
from thyme.sim.run import simulate
from thyme.sim.scenario import Scenario
from thyme.study.claims import those_tested
from thyme.world.movement_models import RecordedContacts

COMMUNITIES = [node // 10 for node in range(100)]
SHORT = SocialWorkload(interval_s=120.0, from_s=300.0, to_s=500.0)


def short_point(routing: str, series: str = PREDICTION) -> SocialPoint:
    """A smaller crowd for half an hour, twice as dense as the paper's."""
    scenario = paper_scenario({"routing": routing, "sample_every_s": 1_000.0}, 2_000.0, caves={"caves": 4})
    time = msgspec.structs.replace(scenario.time, until_s=1_800.0)
    return SocialPoint("3", series, 5, msgspec.structs.replace(scenario, nodes=40, time=time), SHORT)


def test_half_subscribe_to_their_community_and_half_publish_every_minute() -> None:
    operations = social_operations(COMMUNITIES, SocialWorkload(), seed=3)
    subscribed = [one for one in operations if one.kind == OperationKind.SUBSCRIBE]
    published = [one for one in operations if one.kind == OperationKind.INSERT]
    assert len(subscribed) == len({one.node for one in subscribed}) == 50
    assert all(one.query == tag_of(COMMUNITIES[one.node]) for one in subscribed)
    assert len({one.node for one in published}) == 50
    assert all(3_000.0 <= one.at_s <= 3_500.0 for one in published)
    assert 8 * 50 <= len(published) <= 9 * 50
    assert [one.operation for one in operations] == list(range(len(operations)))
    assert operations == social_operations(COMMUNITIES, SocialWorkload(), seed=3)
    assert operations != social_operations(COMMUNITIES, SocialWorkload(), seed=4)


def test_publishers_may_be_taken_from_the_subscribers_of_their_interest() -> None:
    operations = social_operations(COMMUNITIES, SocialWorkload(chosen="subscribers"), seed=3)
    wants = {one.node: one.query for one in operations if one.kind == OperationKind.SUBSCRIBE}
    assert all(wants[one.node] == one.tags[0] for one in operations if one.kind == OperationKind.INSERT)


def test_impossible_workloads_are_refused() -> None:
    with pytest.raises(InputError, match="expected a number ≥ 0 and ≤ 1"):
        SocialWorkload(publishers=1.5)
    with pytest.raises(InputError, match="interval_s is 0; expected a number > 0"):
        SocialWorkload(interval_s=0.0)
    with pytest.raises(InputError, match="interval_s is nan"):
        SocialWorkload(interval_s=float("nan"))
    with pytest.raises(InputError, match="from_s is 9 and to_s 5; expected finite numbers, 1 ≤"):
        SocialWorkload(from_s=9.0, to_s=5.0)
    with pytest.raises(InputError, match="from_s is 3000 and to_s inf; expected finite"):
        SocialWorkload(to_s=float("inf"))
    with pytest.raises(InputError, match="size_bytes is -1; expected a whole number ≥ 0"):
        SocialWorkload(size_bytes=-1)
    with pytest.raises(InputError, match="community or contacts"):
        communities_of(Scenario())


def test_interests_of_a_contact_trace_are_its_communities(tmp_path: Path) -> None:
    file = tmp_path / "two_rooms.txt"
    rooms = [(a, b) for room in ((0, 1, 2), (3, 4, 5)) for a in room for b in room if a < b]
    file.write_text("".join(f"{20 * t} {a} {b}\n" for t in range(1, 9) for a, b in rooms) + "200 2 3\n")
    movement = RecordedContacts(str(file))
    found = communities_of(Scenario(nodes=7, movement=movement))
    assert found == [0, 0, 0, 1, 1, 1, 2]


def test_every_figure_of_the_paper_has_its_points_and_shared_ones_run_once() -> None:
    points = socialcast_points()
    assert {point.figure for point in points} == {"3", "4", "5", "6", "7", "8", "9", "10"}
    assert len({point.key for point in points}) < len(points)
    default = [point for point in points if point.figure == "7" and point.series == PREDICTION]
    for figure in ("3", "4", "5", "8", "9"):
        assert default[0].key in {point.key for point in points if point.figure == figure}


def played(point: SocialPoint, seed: int) -> SocialMeasure:
    """One run of a point; the seed decides network, ways, interests and publications alike."""
    scenario = msgspec.structs.replace(point.scenario, seed=seed)
    operations = social_operations(communities_of(scenario), point.workload, scenario.run_seed)
    return measure(simulate(scenario, operations).events, operations, point, seed)


def test_a_seeded_run_gives_what_it_always_gave() -> None:
    """A golden run: whatever changes these numbers changes SocialCast, its movement or its radio, and should say so."""
    result = played(short_point("prediction"), 1)
    again = played(short_point("prediction"), 1)
    assert result == again
    assert (result.delivered, result.ideal, result.traffic, max(result.hops)) == GOLDEN


GOLDEN = (163, 168, 581, 7)


def test_prediction_delivers_more_than_random_carriers_and_epidemic_the_most() -> None:
    delivery = {routing: played(short_point(routing), 2).delivery for routing in ("prediction", "none", "epidemic")}
    assert delivery["none"] < delivery["prediction"] <= delivery["epidemic"]


def test_figures_table_and_claims_come_from_whatever_was_run(tmp_path: Path) -> None:
    points = [short_point("prediction"), short_point("none", RANDOM)]
    found = {point.key: [played(point, 1)] for point in points}
    evaluated = write_evaluation(points, found, tmp_path, 2)
    assert [claim.id for claim in those_tested(evaluated.claims)] == ["S01", "S02", "S04"]
    assert {one.summary.runs for one in evaluated.measured} == {1}
    assert evaluated.pictures[0].name == "socialcast_figure_3"
    assert evaluated.pictures[0].png.startswith(b"\x89PNG")
    assert (tmp_path / "socialcast.csv").read_text().count("\n") == 3


def test_runs_on_spark_are_those_of_one_process_and_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    points = [short_point("prediction"), short_point("none")]
    told: list[SweepProgress] = []

    def sweep(seeds: range) -> dict[bytes, list[SocialMeasure]]:
        def seeded(point: SocialPoint, seed: int) -> tuple[Scenario, list[Operation]]:
            scenario = msgspec.structs.replace(point.scenario, seed=seed)
            return scenario, social_operations(communities_of(scenario), point.workload, scenario.run_seed)

        return play_points("socialcast", points, seeds, seeded, measure, tmp_path, "local[1]", told.append)[1]

    found = sweep(range(1, 2))
    assert (told[-1].done, told[-1].reused) == (2, 0)
    assert found == {point.key: [played(point, 1)] for point in points}
    assert sweep(range(1, 2)) == found
    assert told[-1].reused == 2


def test_the_deviation_between_runs_is_the_largest_of_all_points() -> None:
    scenario = paper_scenario({})
    points = [SocialPoint("7", PREDICTION, 0.0, scenario), short_point("none", RANDOM)]

    def runs(*delivered: int) -> list[SocialMeasure]:
        return [SocialMeasure(seed, each, 100, 10, 1.0, (1,), (0,)) for seed, each in enumerate(delivered)]

    def judged(found: dict[bytes, list[SocialMeasure]]) -> dict[str, bool]:
        return {claim.id: claim.holds for claim in those_tested(judge_socialcast(points, found))}

    assert judged({points[0].key: runs(90, 91), points[1].key: runs(40, 41)})["S16a"]
    assert not judged({points[0].key: runs(90, 91), points[1].key: runs(40, 49)})["S16a"]
    assert "S16a" not in judged({points[0].key: runs(90, 91), points[1].key: runs(40)})


def test_claims_are_judged_by_their_rules() -> None:
    points = [short_point("prediction"), short_point("none", RANDOM)]

    def runs(delivered: int, traffic: int) -> list[SocialMeasure]:
        return [SocialMeasure(1, delivered, 100, traffic, 1.0, (1,), (0,))]

    holding = judge_socialcast(points, {points[0].key: runs(93, 1000), points[1].key: runs(40, 1100)})
    assert [claim.holds for claim in those_tested(holding)] == [True, True, True]
    failing = judge_socialcast(points, {points[0].key: runs(80, 1000), points[1].key: runs(50, 2000)})
    assert [claim.holds for claim in those_tested(failing)] == [False, False, False]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"figures": ["11"]}, 'figures.0 is "11"; expected one of 10, 3, 4'),
        ({"repetitions": 0}, "repetitions is 0"),
        ({"reading": "seven hops"}, 'reading is "seven hops"; expected one of default, per copy, six hops'),
    ],
)
def test_an_evaluation_says_what_it_cannot_do(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        to_record(given, SocialCastEvaluation, "socialcast")


def test_own_messages_do_not_count_as_delivered() -> None:
    point = short_point("prediction")
    scenario = point.scenario
    operations = social_operations(
        communities_of(scenario), SocialWorkload(1.0, 1.0, "subscribers", 300.0, 300.0, 500.0), 1
    )
    result = measure(simulate(scenario, operations).events, operations, point, 1)
    assert 0 < result.delivered <= result.ideal
    assert min(result.hops) >= 1


def test_readings_change_what_the_paper_leaves_open_and_nothing_else() -> None:
    assert SocialCastEvaluation().chosen_reading() == DEFAULT_READING
    assert SocialCastEvaluation(reading="six hops", ttl_hops=10).chosen_reading() == Reading(300, 10, 0.0001)
    usual, six_hops = socialcast_points(), socialcast_points(reading=READINGS["six hops"])
    assert [point.series for point in usual] == [point.series for point in six_hops]
    hops = {point.figure: point.scenario.settings["ttl_hops"] for point in six_hops}
    assert hops == {"3": 6, "4": 6, "5": 50, "6": 0, "7": 6, "8": 6, "9": 6, "10": 0}
    assert {getattr(point.scenario.movement, "drift", None) for point in six_hops} == {0.0001}
    assert {point.scenario.settings["memory_ids"] for point in six_hops} == {300}


def test_each_copy_may_have_an_identifier_of_its_own() -> None:
    usual, per_copy = socialcast_points(), socialcast_points(reading=READINGS["per copy"])
    for one, other in zip(usual, per_copy, strict=True):
        assert other.scenario.settings["copies"] == 1
        assert other.messages == one.scenario.settings["copies"]
    whole, parted = (social_operations(COMMUNITIES, SocialWorkload(), 3, messages) for messages in (1, 3))
    published, copies = ([one for one in some if one.oid] for some in (whole, parted))
    assert len({one.oid for one in copies}) == len(copies) == 3 * len(published)
    assert [one.at_s for one in copies[::3]] == [one.at_s for one in published]
    assert len({publication_of(one.oid) for one in copies}) == len(published)
    assert [one.operation for one in parted] == list(range(len(parted)))


def test_a_publication_counts_once_whichever_of_its_messages_arrives() -> None:
    point = short_point("prediction")
    scenario = msgspec.structs.replace(point.scenario, seed=1)
    scenario = msgspec.structs.replace(scenario, settings={**scenario.settings, "copies": 1})
    communities = communities_of(scenario)
    whole, parted = (social_operations(communities, point.workload, scenario.run_seed, many) for many in (1, 3))
    alone, several = (measure(simulate(scenario, ops).events, ops, point, 1) for ops in (whole, parted))
    assert several.ideal == alone.ideal
    assert alone.delivered <= several.delivered <= several.ideal
    assert several.traffic > alone.traffic


def test_runs_may_share_one_network_and_differ_in_their_random_numbers() -> None:
    point = socialcast_points(("7",), READINGS["default"])[0]
    one = msgspec.structs.replace(point, one_network=True)
    traces = SeededTraces(5)
    (first, early), (again, late) = traces.seeded(one, 5), traces.seeded(one, 6)
    assert first.place_seed == again.place_seed
    assert first.run_seed != again.run_seed
    assert early != late
    assert traces.seeded(point, 6)[0].place_seed != first.place_seed
