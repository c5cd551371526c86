"""Venues, placement, streams of random numbers and churn."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from presence import is_on, moving_nodes

from thyme.model.errors import InputError
from thyme.world.churn import (
    Alternate,
    Change,
    Churn,
    ChurnModel,
    Crash,
    Join,
    Leave,
    Population,
    chosen_sparing,
    churn_of,
)
from thyme.world.mobility.placement import read_places, read_topology, static, uniform_places, write_topology
from thyme.world.streams import chosen, stream
from thyme.world.venue import PAPER_AREAS_M, paper_venue, venue_for


@pytest.mark.parametrize("nodes", PAPER_AREAS_M)
def test_sizing_by_density_gives_the_papers_areas(nodes: int) -> None:
    assert venue_for(nodes) == paper_venue(nodes)
    assert paper_venue(nodes).nodes_per_cell(nodes) == 2.0


@given(st.integers(50, 5000))
def test_any_crowd_gets_about_its_density(nodes: int) -> None:
    assert venue_for(nodes).nodes_per_cell(nodes) == pytest.approx(2.0, rel=0.1)


def test_an_area_the_paper_does_not_give_is_refused() -> None:
    with pytest.raises(InputError, match="50 nodes"):
        paper_venue(50)


@given(st.integers(1, 60), st.integers(0, 20), st.integers(0, 2**32))
def test_a_further_node_changes_nobody_elses_place(nodes: int, more: int, seed: int) -> None:
    some = uniform_places(nodes, 400.0, 200.0, seed)
    all_of_them = uniform_places(nodes + more, 400.0, 200.0, seed)
    assert (all_of_them[:nodes] == some).all()


def test_places_are_uniform_over_the_area() -> None:
    places = uniform_places(2000, 400.0, 200.0, 1)
    assert places.mean(axis=0) == pytest.approx([200.0, 100.0], rel=0.05)
    assert places.std(axis=0) == pytest.approx([400.0 / 12**0.5, 200.0 / 12**0.5], rel=0.05)
    assert (places >= 0.0).all()
    assert (places <= (400.0, 200.0)).all()


def test_streams_of_two_purposes_differ() -> None:
    assert stream(1, "placement", 3).random() != stream(1, "waypoint", 3).random()
    assert stream(1, "placement", 3).random() == stream(1, "placement", 3).random()


@given(st.integers(0, 150), st.integers(0, 150), st.floats(0.0, 1.0), st.integers(0, 1000))
def test_a_further_node_changes_nobody_elses_choice(nodes: int, more: int, fraction: float, seed: int) -> None:
    some, all_of_them = chosen(nodes, fraction, seed, "x"), chosen(nodes + more, fraction, seed, "x")
    assert some == tuple(node for node in all_of_them if node < nodes)


@given(st.integers(0, 5), st.sampled_from([0.0, 0.05, 0.4, 0.6, 1.0]), st.integers(0, 1000))
def test_the_chosen_share_is_exact_in_full_blocks(blocks: int, fraction: float, seed: int) -> None:
    assert len(chosen(20 * blocks, fraction, seed, "x")) == round(20 * blocks * fraction)


def test_a_topology_file_reads_back_exactly(tmp_path: Path) -> None:
    places = uniform_places(30, 400.0, 200.0, 5)
    write_topology(tmp_path / "t.csv", places)
    assert (read_places(tmp_path / "t.csv") == places).all()
    assert (read_topology(tmp_path / "t.csv", 400.0, 200.0).positions(50.0) == places).all()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("n,x,y\n0,1,2\n", "line 1"),
        ("node,x_m,y_m\n0,1,2\n1,a,2\n", "line 3"),
        ("node,x_m,y_m\n0,1,2\n0,3,2\n", "line 3"),
        ("node,x_m,y_m\n0,1,2\n2,3,2\n", "without gaps"),
        ("node,x_m,y_m\n0,1,2\n1,-3,2\n", "node 1 is outside"),
    ],
)
def test_a_wrong_topology_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_topology(tmp_path / "t.csv")


def test_static_nodes_never_move() -> None:
    movement = static(uniform_places(10, 100.0, 50.0, 3), 100.0, 50.0)
    assert (movement.positions(0.0) == movement.positions(1e5)).all()
    assert not moving_nodes(movement, 7.0).any()


def made(model: ChurnModel, nodes: int = 100, joined_s: float = 0.0, seed: int = 1) -> Churn:
    return model.make(Population(nodes, joined_s, 3000.0, seed, lambda at_s: [0] * nodes))


def test_leaving_nodes_never_come_back() -> None:
    churn = made(Leave(nodes=(2, 5, 7), from_s=200.0, to_s=300.0))
    assert [change.on for change in churn.changes] == [False] * 3
    assert all(200.0 <= change.at_s <= 300.0 for change in churn.changes)
    assert is_on(churn, 5, 199.0)
    assert not is_on(churn, 5, 300.0)
    assert is_on(churn, 4, 1e6)
    assert churn.starts_off() == ()


def test_joining_nodes_are_off_until_they_join() -> None:
    churn = made(Join(nodes=tuple(range(20)), from_s=30.0, to_s=60.0))
    assert churn.starts_off() == tuple(range(20))
    assert not any(is_on(churn, node, 29.0) for node in range(20))
    assert all(is_on(churn, node, 60.0) for node in range(20))


def test_a_crash_takes_its_share_at_once() -> None:
    churn = made(Crash(fraction=0.4, from_s=300.0), seed=2)
    assert len(churn.changes) == 40
    assert {change.at_s for change in churn.changes} == {300.0}
    assert not any(change.keeps_store for change in churn.changes)


def test_on_and_off_follow_each_other_in_whole_periods() -> None:
    churn = made(Alternate(fraction=0.4), joined_s=60.0, seed=3)
    by_node: dict[int, list[Change]] = {}
    for change in churn.changes:
        by_node.setdefault(change.node, []).append(change)
    assert len(by_node) == 40
    for changes in by_node.values():
        assert [change.on for change in changes] == [bool(place % 2) for place in range(len(changes))]
        for sooner, later in itertools.pairwise(changes):
            periods = (later.at_s - sooner.at_s) / (60.0 if later.on else 120.0)
            assert periods == pytest.approx(round(periods))


def test_three_of_four_periods_end_in_a_change() -> None:
    churn = made(Alternate(nodes=tuple(range(400)), spread=False), nodes=400, seed=4)
    firsts = [change for change in churn.changes if change.at_s == 120.0]
    assert len(firsts) / 400 == pytest.approx(0.75, abs=0.07)
    on_s = np.mean([np.mean([is_on(churn, node, at_s) for at_s in range(1500, 3000, 30)]) for node in range(40)])
    assert on_s == pytest.approx(2 / 3, abs=0.05)


def test_schedules_join_in_order_of_time() -> None:
    both = churn_of([*made(Join(nodes=(1,))).changes, *made(Leave(nodes=(1, 0), from_s=10.0, to_s=90.0)).changes])
    assert [change.at_s for change in both.changes] == sorted(change.at_s for change in both.changes)
    assert len(both.changes) == 3


def test_wrong_schedules_are_refused() -> None:
    with pytest.raises(InputError, match="order of time"):
        Churn((Change(2.0, 0, False), Change(1.0, 0, True)))
    with pytest.raises(InputError, match="reversed"):
        made(Leave(nodes=(0,), from_s=300.0, to_s=200.0))
    with pytest.raises(InputError, match="between 0 and 1"):
        chosen(10, 1.5, 1, "crashing")
    with pytest.raises(InputError, match="between 0 and 1"):
        chosen_sparing([0, 0, 1], (), 1.5, 1, "crashing")
    assert churn_of([Change(2.0, 0, False), Change(1.0, 0, True)]).changes[0].at_s == 1.0
