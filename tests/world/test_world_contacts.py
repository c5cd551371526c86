"""Contacts: exact intervals from movement, and their statistics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.world.contacts.contact_table import Contacts, contacts_from
from thyme.world.contacts.encounters import contacts_of
from thyme.world.contacts.statistics import gaps_s, statistics_of, time_together
from thyme.world.mobility.placement import static, uniform_places
from thyme.world.mobility.waypoint import Waypoint, random_waypoint
from thyme.world.movement import Leg, Movement, movement_of_legs

UNTIL_S = 300.0


def rows(contacts: Contacts) -> list[tuple[float, float, int, int]]:
    return list(
        zip(
            contacts.start_s.tolist(),
            contacts.end_s.tolist(),
            contacts.a.tolist(),
            contacts.b.tolist(),
            strict=True,
        )
    )


def sampled(contacts: Contacts, at_s: float) -> set[tuple[int, int]]:
    return {(a, b) for start_s, end_s, a, b in rows(contacts) if start_s <= at_s <= end_s}


def near(movement: Movement, at_s: float, range_m: float) -> set[tuple[int, int]]:
    places = movement.positions(at_s)
    apart = np.hypot(*(places[:, None, :] - places[None, :, :]).transpose(2, 0, 1))
    return {(int(a), int(b)) for a, b in zip(*np.nonzero(apart <= range_m), strict=True) if a < b}


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.integers(2, 25),
    st.floats(5.0, 300.0),
    st.floats(1.0, 60.0),
    st.floats(0.0, 20.0),
)
def test_contacts_hold_exactly_while_two_nodes_are_within_range(
    seed: int, nodes: int, range_m: float, speed_mps: float, pause_s: float
) -> None:
    how = Waypoint(1.0, speed_mps, 0.0, pause_s)
    movement = random_waypoint(uniform_places(nodes, 500.0, 300.0, seed), 500.0, 300.0, how, 250.0, seed)
    contacts = contacts_of(movement, range_m, UNTIL_S)
    for at_s in np.random.default_rng(seed).uniform(0.0, UNTIL_S, 60):
        assert sampled(contacts, float(at_s)) == near(movement, float(at_s), range_m)


def test_a_passing_node_is_met_from_root_to_root() -> None:
    still, passing = [Leg(0.0, 500.0, 30.0)], [Leg(0.0, 0.0, 0.0, 10.0, 0.0)]
    contacts = contacts_of(movement_of_legs(1000.0, 100.0, [still, passing]), 50.0, 90.0)
    assert rows(contacts)[0] == pytest.approx((46.0, 54.0, 0, 1))
    assert len(contacts) == 1


def test_a_jump_into_range_is_seen() -> None:
    still, jumping = [Leg(0.0, 0.0, 0.0)], [Leg(0.0, 900.0, 0.0), Leg(20.0, 5.0, 0.0), Leg(30.0, 900.0, 0.0)]
    contacts = contacts_of(movement_of_legs(1000.0, 100.0, [still, jumping]), 50.0, 90.0)
    assert rows(contacts) == [(20.0, 30.0, 0, 1)]


def test_a_node_stands_before_its_first_leg_starts() -> None:
    still, late = [Leg(0.0, 0.0, 0.0)], [Leg(40.0, 10.0, 0.0, 10.0, 0.0)]
    contacts = contacts_of(movement_of_legs(1000.0, 100.0, [still, late]), 50.0, 90.0)
    assert rows(contacts)[0] == pytest.approx((0.0, 44.0, 0, 1))
    assert len(contacts) == 1


def test_static_neighbours_are_in_contact_all_the_time() -> None:
    movement = static(uniform_places(200, 600.0, 600.0, 4), 600.0, 600.0)
    contacts = contacts_of(movement, 90.0, 1000.0)
    assert set(zip(contacts.a.tolist(), contacts.b.tolist(), strict=True)) == near(movement, 0.0, 90.0)
    assert (contacts.start_s == 0.0).all()
    assert (contacts.end_s == 1000.0).all()


def test_contacts_of_a_tiny_range_in_a_large_area_need_no_huge_grid() -> None:
    movement = static(uniform_places(50, 1e6, 1e6, 4), 1e6, 1e6)
    assert len(contacts_of(movement, 0.001, 10.0)) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(0, 3), st.integers(0, 3)).filter(
            lambda row: row[2] != row[3]
        ),
        max_size=25,
    )
)
def test_merging_keeps_who_was_together_when(pieces: list[tuple[int, int, int, int]]) -> None:
    start_s, end_s = [float(piece[0]) for piece in pieces], [float(piece[0] + piece[1]) for piece in pieces]
    contacts = contacts_from(4, start_s, end_s, [p[2] for p in pieces], [p[3] for p in pieces])
    for instant in range(72):
        at_s = float(instant)
        together = {
            (min(p[2:]), max(p[2:]))
            for p, since_s, till_s in zip(pieces, start_s, end_s, strict=True)
            if since_s <= at_s <= till_s
        }
        assert sampled(contacts, at_s) == together
    assert (gaps_s(contacts) > 0.0).all()
    assert rows(contacts) == sorted(rows(contacts), key=lambda row: (row[0], row[2], row[3]))


def test_a_cut_keeps_the_parts_inside() -> None:
    contacts = contacts_from(3, [0.0, 5.0, 30.0], [10.0, 8.0, 40.0], [0, 1, 0], [1, 2, 2])
    assert rows(contacts.between(6.0, 35.0)) == [(6.0, 10.0, 0, 1), (6.0, 8.0, 1, 2), (30.0, 35.0, 0, 2)]
    assert contacts.shifted(100.0).span_s == (100.0, 140.0)


def test_statistics_of_two_pairs_known_by_hand() -> None:
    contacts = contacts_from(4, [0.0, 100.0, 10_000.0, 0.0], [10.0, 110.0, 10_020.0, 50.0], [0, 0, 0, 2], [1, 1, 1, 3])
    found = statistics_of(contacts)
    assert (found.nodes, found.contacts, found.pair_share) == (4, 4, 2 / 6)
    assert found.hours == pytest.approx(10_020 / 3600)
    assert found.gap_median_s == pytest.approx((90 + 9890) / 2)
    assert found.gap_over_1h == 0.5
    assert found.communities == 2
    assert time_together(contacts)[0][1]["weight"] == 40.0
    assert found.modularity == pytest.approx(1.0 - (40 / 90) ** 2 - (50 / 90) ** 2)


def test_statistics_of_nobody_meeting_are_not_numbers() -> None:
    found = statistics_of(contacts_from(3, [], [], [], []))
    assert found.contacts == 0
    assert np.isnan(found.gap_median_s)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [((0.0, 5.0, 1, 1), "two different nodes"), ((0.0, 5.0, 0, 7), "below 3"), ((9.0, 5.0, 0, 1), "end after")],
)
def test_wrong_contacts_are_refused(row: tuple[float, float, int, int], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Contacts(3, *(np.array([value]) for value in row))
