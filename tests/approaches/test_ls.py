"""Thyme-LS: what is its own (FGCS §5, §9.3.2)."""

from __future__ import annotations

from pathlib import Path

from small_world import SmallWorld, line

from thyme.approaches.interface import Failure
from thyme.sim.faults import Rule

QUIET = {"routing": "ondemand"}
"""Routes on demand send nothing by themselves, so every frame counted is Thyme-LS's own."""


def test_inserts_and_deletes_send_nothing(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.wait(60.0)
    before = world.run.world._tokens
    world.insert(0, "o", "goal")
    world.delete(0, "o")
    assert world.run.world._tokens == before
    assert all(outcome.ok for outcome in world.outcomes)


def test_a_subscription_is_sent_on_once_by_every_node(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(5), "ls", QUIET)
    world.wait(60.0)
    world.run.world.keep_frames()
    world.subscribe(2, "goal")
    frames = world.run.world.frames()
    assert frames is not None
    assert sorted(frames["sender"].to_pylist()) == [0, 1, 2, 3, 4]
    assert set(frames["message"].to_pylist()) == {"Flooded"}


def test_a_node_that_was_off_matches_its_objects_when_it_returns(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.wait(60.0)
    world.insert(0, "o", "goal")
    world.switch_off(0)
    world.subscribe(2, "goal")
    assert world.names() == []
    world.switch_on(0)
    assert world.names() == ["o"]


def test_a_node_that_was_off_learns_of_unsubscriptions_too(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.wait(60.0)
    key = world.subscribe(2, "goal")
    world.switch_off(0)
    world.unsubscribe(2, key.sid)
    world.switch_on(0)
    names = {name: count for name, count, _ in world.node(0).stored()}
    assert names["subscriptions"] == 0


def test_only_a_few_neighbours_answer_a_join(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, [(float(i), 0.0) for i in range(30)], "ls", QUIET)
    world.wait(60.0)
    world.subscribe(0, "goal")
    world.switch_off(29)
    world.run.world.keep_frames()
    world.switch_on(29, wait_s=10.0)
    frames = world.run.world.frames()
    assert frames is not None
    replies = frames["message"].to_pylist().count("JoinReply")
    assert 1 <= replies <= 12
    assert {name: count for name, count, _ in world.node(29).stored()}["subscriptions"] == 1


def test_many_subscriptions_are_handed_over_in_several_frames(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(2), "ls", QUIET)
    world.wait(60.0)
    for i in range(120):
        world.subscribe(0, f"a-rather-long-tag-number-{i}", wait_s=1.0)
    world.switch_off(1)
    world.switch_on(1)
    assert {name: count for name, count, _ in world.node(1).stored()}["subscriptions"] == 120


def test_a_node_alone_subscribes_at_once_and_tells_whoever_comes(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(2), "ls", QUIET)
    world.switch_off(1)
    world.wait(60.0)
    world.subscribe(0, "goal")
    assert world.outcomes[-1].ok
    world.switch_on(1)
    world.insert(1, "o", "goal")
    assert world.names() == ["o"]


def test_a_flood_that_nobody_passes_on_is_repeated_and_then_times_out(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET, faults=[Rule("loss", message="Flooded")])
    world.wait(60.0)
    world.run.world.keep_frames()
    world.switch_off(2)
    world.subscribe(0, "goal", wait_s=5.0)
    world.switch_on(2)
    frames = world.run.world.frames()
    assert frames is not None
    assert frames["message"].to_pylist().count("Flooded") == 4
    assert world.outcomes[-1].ok, "node 0 heard nobody: it is alone"
    world.subscribe(1, "goal", wait_s=5.0)
    world.switch_off(2)
    world.switch_on(2)
    assert world.last_failure() is Failure.TIMEOUT
