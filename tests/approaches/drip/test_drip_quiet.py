"""What subscribers and brokers say when nothing happens: as little as keeps them from being forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from drip_world import DripWorld

from thyme.approaches.drip.options import CooperationOptions
from thyme.model.frames import TimeFrame

CLIQUE = [(10.0 * i, 0.0) for i in range(7)]
"""Everybody hears everybody."""
BROKERS = [0, 1, 2, 3, 4, 5]
SUBSCRIBER = 6


def clique(**settings: Any) -> DripWorld:
    world = DripWorld(CLIQUE, BROKERS, likely=4, copies=1, **settings)
    world.subscribe(SUBSCRIBER, "goal", wait_s=40.0)
    return world


def lose_a_broadcast(world: DripWorld) -> None:
    """A subscriber that stands still takes another broker for the nearest until it hears the former one again."""
    regions = world.nodes[SUBSCRIBER].regions
    regions.forget(regions.local_broker)


@pytest.mark.parametrize("moves", ["beyond", "all"])
def test_a_move_among_brokers_that_others_know_as_near_is_not_told_all_over(moves: str) -> None:
    world = clique(cooperation=CooperationOptions(moves=moves))  # type: ignore[arg-type]
    world.simulation.keep_frames()
    for _ in range(5):
        lose_a_broadcast(world)
        world.wait(10.0)
    if moves == "all":
        assert len(world.sent("Relay")) > 50
        return
    assert world.sent("Relay") == []
    world.insert(0, "o", "goal")
    assert world.names() == ["o"]


def test_a_subscriber_that_stays_is_never_forgotten() -> None:
    world = clique(interest_life_s=90.0)
    for _ in range(20):
        world.wait(20.0)
        for node in BROKERS:
            broker = world.nodes[node].broker
            assert broker is not None
            assert [one.subscriber for one in broker.memory.interests()] == [SUBSCRIBER]


@pytest.mark.parametrize("ends", [True, False])
def test_who_wants_nothing_any_more_registers_no_more(ends: bool) -> None:
    world = DripWorld(CLIQUE, BROKERS, likely=4, copies=1)
    frame = TimeFrame(0.0, world.now_s + 30.0) if ends else TimeFrame.always()
    key = world.subscribe(SUBSCRIBER, "goal", frame)
    if not ends:
        world.unsubscribe(SUBSCRIBER, key.sid)
    world.wait(120.0)
    world.simulation.keep_frames()
    for _ in range(8):
        lose_a_broadcast(world)
        world.wait(10.0)
    from_it = [to for sender, to in world.sent("Routed") if sender == SUBSCRIBER]
    assert len(from_it) <= 16, "its status as a bridge, every 5 s"
    world.wait(300.0)
    for node in BROKERS:
        broker = world.nodes[node].broker
        assert broker is not None
        assert broker.memory.interests() == []
    world.subscribe(SUBSCRIBER, "goal")
    world.insert(0, "o", "goal")
    assert world.names() == ["o"]


def test_registrations_that_overtake_each_other_do_not_outdate_each_other_for_ever() -> None:
    world = clique(catch_up_events=1)
    for i in range(6):
        world.insert(0, f"o{i}", "goal", "late")
    world.simulation.keep_frames()
    for _ in range(2):  # the answers to both come when the later one has been sent, and both say that more is left
        world.subscribe(SUBSCRIBER, "late", wait_s=0.0)
    world.wait(5.0)
    assert len([to for sender, to in world.sent("Routed") if sender == SUBSCRIBER]) < 40
    assert sorted(world.names()) == sorted(3 * [f"o{i}" for i in range(6)])
