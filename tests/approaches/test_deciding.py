"""The decision map answers for a crowd by the places around it, among approaches that fit what is wanted."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from thyme.approaches.deciding import TABLE, CrowdKind, Line, Needs, Workload, corners_of, decide, fits, table
from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError

HALL, CAMPUS = CrowdKind(20.0), CrowdKind(2.0, walking=1.0)


def line(
    kind: CrowdKind,
    approach: str,
    recall: float = 1.0,
    air: float = 100.0,
    notified_s: float = 0.1,
    workload: Workload = "all",
) -> Line:
    return Line(kind, workload, approach, 1.0, recall, notified_s, 1.0, air, 1.0, 0.1)


LINES = (
    line(HALL, "es", air=80.0),
    line(HALL, "ls", air=100.0),
    line(HALL, "dcs", air=140.0),
    line(HALL, "ls", workload="future"),
    line(HALL, "dcs", air=140.0, workload="future"),
    line(HALL, "socialcast", air=10.0, notified_s=12.0, workload="future"),
    line(HALL, "walks", recall=0.6),
    line(HALL, "walks", air=5.0, workload="future"),
    line(CAMPUS, "ls", recall=0.5),
    line(CAMPUS, "dcs", recall=0.3),
)


def names(kind: CrowdKind, needs: Needs, **more: object) -> list[str]:
    return [one.approach for one in decide(kind, needs, lines=LINES, **more).best]  # type: ignore[arg-type]


def test_who_sends_least_comes_first_and_who_sends_little_more_cannot_be_told_apart() -> None:
    assert names(HALL, Needs(server=True)) == ["es", "ls"]
    assert names(HALL, Needs()) == ["ls", "dcs"]
    assert names(HALL, Needs(positions=False)) == ["ls"]
    assert names(HALL, Needs(past=False, deletes=False)) == ["walks"], "walks are not judged by the past here"
    assert names(HALL, Needs(past=False, deletes=False), priority="delay") == ["walks", "ls", "dcs"]


def test_where_nothing_is_dependable_the_one_that_brings_most_is_named() -> None:
    decision = decide(CrowdKind(1.0, walking=1.0), lines=LINES)
    assert decision.approach == "ls"
    assert not decision.dependable


def test_between_places_of_the_map_figures_are_interpolated() -> None:
    standing, walking = CrowdKind(20.0), CrowdKind(20.0, walking=1.0)
    lines = [line(standing, "ls"), line(walking, "ls", recall=0.6, air=300.0), line(standing, "dcs", air=50.0)]
    assert corners_of(CrowdKind(20.0, walking=0.25), lines) == {standing: 0.75, walking: 0.25}
    decision = decide(CrowdKind(20.0, walking=0.25), lines=lines)
    assert decision.places == (standing, walking)
    (found,) = decision.lines  # the other approach was not measured on both sides
    assert found.approach == "ls"
    assert [found.recall, found.air_bytes] == pytest.approx([0.9, 150.0])
    beyond = decide(CrowdKind(90.0), lines=lines)
    assert (beyond.places, beyond.approach) == ((standing,), "dcs"), "beyond the map, its end answers"


def test_numbers_that_no_crowd_has_are_refused() -> None:
    with pytest.raises(InputError, match="walking 2, switching 0: expected shares from 0 to 1"):
        CrowdKind(3.0, walking=2.0)
    with pytest.raises(InputError, match="negative"):
        CrowdKind(-3.0)


def test_the_map_that_comes_with_thyme_has_all_six_in_every_crowd() -> None:
    lines = table()
    places = {one.kind for one in lines}
    workloads = {one.workload for one in lines}
    assert len(lines) == len(workloads) * len(places) * len(APPROACHES)
    assert {one.approach for one in lines} == set(APPROACHES)
    rows = list(csv.DictReader(files("thyme.approaches").joinpath(TABLE).read_text("utf-8").splitlines()))
    assert all(row["commit"] and row["seed"] and row["date"] for row in rows)
    for place in places:
        decision = decide(place)
        assert fits(decision.approach, Needs())
        assert decision.best[0].kind == place
