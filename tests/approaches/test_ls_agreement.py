"""Thyme-LS: crowds that were in parts, and neighbours who compare what they know."""

from __future__ import annotations

from pathlib import Path

import pytest
from ls_world import held
from small_world import SmallWorld, line

from thyme.sim.faults import Rule
from thyme.wire.codec import encode
from thyme.wire.local import KnownDigest

AGREEING = {"routing": "ondemand"}


HEALED_S = 5.0


@pytest.mark.parametrize("routing", ["ondemand", "dsdv"])
def test_a_partition_that_heals_leaves_no_subscription_dead(tmp_path: Path, routing: str) -> None:
    world = SmallWorld(tmp_path, line(6), "ls", {"routing": routing})
    world.wait(60.0)
    world.subscribe(5, "old")
    world.run.world.rules = (Rule("partition", at_m=200.0),)
    world.wait(30.0)
    revoked = world.subscribe(0, "revoked")
    world.subscribe(0, "goal")
    world.subscribe(5, "goal")
    world.unsubscribe(0, revoked.sid)
    world.run.world.rules = ()
    world.wait(HEALED_S)
    assert [held(world, node) for node in range(6)] == [3] * 6
    world.wait(20.0)  # for DSDV to find the routes again
    world.insert(5, "east", "goal")
    world.insert(0, "west", "goal", "old")
    assert sorted(world.names(0)) == ["east", "west"]
    assert sorted(world.names(5)) == ["east", "west", "west"]


def test_a_subscription_made_while_cut_off_is_matched_with_what_the_others_hold(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(4), "ls", AGREEING)
    world.wait(60.0)
    world.insert(3, "there", "goal")
    world.run.world.rules = (Rule("partition", at_m=100.0),)
    world.subscribe(0, "goal")
    assert world.names(0) == []
    world.run.world.rules = ()
    world.wait(HEALED_S)
    assert world.names(0) == ["there"]


SURE = {"routing": "ondemand", "telling": {"sure": True}}


def test_what_was_inserted_on_the_other_side_of_a_partition_is_told_when_it_heals(tmp_path: Path) -> None:
    for cut_s in (3.0, 10.0, 60.0, 600.0):
        world = SmallWorld(tmp_path, line(5), "ls", SURE)
        world.wait(60.0)
        world.subscribe(0, "goal")
        world.subscribe(4, "goal")
        world.run.world.rules = (Rule("partition", at_m=100.0),)
        for number in range(20):
            world.insert(4, f"east{number}", "goal", wait_s=0.1)
            world.insert(0, f"west{number}", "goal", wait_s=0.0)
        world.wait(cut_s - 2.0)
        assert len(world.names(0)) == len(world.names(4)) == 20
        world.run.world.rules = ()
        world.wait(HEALED_S)
        assert len(set(world.names(0))) == len(set(world.names(4))) == 40, f"after {cut_s} s"
        assert len(world.names(0)) == len(world.names(4)) == 40, "each once"


def test_what_was_to_be_told_outlives_a_restart_of_its_owner_and_is_not_told_if_it_was_deleted(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", SURE)
    world.wait(60.0)
    world.subscribe(0, "goal")
    world.run.world.rules = (Rule("partition", at_m=100.0),)
    world.insert(2, "kept", "goal")
    world.insert(2, "gone", "goal")
    world.delete(2, "gone")
    world.switch_off(2)
    world.switch_on(2)
    assert world.names(0) == []
    world.run.world.rules = ()
    world.wait(HEALED_S)
    assert world.names(0) == ["kept"]
    assert not list(world.node(2).host.store.items("to tell"))


def test_nobody_waits_for_a_subscriber_who_has_revoked_or_is_gone_for_good(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", {**SURE, "telling": {"sure": True, "kept": 5}})
    world.wait(60.0)
    key = world.subscribe(0, "goal")
    world.switch_off(0)
    for number in range(12):
        world.insert(2, f"o{number}", "goal", wait_s=1.0)
    world.wait(60.0)
    assert len(list(world.node(2).host.store.items("to tell"))) == 5
    world.run.world.keep_frames()
    world.wait(100.0)
    frames = world.run.world.frames()
    assert frames is not None
    assert set(frames["message"].to_pylist()) == {"KnownDigest"}, "it is not called any more"
    world.switch_on(0)
    assert sorted(world.names(0)) == ["o10", "o11", "o7", "o8", "o9"], "the newest"
    world.unsubscribe(0, key.sid)
    world.insert(2, "later", "goal")
    assert not list(world.node(2).host.store.items("to tell"))


def test_a_node_that_missed_a_revocation_learns_of_it(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", AGREEING)
    world.wait(60.0)
    key = world.subscribe(0, "goal")
    world.run.world.rules = (Rule("partition", at_m=100.0),)
    world.unsubscribe(0, key.sid)
    assert held(world, 2) == 1
    world.run.world.rules = ()
    world.wait(HEALED_S)
    assert [held(world, node) for node in range(3)] == [0, 0, 0]


def test_neighbours_who_agree_say_so_in_a_few_bytes_and_nothing_more(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", AGREEING)
    world.wait(60.0)
    for node in range(3):
        world.subscribe(node, f"tag{node}")
    world.run.world.keep_frames()
    world.wait(100.0)
    frames = world.run.world.frames()
    assert frames is not None
    assert set(frames["message"].to_pylist()) == {"KnownDigest"}
    assert 130 <= len(frames["message"]) <= 170, "one in two seconds each"
    assert len(encode(KnownDigest(bytes(4)))) <= 10


def test_a_subscription_that_others_still_hold_is_revoked_anew(tmp_path: Path) -> None:
    """Its revocation is forgotten by then; somebody who was off brings it back."""
    world = SmallWorld(tmp_path, line(3), "ls", {**AGREEING, "revoked_s": 10.0})
    world.wait(60.0)
    key = world.subscribe(0, "goal")
    world.switch_off(2)
    world.unsubscribe(0, key.sid)
    world.switch_on(2)
    assert [held(world, node) for node in range(3)] == [0, 0, 0]


def test_a_node_that_lost_its_store_gives_its_subscriptions_numbers_that_others_do_not_know(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", AGREEING)
    world.wait(60.0)
    world.subscribe(0, "goal")
    world.switch_off(0, keeps_store=False)
    world.switch_on(0)
    world.subscribe(0, "final")
    world.insert(2, "o", "final")
    assert world.names(0) == ["o"]
