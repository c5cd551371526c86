"""The decision map answers for a crowd by the crowds around it, among approaches that fit what is wanted."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import pytest

from thyme.approaches.deciding import Needs, decide, fits
from thyme.approaches.decision_table import TABLE, CrowdKind, DecisionRow, Measured, Workload, density_of, table
from thyme.model.errors import InputError

USUAL, CAMPUS = CrowdKind(20), CrowdKind(20, density=0.2)


def around(mean: float, spread: float = 0.0) -> Measured:
    return Measured(mean, mean * (1.0 - spread), mean * (1.0 + spread))


def line(
    kind: CrowdKind,
    approach: str,
    recall: float = 1.0,
    air: float = 100.0,
    notified_s: float = 0.5,
    workload: Workload = "all",
    spread: float = 0.1,
) -> DecisionRow:
    rest = (around(1.0), around(recall), around(notified_s, spread), around(1.0), around(air, spread))
    return DecisionRow(kind, workload, approach, *rest, around(1.0), around(0.1))


LINES = (
    line(USUAL, "es", air=80.0),
    line(USUAL, "ls", air=95.0),
    line(USUAL, "dcs", air=140.0),
    line(USUAL, "ls", workload="future"),
    line(USUAL, "dcs", air=140.0, workload="future"),
    line(USUAL, "socialcast", air=10.0, notified_s=12.0, workload="future"),
    line(USUAL, "walks", recall=0.6),
    line(USUAL, "walks", air=5.0, workload="future"),
    line(CAMPUS, "ls", recall=0.5),
    line(CAMPUS, "dcs", recall=0.3),
)


def names(kind: CrowdKind, needs: Needs, **more: Any) -> list[str]:
    return [one.approach for one in decide(kind, needs, lines=LINES, **more).best]


def test_a_winner_is_named_alone_only_if_no_other_range_meets_its_own() -> None:
    assert names(USUAL, Needs(server=True)) == ["es", "ls"], "72 to 88 and 85.5 to 104.5"
    assert names(USUAL, Needs()) == ["ls"], "85.5 to 104.5 and 126 to 154"
    close = [line(USUAL, "ls", air=95.0), line(USUAL, "dcs", air=96.0, spread=0.0)]
    sure = [line(USUAL, "ls", air=95.0, spread=0.0), line(USUAL, "dcs", air=96.0, spread=0.0)]
    assert [one.approach for one in decide(USUAL, lines=close).best] == ["ls", "dcs"]
    assert [one.approach for one in decide(USUAL, lines=sure).best] == ["ls"]


def test_only_what_is_asked_for_counts() -> None:
    assert names(USUAL, Needs(past=False, deletes=False)) == ["walks"], "walks are not judged by the past here"
    assert names(USUAL, Needs(past=False, deletes=False), priority="delay") == ["walks", "ls", "dcs"]


def test_where_nothing_is_dependable_the_one_that_brings_most_is_named() -> None:
    decision = decide(CAMPUS, lines=LINES)
    assert decision.approach == "ls"
    assert not decision.dependable


def test_between_crowds_of_the_map_figures_are_interpolated() -> None:
    walking = CrowdKind(20, walking=1.0)
    lines = [line(USUAL, "ls"), line(walking, "ls", recall=0.6, air=300.0), line(USUAL, "dcs", air=50.0)]
    decision = decide(CrowdKind(20, walking=0.25), lines=lines)
    assert (decision.how, set(decision.places)) == ("interpolated", {USUAL, walking})
    (found,) = decision.lines
    assert (found.approach, decision.unknown) == ("ls", ("dcs",)), "that one was not played where all walk"
    assert [found.recall.mean, found.air_bytes.mean, found.air_bytes.low] == pytest.approx([0.9, 150.0, 135.0])
    more = decide(CrowdKind(40), lines=[line(USUAL, "ls"), line(CrowdKind(80), "ls", air=300.0)])
    assert more.how == "interpolated"
    assert more.best[0].air_bytes.mean == pytest.approx(200.0), "people by their logarithm"


def test_what_differs_in_several_respects_is_combined_of_their_effects() -> None:
    lines = [
        line(USUAL, "ls", recall=0.8),
        line(CrowdKind(20, walking=1.0), "ls", recall=0.4, air=200.0, spread=0.3),
        line(CrowdKind(20, leaving=0.2), "ls", recall=0.6, air=50.0),
    ]
    decision = decide(CrowdKind(20, walking=1.0, leaving=0.2), lines=lines)
    assert decision.how == "combined"
    best = decision.best[0]
    assert [best.recall.mean, best.air_bytes.mean] == pytest.approx([0.3, 100.0])
    assert [best.air_bytes.low, best.air_bytes.high] == pytest.approx([70.0, 130.0]), "as wide as the widest of them"
    photos = decide(CrowdKind(20, contents="photos"), lines=[*lines, line(CrowdKind(20, contents="photos"), "ls")])
    assert photos.how == "played"


def test_numbers_of_people_at_which_the_crowd_is_unknown_are_passed_over() -> None:
    lines = [line(USUAL, "ls"), line(CrowdKind(20, walking=1.0), "ls"), line(CrowdKind(100), "ls")]
    assert decide(CrowdKind(60, walking=1.0), lines=lines).places == (CrowdKind(20, walking=1.0),)
    assert decide(CrowdKind(5_000), lines=lines).places == (CrowdKind(100),), "beyond the map, its end answers"
    with pytest.raises(InputError, match="has no crowds comparable with"):
        decide(CrowdKind(60, contents="photos"), lines=lines)


def test_numbers_that_no_crowd_has_are_refused() -> None:
    with pytest.raises(InputError, match="walking is 2; expected a share of the people, from 0 to 1"):
        CrowdKind(3, walking=2.0)
    with pytest.raises(InputError, match="expected positive numbers"):
        CrowdKind(-3)


def test_density_is_relative_to_the_reach_of_the_radio() -> None:
    assert density_of(2, 1_600.0, 5.0) == pytest.approx(2.0 * (5.0 / 113.0) ** 2)
    assert density_of(200, 160_000.0, 113.0) == pytest.approx(2.0)
    assert CrowdKind(200).reach == pytest.approx(50.1, abs=0.1)
    assert density_of(20, 0.0, 113.0) == 20.0, "no area is known: all in one cell"


def test_the_map_that_comes_with_thyme_names_an_approach_that_fits_in_every_crowd() -> None:
    lines = table()
    rows = list(csv.DictReader(files("thyme.approaches").joinpath(TABLE).read_text("utf-8").splitlines()))
    assert all(row["commit"] and row["seed"] and row["date"] for row in rows)
    assert {int(row["runs"]) for row in rows} == {3}
    assert all(one.recall.low <= one.recall.mean <= one.recall.high for one in lines)
    for place in {one.kind for one in lines if one.workload == "all"}:
        decision = decide(place)
        assert fits(decision.approach, Needs())
        assert decision.best[0].kind == place
        assert decision.how == "played"
