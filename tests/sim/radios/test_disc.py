from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.radio.sends import one_by_one
from thyme.model.errors import InputError
from thyme.model.records import TrafficKind
from thyme.sim.radios.disc.neighbours import Neighbours
from thyme.sim.radios.disc.radio import RETRIES, DiscOptions, DiscRadio
from thyme.sim.radios.radio import Happening
from thyme.world.mobility.placement import static, uniform_places
from thyme.world.mobility.waypoint import Waypoint, random_waypoint
from thyme.world.movement import Leg, movement_of_legs


def line(*xs: float) -> DiscRadio:
    return DiscRadio(static(np.array([(x, 0.5) for x in xs]), 1000.0, 1.0), DiscOptions(range_m=100.0), seed=1)


def happenings(radio: DiscRadio, until_s: float = 10.0) -> list[tuple[Happening, int, int, int]]:
    told = []
    while radio.advance(until_s):
        told += [(Happening(what), node, peer, frame) for _, frame, node, peer, what in one_by_one(radio.reports())]
    return told


def test_a_broadcast_reaches_whoever_is_in_range_and_frees_its_number() -> None:
    radio = line(0.0, 100.0, 201.0)
    radio.broadcast(0.0, 1, 7, 100)
    assert happenings(radio) == [(Happening.RECEIVED, 0, 1, 7), (Happening.SENT, 1, -1, 7)]


def test_a_frame_takes_its_airtime_and_the_next_one_waits_for_it() -> None:
    radio = line(0.0, 50.0)
    radio.broadcast(1.0, 0, 1, 1000)
    radio.broadcast(1.0, 0, 2, 1000)
    radio.advance(10.0)
    airtime_s = (1000 + 64) * 8 / 6e6
    assert radio.reports()[0].at_s == pytest.approx(1.0 + airtime_s, abs=1e-6)
    radio.advance(10.0)
    assert radio.reports()[0].at_s == pytest.approx(1.0 + 2 * airtime_s, abs=1e-6)


def test_bulk_frames_wait_for_all_others_and_for_none_that_was_begun() -> None:
    radio = line(0.0, 50.0)
    for frame in range(6):
        radio.broadcast(1.0, 0, frame, 1000, bulk=frame < 3)
    received = [frame for kind, _, _, frame in happenings(radio) if kind is Happening.RECEIVED]
    assert received == [0, 3, 4, 5, 1, 2]


def test_a_unicast_out_of_range_is_given_up_after_its_retries() -> None:
    radio = line(0.0, 500.0)
    radio.unicast(0.0, 0, 1, 3, 100)
    assert happenings(radio) == [(Happening.GIVEN_UP, 0, 1, 3)]
    totals = {(row.traffic, row.name): row.counts for row in radio.traffic()}
    assert totals[(TrafficKind.RETRANSMITTED, "unicast")][0] == RETRIES


def test_a_node_that_is_off_neither_hears_nor_sends() -> None:
    radio = line(0.0, 50.0)
    radio.broadcast(0.0, 0, 1, 100)
    radio.switch(0.0, 1, False)
    assert happenings(radio) == [(Happening.SENT, 0, -1, 1)]
    radio.switch(10.0, 1, True)
    radio.broadcast(10.0, 1, 2, 100)
    radio.switch(10.0, 1, False)
    assert happenings(radio, 20.0) == [(Happening.DROPPED, 1, -1, 2)]


def test_losses_are_drawn_per_receiver() -> None:
    movement = static(np.full((101, 2), 0.5), 1.0, 1.0)
    radio = DiscRadio(movement, DiscOptions(loss=0.3), seed=4)
    for frame in range(50):
        radio.broadcast(0.0, 0, frame, 50)
    received = sum(kind is Happening.RECEIVED for kind, *_ in happenings(radio))
    assert 0.66 < received / 5000 < 0.74


@settings(max_examples=25)
@given(st.integers(0, 1000), st.floats(0.0, 300.0))
def test_the_grid_finds_exactly_the_nodes_in_range(seed: int, at_s: float) -> None:
    places = uniform_places(40, 300.0, 200.0, seed)
    movement = random_waypoint(places, 300.0, 200.0, Waypoint(1.0, 20.0), 300.0, seed)
    neighbours = Neighbours(movement, 60.0)
    neighbours.within(0, max(0.0, at_s - 0.5))
    positions = movement.positions(at_s)
    for node in range(0, 40, 7):
        distances = np.hypot(*(positions - positions[node]).T)
        expected = [i for i in range(40) if i != node and distances[i] <= 60.0]
        assert [i for i, _ in neighbours.within(node, at_s)] == expected


def test_whoever_jumps_is_found_where_it_is_even_if_nobody_ever_walks() -> None:
    here, there = Leg(0.0, 10.0, 0.5), Leg(50.0, 900.0, 0.5)
    movement = movement_of_legs(1000.0, 1.0, [[here], [here, there], [Leg(0.0, 950.0, 0.5)]])
    neighbours = Neighbours(movement, 100.0)
    assert [list(neighbours.within(node, 49.0)) for node in range(3)] == [[(1, 0.0)], [(0, 0.0)], []]
    assert [list(neighbours.within(node, 50.0)) for node in range(3)] == [[], [(2, 50.0)], [(1, 50.0)]]


def test_a_unicast_has_its_own_acknowledgement_and_no_other_hearer() -> None:
    radio = line(0.0, 50.0, 60.0)
    radio.unicast(0.0, 0, 1, 3, 100)
    assert happenings(radio) == [(Happening.RECEIVED, 1, 0, 3), (Happening.SENT, 0, 1, 3)]
    totals = {(row.traffic, row.name): list(row.counts) for row in radio.traffic()}
    assert totals[(TrafficKind.PHY_SENT, "ack")] == [0, 1, 0]
    assert totals[(TrafficKind.PHY_RECEIVED, "data")] == [0, 1, 0]


def test_options_outside_their_domain_are_refused() -> None:
    with pytest.raises(InputError, match="range_m"):
        DiscOptions(range_m=0.0)
    with pytest.raises(InputError, match="loss"):
        DiscOptions(loss=1.0)
