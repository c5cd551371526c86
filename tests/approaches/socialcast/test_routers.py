"""The reference routers: where copies go, and that none is lost where nothing is."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from social_world import Contact, SocialWorld

from thyme.sim.faults import Rule


def chain(nodes: int) -> list[Contact]:
    return [(node, node + 1, 0.0, 3000.0) for node in range(nodes - 1)]


def test_without_prediction_copies_wander_to_random_neighbours(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 6, chain(6), routing="none", ttl_hops=0)
    world.subscribe(5, "rugby")
    world.publish(0, "try", "rugby")
    world.until(3000.0)
    assert world.names(5) == ["try"]
    assert sum(world.copies(node) for node in range(6)) == 3


def test_without_prediction_a_node_may_keep_a_copy_to_itself(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 500.0)], routing="none", copies=1)
    world.until(100.0)
    for number in range(20):
        world.publish(0, f"m{number}", "rugby")
    world.until(120.5)
    assert 3 < world.copies(0) < 17
    assert world.copies(0) + world.copies(1) == 20


def test_epidemic_brings_everything_to_everybody(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 6, chain(6), routing="epidemic", ttl_hops=0)
    world.publish(0, "try", "rugby")
    world.until(3000.0)
    assert [world.copies(node) for node in range(6)] == [1] * 6
    assert len(world.sent()) == 5


def test_spray_halves_its_copies_and_then_waits(tmp_path: Path) -> None:
    contacts = [(0, 1, 0.0, 100.0), (0, 2, 200.0, 300.0), (0, 3, 400.0, 500.0), (0, 4, 600.0, 700.0)]
    world = SocialWorld(tmp_path, 5, contacts, routing="spray", copies=8)
    world.publish(0, "try", "rugby")
    world.until(1000.0)
    assert [world.copies(node) for node in range(5)] == [1, 4, 2, 1, 0]
    world.subscribe(4, "rugby")
    assert world.names(4) == []


def test_prophet_multiplies_towards_those_who_meet_subscribers(tmp_path: Path) -> None:
    contacts = [(1, 3, 0.0, 100.0), (0, 1, 200.0, 300.0), (0, 2, 200.0, 300.0), (1, 3, 500.0, 600.0)]
    world = SocialWorld(tmp_path, 4, contacts, routing="prophet")
    world.subscribe(3, "rugby")
    world.until(201.0)
    world.publish(0, "try", "rugby")
    world.until(400.0)
    assert [world.copies(node) for node in range(3)] == [1, 1, 0]
    world.until(600.0)
    assert world.notified == [(3, "try", 2)]


def test_with_no_loss_and_no_limit_of_hops_no_copy_is_ever_lost(tmp_path: Path) -> None:
    contacts = [(a, b, float(50 * (a + b)), float(50 * (a + b) + 300)) for a in range(6) for b in range(a)]
    for routing in ("prediction", "none", "spray"):
        world = SocialWorld(tmp_path, 6, contacts, routing=routing, copies=4, ttl_hops=0, hysteresis=0.0)
        world.subscribe(5, "rugby")
        world.publish(0, "try", "rugby")
        world.until(2000.0)
        assert sum(world.copies(node) for node in range(6)) == 4


def crowd_that_forgets(folder: Path, routing: str, **settings: object) -> SocialWorld:
    """Six people near each other who remember one message as received, and eight messages; the first two subscribe."""
    near = [(a, b, 0.0, 20_000.0) for a, b in combinations(range(6), 2)]
    lossy = Rule("loss", probability=0.2)
    world = SocialWorld(folder, 6, near, faults=[lossy], routing=routing, memory_ids=1, ttl_hops=0, **settings)
    for node in (0, 1):
        world.subscribe(node, "rugby")
    world.until(100.0)
    for number in range(8):
        world.publish(5, f"m{number}", "rugby")
    return world


@pytest.mark.parametrize("routing", ["prediction", "none", "epidemic", "spray", "prophet"])
def test_what_a_neighbour_was_given_it_is_not_given_again_because_it_forgot(tmp_path: Path, routing: str) -> None:
    world = crowd_that_forgets(tmp_path, routing)
    world.until(3_000.0)
    assert sorted(world.names(0)) == sorted(world.names(1)) == [f"m{number}" for number in range(8)]
    before = len(world.sent())
    world.until(4_000.0)
    assert len(world.sent()) - before <= 30, "what was lost is sent again; without a memory 1,100 to 8,400 are sent"
