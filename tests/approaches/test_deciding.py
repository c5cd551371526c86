"""The decision map answers for a crowd by the place that is most like it, among approaches that fit what is wanted."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from thyme.approaches.deciding import TABLE, CrowdKind, Line, Needs, decide, fits, nearest, table
from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError

HALL, CAMPUS = CrowdKind(20.0), CrowdKind(2.0, walking=1.0)


def line(kind: CrowdKind, approach: str, recall: float = 1.0, air: float = 100.0, notified_s: float = 0.1) -> Line:
    return Line(kind, approach, 1.0, recall, notified_s, 1.0, air, 1.0, 0.1)


LINES = (
    line(HALL, "es", air=80.0),
    line(HALL, "ls", air=100.0),
    line(HALL, "dcs", air=140.0),
    line(HALL, "socialcast", air=10.0, notified_s=12.0),
    line(CAMPUS, "ls", recall=0.5),
    line(CAMPUS, "dcs", recall=0.3),
)


def names(kind: CrowdKind, needs: Needs, **more: object) -> list[str]:
    return [one.approach for one in decide(kind, needs, lines=LINES, **more).best]  # type: ignore[arg-type]


def test_who_sends_least_comes_first_and_who_sends_little_more_cannot_be_told_apart() -> None:
    assert names(HALL, Needs(server=True)) == ["es", "ls"]
    assert names(HALL, Needs()) == ["ls", "dcs"]
    assert names(HALL, Needs(positions=False)) == ["ls"]
    assert names(HALL, Needs(past=False, deletes=False)) == ["socialcast"]
    assert names(HALL, Needs(past=False, deletes=False), matters="soon") == ["ls", "dcs"]


def test_where_nothing_is_dependable_the_one_that_brings_most_is_named() -> None:
    decision = decide(CrowdKind(1.0, walking=0.9), lines=LINES)
    assert decision.approach == "ls"
    assert not decision.dependable


def test_the_nearest_place_answers() -> None:
    assert nearest(CrowdKind(14.0, walking=0.2), LINES) == HALL
    assert nearest(CrowdKind(4.0, walking=0.8), LINES) == CAMPUS
    with pytest.raises(InputError, match="from 0 to 1"):
        CrowdKind(3.0, walking=2.0)
    with pytest.raises(InputError, match="negative"):
        CrowdKind(-3.0)


def test_the_map_that_comes_with_thyme_has_all_six_in_every_crowd() -> None:
    lines = table()
    places = {one.kind for one in lines}
    assert len(lines) == len(places) * len(APPROACHES)
    assert {one.approach for one in lines} == set(APPROACHES)
    rows = list(csv.DictReader(files("thyme.approaches").joinpath(TABLE).read_text("utf-8").splitlines()))
    assert all(row["commit"] and row["seed"] and row["date"] for row in rows)
    for place in places:
        decision = decide(place)
        assert fits(decision.approach, Needs())
        assert decision.best[0].kind == place
