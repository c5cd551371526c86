"""What a protocol may rely on: who is told what, and when."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.radio.sends import on_circle, one_by_one, standing
from benchmarks.radio.totals import totals_of
from thyme.model.errors import InputError
from thyme.sim.radios.wifi.profiles import PROFILES, WifiOptions, profile_named
from thyme.sim.radios.wifi.radio import DROPPED, EXPIRED, GIVEN_UP, RECEIVED, SENT, WifiRadio
from thyme.world.movement import Leg, Movement, movement_of_legs

Told = list[tuple[float, int, int, int, int]]


def radio(points: list[tuple[float, float]], profile: str = "def", seed: int = 1, **options: object) -> WifiRadio:
    return WifiRadio(standing(points), PROFILES[profile], WifiOptions(**options), seed)  # type: ignore[arg-type]


def told(wifi: WifiRadio, until_s: float) -> Told:
    """Everything that happens up to an instant, as (at_s, kind, node, peer, frame)."""
    rows: Told = []
    while wifi.advance(until_s):
        rows += [(at_s, what, node, peer, frame) for at_s, frame, node, peer, what in one_by_one(wifi.reports())]
    return rows


def kinds(rows: Told, kind: int) -> list[tuple[int, int, int]]:
    return [(node, peer, frame) for _, what, node, peer, frame in rows if what == kind]


def test_a_broadcast_reaches_those_in_range_after_difs_and_airtime() -> None:
    wifi = radio([(0.0, 0.0), (40.0, 0.0), (80.0, 0.0)])
    wifi.advance(1.0)
    assert wifi.broadcast(1.0, 0, 7, 200)
    rows = told(wifi, 2.0)
    assert kinds(rows, RECEIVED) == [(1, 0, 7)]
    assert kinds(rows, SENT) == [(0, -1, 7)]
    assert rows[0][0] == pytest.approx(1.0 + 432e-6, abs=1e-9)
    assert rows[1][0] == pytest.approx(1.0 + 432e-6 + 40 / 299792458, abs=2e-9)


def test_all_hearers_of_a_broadcast_are_told_in_one_stop() -> None:
    wifi = radio([(0.0, 0.0), *on_circle(12, 45.0)])
    wifi.advance(1.0)
    wifi.broadcast(1.0, 0, 1, 50)
    assert wifi.advance(2.0) == 13
    times_s = [row[0] for row in one_by_one(wifi.reports())]
    assert max(times_s) - min(times_s) < 1e-6
    assert wifi.advance(2.0) == 0


def test_a_unicast_is_acknowledged_and_only_its_receiver_is_told() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0), (0.0, 20.0)])
    wifi.advance(1.0)
    wifi.unicast(1.0, 0, 1, 5, 200)
    rows = told(wifi, 2.0)
    assert [(what, node) for _, what, node, _, _ in rows] == [(RECEIVED, 1), (SENT, 0)]
    assert totals_of(wifi).ack_frames == 1


def test_a_unicast_to_nobody_is_given_up_after_seven_transmissions() -> None:
    wifi = radio([(0.0, 0.0), (500.0, 0.0)])
    wifi.advance(1.0)
    wifi.unicast(1.0, 0, 1, 5, 200)
    assert [(what, node, peer, frame) for _, what, node, peer, frame in told(wifi, 2.0)] == [(GIVEN_UP, 0, 1, 5)]
    assert totals_of(wifi).unicast_frames == 7
    assert totals_of(wifi).given_up_retries == 1


def test_a_frame_whose_acknowledgement_is_lost_is_delivered_once() -> None:
    # the receiver hears the sender, but a jammer near the sender drowns the acknowledgement
    wifi = radio([(0.0, 0.0), (50.0, 0.0), (-15.0, 0.0)], retry_limit=4, cw_min=1)
    wifi.advance(1.0)
    wifi.unicast(1.0, 0, 1, 1, 1400)
    at_s = 1.0 + 50e-6 + 2041e-6
    rows = told(wifi, at_s)
    wifi.broadcast(at_s, 2, 99, 10)
    rows += told(wifi, 2.0)
    assert kinds(rows, RECEIVED).count((1, 0, 1)) == 1
    assert (0, 1, 1) in kinds(rows, SENT)


def test_long_frames_are_announced() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0), (40.0, 0.0)], rts_threshold_bytes=500)
    wifi.advance(1.0)
    wifi.unicast(1.0, 0, 1, 1, 100)
    told(wifi, 1.5)
    assert (totals_of(wifi).rts_frames, totals_of(wifi).cts_frames) == (0, 0)
    wifi.unicast(1.5, 0, 1, 2, 1000)
    rows = told(wifi, 2.0)
    assert (totals_of(wifi).rts_frames, totals_of(wifi).cts_frames) == (1, 1)
    assert kinds(rows, SENT) == [(0, 1, 2)]


def test_a_full_queue_refuses_and_counts() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0)], queue_max=3)
    wifi.advance(1.0)
    assert [wifi.broadcast(1.0, 0, k, 50) for k in range(5)] == [True, True, True, False, False]
    assert totals_of(wifi).refused_queue_full == 2
    assert [frame for _, _, frame in kinds(told(wifi, 2.0), SENT)] == [0, 1, 2]


def test_bulk_frames_wait_for_all_others_and_fill_half_of_the_queue() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0)], queue_max=6)
    wifi.advance(1.0)
    assert [wifi.broadcast(1.0, 0, k, 500, bulk=True) for k in range(4)] == [True, True, True, False]
    assert [wifi.unicast(1.0, 0, 1, k, 50) for k in (4, 5, 6, 7)] == [True, True, True, False]
    assert [frame for _, _, frame in kinds(told(wifi, 2.0), SENT)] == [0, 4, 5, 6, 1, 2]
    assert wifi.broadcast(3.0, 0, 8, 500, bulk=True)
    assert wifi.broadcast(3.0, 0, 9, 50)
    assert [frame for _, _, frame in kinds(told(wifi, 4.0), SENT)] == [8, 9]


def test_frames_that_waited_longer_than_their_lifetime_expire_without_being_sent() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0)], lifetime_s=0.005)
    wifi.advance(1.0)
    for k in range(10):
        wifi.broadcast(1.0, 0, k, 1000)
    rows = told(wifi, 2.0)
    late = kinds(rows, EXPIRED)
    assert late
    assert sorted(f for _, _, f in late + kinds(rows, SENT)) == list(range(10))
    assert totals_of(wifi).given_up_lifetime == len(late)


def test_a_node_that_is_off_neither_hears_nor_sends_and_drops_what_waited() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0), (0.0, 20.0)])
    wifi.advance(1.0)
    wifi.broadcast(1.0, 1, 1, 50)
    wifi.broadcast(1.0, 1, 2, 50)
    wifi.switch(1.0, 1, False)
    assert sorted(kinds(told(wifi, 1.5), DROPPED)) == [(1, -1, 1), (1, -1, 2)]
    assert not wifi.broadcast(1.5, 1, 3, 50)
    wifi.broadcast(1.5, 0, 4, 50)
    assert kinds(told(wifi, 2.0), RECEIVED) == [(2, 0, 4)]
    wifi.switch(2.0, 1, True)
    wifi.broadcast(2.0, 0, 5, 50)
    assert sorted(kinds(told(wifi, 3.0), RECEIVED)) == [(1, 0, 5), (2, 0, 5)]


def test_a_frame_cut_short_by_switching_off_is_heard_by_nobody() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0)])
    wifi.advance(1.0)
    wifi.broadcast(1.0, 0, 1, 1000)
    wifi.advance(1.0005)
    wifi.switch(1.0005, 0, False)
    rows = told(wifi, 2.0)
    assert kinds(rows, RECEIVED) == []
    assert kinds(rows, DROPPED) == [(0, -1, 1)]


def test_the_stronger_of_two_frames_that_start_together_is_captured() -> None:
    # both begin one DIFS after 1 s; the receiver is 5 m from one sender and 45 m from the other
    wifi = radio([(0.0, 0.0), (5.0, 0.0), (-45.0, 0.0)])
    wifi.advance(1.0)
    wifi.broadcast(1.0, 1, 1, 200)
    wifi.broadcast(1.0, 2, 2, 200)
    assert (0, 1, 1) in kinds(told(wifi, 2.0), RECEIVED)


def test_two_equal_frames_that_start_together_are_both_lost() -> None:
    wifi = radio([(0.0, 0.0), (30.0, 0.0), (-30.0, 0.0)])
    wifi.advance(1.0)
    wifi.broadcast(1.0, 1, 1, 200)
    wifi.broadcast(1.0, 2, 2, 200)
    assert kinds(told(wifi, 2.0), RECEIVED) == []
    assert totals_of(wifi).undetected >= 1


def crowd(seed: int) -> Told:
    wifi = radio([(float(x), float(y)) for x in range(0, 100, 20) for y in range(0, 100, 20)], seed=seed)
    wifi.advance(1.0)
    for k in range(25):
        wifi.broadcast(1.0, k, k, 100)
        wifi.unicast(1.0, k, (k + 1) % 25, 100 + k, 100)
    return told(wifi, 3.0)


def test_a_run_is_reproduced_by_its_seed_alone() -> None:
    assert crowd(1) == crowd(1)
    assert crowd(1) != crowd(2)


def test_every_token_comes_back_exactly_once() -> None:
    freed = [frame for _, what, _, _, frame in crowd(3) if what in (SENT, GIVEN_UP, DROPPED, EXPIRED)]
    assert sorted(freed) == sorted([*range(25), *range(100, 125)])


def test_sending_in_the_past_is_our_own_mistake() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0)])
    wifi.advance(1.0)
    with pytest.raises(AssertionError, match="advance it first"):
        wifi.broadcast(0.5, 0, 1, 50)


def test_tables_grow_with_a_crowd_that_sends_all_at_once() -> None:
    wifi = radio([(60.0 * x, 60.0 * y) for x in range(20) for y in range(20)], profile="def")
    wifi.advance(1.0)
    for node in range(400):
        for k in range(4):
            assert wifi.broadcast(1.0, node, 4 * node + k, 1000)
    freed = kinds(told(wifi, 3.0), SENT)
    assert sorted(frame for _, _, frame in freed) == list(range(1600))


def test_a_node_that_walks_away_is_heard_no_more() -> None:
    here, walker = [Leg(0.0, 0.0, 0.0)], [Leg(0.0, 10.0, 0.0, 1.0, 0.0)]
    wifi = WifiRadio(movement_of_legs(1000.0, 10.0, [here, walker]), PROFILES["def"], WifiOptions(), 1)
    heard_at_s = []
    for second in range(1, 80):
        told(wifi, float(second))
        wifi.broadcast(float(second), 1, second, 50)
        heard_at_s += [second for _ in kinds(told(wifi, second + 0.5), RECEIVED)]
    assert heard_at_s == list(range(1, 42))  # 51.4 m is where the preamble falls below -82 dBm


def test_a_node_that_jumps_is_found_where_it_is() -> None:
    here, jumper = [Leg(0.0, 0.0, 0.0)], [Leg(0.0, 900.0, 0.0), Leg(10.0, 20.0, 0.0)]
    wifi = WifiRadio(movement_of_legs(1000.0, 10.0, [here, jumper]), PROFILES["def"], WifiOptions(), 1)
    told(wifi, 9.0)
    wifi.broadcast(9.0, 0, 1, 50)
    assert kinds(told(wifi, 10.0), RECEIVED) == []
    wifi.broadcast(10.0, 0, 2, 50)
    assert kinds(told(wifi, 11.0), RECEIVED) == [(1, 0, 2)]


places = st.lists(st.tuples(st.floats(0.0, 600.0), st.floats(0.0, 300.0)), min_size=2, max_size=30)


@settings(max_examples=30)
@given(places, st.floats(-3.0, 3.0), st.floats(0.0, 200.0))
def test_those_in_range_hear_a_lone_broadcast_wherever_they_walk(
    points: list[tuple[float, float]], speed_mps: float, at_s: float
) -> None:
    at_s = round(at_s, 3) + 1.0
    ways = [[Leg(0.0, x, y, speed_mps if k % 2 else 0.0, 0.0)] for k, (x, y) in enumerate(points)]
    movement = movement_of_legs(600.0, 300.0, ways)
    wifi = WifiRadio(movement, PROFILES["def"], WifiOptions(), 1)
    told(wifi, at_s)
    wifi.broadcast(at_s, 0, 1, 50)
    heard = {node for node, _, _ in kinds(told(wifi, at_s + 1.0), RECEIVED)}
    distances_m = distances(movement, at_s)
    assert {k for k in range(1, len(points)) if distances_m[k] < 51.3} <= heard
    assert heard <= {k for k in range(1, len(points)) if distances_m[k] < 51.5}


def distances(movement: Movement, at_s: float) -> list[float]:
    xy = movement.positions(at_s)
    return [math.dist(xy[0], other) for other in xy]


def test_the_queue_of_happenings_survives_reactions_to_them() -> None:
    wifi = radio([(0.0, 0.0), (20.0, 0.0), (0.0, 20.0)])
    wifi.advance(1.0)
    wifi.broadcast(1.0, 0, 1, 50)
    assert wifi.advance(2.0) == 3
    before = list(one_by_one(wifi.reports()))
    for k, (at_s, _, node, _, _) in enumerate(before):
        assert wifi.broadcast(at_s, node, 10 + k, 50)
    assert list(one_by_one(wifi.reports())) == before
    assert sorted(frame for _, _, frame in kinds(told(wifi, 2.0), SENT)) == [10, 11, 12]


def test_a_reaction_is_never_late_however_far_the_last_hearer_is() -> None:
    # two exchanges far from each other end within one stop, each with a distant third node that hears it last
    near = [(0.0, 0.0), (1.0, 0.0), (230.0, 0.0)]
    wifi = radio([*near, *((x + 3000.0, y) for x, y in near)], profile="thyme")
    wifi.advance(1.0)
    wifi.unicast(1.0, 0, 1, 1, 50)
    wifi.advance(1.0 + 0.9e-6)
    wifi.unicast(1.0 + 0.9e-6, 3, 4, 2, 50)
    assert wifi.advance(2.0) == 2
    for k, (at_s, _, node, _, _) in enumerate(one_by_one(wifi.reports())):
        assert wifi.broadcast(at_s, node, 10 + k, 50)


def test_the_profile_ns3_sends_broadcasts_at_1_mbit_whatever_the_options_say() -> None:
    played = []
    for wifi in (radio([(0.0, 0.0), (130.0, 0.0)], "ns3"), radio([(0.0, 0.0), (130.0, 0.0)], "p27")):
        wifi.advance(1.0)
        wifi.broadcast(1.0, 0, 7, 1000)
        played.append(told(wifi, 2.0))
    received = [[at_s for at_s, kind, node, _, _ in rows if (kind, node) == (RECEIVED, 1)] for rows in played]
    assert not received[1], "at 6 Mbit/s 130 m are too far"
    assert received[0][0] == pytest.approx(1.0 + 8.0 * 1064 / 1e6, abs=1e-3)


def test_what_a_person_got_wrong_is_said() -> None:
    with pytest.raises(InputError, match="radio profile 'x' is unknown"):
        profile_named("x")
    with pytest.raises(InputError, match="broadcast_mode"):
        radio([(0.0, 0.0)], broadcast_mode="ofdm54")
    with pytest.raises(InputError, match="split it"):
        radio([(0.0, 0.0)]).broadcast(0.0, 0, 1, 5000)
