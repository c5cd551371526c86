"""Movement: positions as a function of time, one by one and all at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from presence import moving_nodes

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.world.movement import Leg, Movement, movement_of_legs, trip, walk

INSTANT = st.floats(-5.0, 120.0)


@st.composite
def movements(draw: st.DrawFn) -> Movement:
    ways = []
    for _ in range(draw(st.integers(1, 5))):
        times = sorted(draw(st.sets(st.integers(0, 100), min_size=1, max_size=8)))
        ways.append(
            [
                Leg(at, *(draw(st.integers(0, 500)) for _ in range(2)), *(draw(st.integers(-9, 9)) for _ in range(2)))
                for at in times
            ]
        )
    return movement_of_legs(500.0, 500.0, ways)


@given(movements(), INSTANT)
def test_all_positions_at_once_are_those_of_each_node(movement: Movement, at_s: float) -> None:
    together = movement.positions(at_s)
    for node in range(movement.nodes):
        assert movement.position(node, at_s) == Point(*together[node].tolist())
        assert movement.leg(node, at_s) == movement.legs(at_s)[node]


def test_a_node_stands_at_its_first_place_before_its_first_leg() -> None:
    movement = movement_of_legs(100.0, 100.0, [[Leg(10.0, 5.0, 6.0, 1.0, 0.0)]])
    assert movement.position(0, 3.0) == Point(5.0, 6.0)
    assert movement.position(0, 12.0) == Point(7.0, 6.0)


def test_a_leg_holds_from_its_own_start_on() -> None:
    movement = movement_of_legs(100.0, 100.0, [[Leg(0.0, 0.0, 0.0, 1.0, 0.0), Leg(10.0, 10.0, 0.0)]])
    assert moving_nodes(movement, 9.99)[0]
    assert not moving_nodes(movement, 10.0)[0]
    assert movement.position(0, 1e6) == Point(10.0, 0.0)


def test_walk_is_at_each_waypoint_in_time() -> None:
    waypoints = [(0.0, 1.0, 2.0), (10.0, 21.0, 2.0), (15.0, 21.0, 2.0), (20.0, 21.0, 52.0)]
    movement = movement_of_legs(100.0, 100.0, [walk(waypoints)])
    for at_s, x_m, y_m in waypoints:
        assert movement.position(0, at_s).distance_m(Point(x_m, y_m)) < 1e-9
    assert not moving_nodes(movement, 12.0)[0]
    assert movement.position(0, 17.5) == Point(21.0, 27.0)


def test_a_trip_takes_distance_over_speed() -> None:
    leg, arrival_s = trip(5.0, Point(0.0, 0.0), Point(30.0, 40.0), 2.0)
    assert arrival_s == pytest.approx(30.0)
    assert (leg.vx_mps, leg.vy_mps) == pytest.approx((1.2, 1.6))


@pytest.mark.parametrize(
    ("ways", "complaint"),
    [
        ([[Leg(0.0, 1.0, 1.0)], []], "node 1 has no legs"),
        (
            [[Leg(0.0, 1.0, 1.0)], [Leg(5.0, 1.0, 1.0), Leg(5.0, 2.0, 2.0)]],
            "node 1 do not start in ascending order",
        ),
        ([[Leg(0.0, float("nan"), 1.0)]], "`x_m` of node 0"),
    ],
)
def test_a_wrong_table_is_refused_with_the_node_that_is_wrong(ways: list[list[Leg]], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        movement_of_legs(10.0, 10.0, ways)


def test_columns_of_another_kind_are_refused() -> None:
    zeros = np.zeros(1)
    with pytest.raises(InputError, match="`vy_mps`"):
        Movement(1.0, 1.0, np.array([0, 1]), zeros, zeros, zeros, zeros, np.zeros(1, dtype=np.float32))
