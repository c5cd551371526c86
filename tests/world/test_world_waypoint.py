"""Random waypoint: the coin, the pauses, the speeds and the cells."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from presence import moving_nodes

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.world.mobility.placement import uniform_places
from thyme.world.mobility.waypoint import DRIP_WALK, Waypoint, cell_of, crossed_cells, random_waypoint
from thyme.world.movement import Movement

UNTIL_S = 720.0
THYME_WALK = Waypoint(1.0, 12.0, 120.0, 120.0, mobile_fraction=0.6, move_probability=0.8)
"""Thyme FGCS §9.3.3; the paper gives no speeds in its text."""


def thyme_walk(seed: int, nodes: int = 100, **changes: object) -> Movement:
    how = msgspec.structs.replace(THYME_WALK, **changes)
    return random_waypoint(uniform_places(nodes, 400.0, 200.0, seed), 400.0, 200.0, how, UNTIL_S, seed)


def test_six_of_ten_nodes_are_mobile_and_start_after_a_pause() -> None:
    movement = thyme_walk(1)
    legs = np.diff(movement.first)
    assert (legs > 1).sum() == pytest.approx(60, abs=1)
    assert not moving_nodes(movement, 119.9).any()
    assert moving_nodes(movement, 120.1).sum() == pytest.approx(48, abs=10)


def test_speeds_and_pauses_are_in_their_ranges() -> None:
    places = uniform_places(20, 1000.0, 1000.0, 2)
    movement = random_waypoint(places, 1000.0, 1000.0, DRIP_WALK, 500.0, 2)
    for node in range(20):
        for leg, after in zip(movement.node_legs(node), movement.node_legs(node)[1:], strict=False):
            speed_mps = float(np.hypot(leg.vx_mps, leg.vy_mps))
            if speed_mps:
                assert 10.0 <= speed_mps <= 20.0
            else:
                assert 2.0 <= after.start_s - leg.start_s <= 4.0


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.floats(0.0, 1000.0))
def test_nobody_leaves_the_area_or_jumps(seed: int, at_s: float) -> None:
    movement = thyme_walk(seed, 10)
    here, soon = movement.positions(at_s), movement.positions(at_s + 0.01)
    assert (here >= -1e-9).all()
    assert (here <= np.array([400.0, 200.0]) + 1e-9).all()
    assert np.hypot(*(soon - here).T).max() <= 12.0 * 0.01 + 1e-9


@given(st.integers(0, 100))
@settings(max_examples=10)
def test_a_further_node_changes_nobody_elses_walk(seed: int) -> None:
    few, many = thyme_walk(seed, 20), thyme_walk(seed, 30)
    assert all(few.node_legs(node) == many.node_legs(node) for node in range(20))


def test_everybody_stands_in_the_end() -> None:
    assert not moving_nodes(thyme_walk(3), 1e6).any()


def test_without_pause_nodes_always_move() -> None:
    movement = random_waypoint(uniform_places(10, 400.0, 200.0, 1), 400.0, 200.0, Waypoint(), 300.0, 1)
    assert all(moving_nodes(movement, at_s).all() for at_s in (0.0, 99.5, 299.0))


@pytest.mark.parametrize("seed", range(4))
def test_waypoints_keep_to_cells_that_were_populated(seed: int) -> None:
    movement = thyme_walk(seed, allowed="populated waypoints")
    populated = {cell_of(Point(*place), 40.0) for place in movement.positions(0.0).tolist()}
    assert len(populated) < 50
    assert {cell_of(Point(*place), 40.0) for place in movement.positions(1e6).tolist()} <= populated


@pytest.mark.parametrize("seed", range(4))
def test_populated_cells_stay_populated_and_empty_ones_empty(seed: int) -> None:
    movement = thyme_walk(seed, allowed="populated ways", keep_cells_populated=True)
    populated = {cell_of(Point(*place), 40.0) for place in movement.positions(0.0).tolist()}
    assert moving_nodes(movement, 125.0).sum() > 20
    for at_s in np.arange(0.0, UNTIL_S, 3.7):
        assert {cell_of(Point(*place), 40.0) for place in movement.positions(at_s).tolist()} == populated


def test_cells_do_empty_when_nobody_keeps_them() -> None:
    movement = thyme_walk(0)
    populated = {cell_of(Point(*place), 40.0) for place in movement.positions(0.0).tolist()}
    assert {cell_of(Point(*place), 40.0) for place in movement.positions(UNTIL_S).tolist()} != populated


@given(*(st.floats(0.0, 400.0) for _ in range(4)))
def test_crossed_cells_form_a_chain_that_holds_every_point_of_the_way(
    x_m: float, y_m: float, to_x_m: float, to_y_m: float
) -> None:
    here, there = Point(x_m, y_m), Point(to_x_m, to_y_m)
    cells = crossed_cells(here, there, 40.0)
    for one, other in itertools.pairwise(cells):
        assert max(abs(one[0] - other[0]), abs(one[1] - other[1])) == 1
    for part in np.linspace(0.01, 0.99, 23):
        place = Point(x_m + (to_x_m - x_m) * float(part), y_m + (to_y_m - y_m) * float(part))
        near_line = min(abs(value / 40.0 - round(value / 40.0)) for value in (place.x_m, place.y_m)) < 1e-6
        assert near_line or cell_of(place, 40.0) in cells


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_speed_mps": 0.0},
        {"min_speed_mps": 20.0},
        {"min_pause_s": 130.0},
        {"mobile_fraction": 1.1},
        {"min_pause_s": 0.0, "max_pause_s": 0.0},
    ],
)
def test_walks_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Waypoint(**{**msgspec.structs.asdict(THYME_WALK), **wrong})
