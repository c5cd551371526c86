"""Thyme-LS: what is its own (FGCS §5, §9.3.2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_world import SmallWorld, line

from thyme.approaches.interface import Failure
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.sim.faults import Rule
from thyme.wire.codec import encode
from thyme.wire.flooding import Flooded
from thyme.wire.local import KnownDigest
from thyme.wire.message import Message
from thyme.wire.storage import Subscribed

QUIET = {"routing": "ondemand", "agreement": {"hello_s": 0.0}}
"""Routes on demand send nothing by themselves, so every frame counted is Thyme-LS's own; and nobody compares notes."""


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


def held(world: SmallWorld, node: int) -> int:
    return {name: count for name, count, _ in world.node(node).stored()}["subscriptions"]


def first_batch(world: SmallWorld, node: int, query: str, frame: TimeFrame | None = None) -> tuple[int, list[str]]:
    key = world.subscribe(node, query, frame)
    return key.sid, world.names(node)


def test_the_n_most_recent_are_those_of_the_whole_answer_not_of_each_owner(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(4), "ls", {**QUIET, "past_matches": 3})
    world.wait(60.0)
    for i in range(12):
        world.insert(i % 4, f"o{i:02}", "goal", wait_s=1.0)
    sid, told = first_batch(world, 0, "goal")
    assert told == ["o11", "o10", "o09"]
    assert world.node(0).remaining(sid) == 9
    for batch in (["o08", "o07", "o06"], ["o05", "o04", "o03"], ["o02", "o01", "o00"], []):
        before = len(world.notified)
        world.more(0, sid)
        assert world.last_failure() is Failure.NONE
        assert world.names(0)[before:] == batch
    assert world.node(0).remaining(sid) == 0


def test_a_third_node_that_joins_loses_nothing_of_the_past(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.switch_off(2)
    world.wait(60.0)
    for i in range(30):
        world.insert(1, f"o{i}", "goal", wait_s=0.5)
    sid, told = first_batch(world, 0, "goal", TimeFrame.past(world.now_s))
    assert len(told) == 10
    world.switch_on(2)
    for _ in range(2):
        world.more(0, sid)
    assert sorted(world.names(0)) == sorted(f"o{i}" for i in range(30))


def test_owners_who_hear_one_flood_do_not_answer_in_one_voice(tmp_path: Path) -> None:
    settings = {**QUIET, "past_matches": 30, "answers": {"jitter_s": 0.2}}
    world = SmallWorld(tmp_path, [(float(i), 0.0) for i in range(20)], "ls", settings)
    world.wait(60.0)
    for owner in range(1, 20):
        world.insert(owner, f"o{owner:02}", "goal", wait_s=1.0)
    world.run.world.keep_frames()
    began_s = world.now_s
    _, told = first_batch(world, 0, "goal")
    frames = world.run.world.frames()
    assert frames is not None
    rows = frames.to_pylist()
    answered_s = {row["sender"]: row["at_s"] - began_s for row in reversed(rows) if row["message"] == "Routed"}
    assert len(answered_s) == 19
    assert max(answered_s.values()) > 0.15
    assert told == [f"o{owner:02}" for owner in reversed(range(1, 20))], "all were there when the first batch was told"


@pytest.mark.parametrize("failures", [0, 1, 3, 4])
def test_an_answer_that_cannot_leave_its_owner_is_sent_again_a_few_times(tmp_path: Path, failures: int) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.wait(60.0)
    world.insert(2, "o", "goal")
    router: Any = world.node(2)._router  # type: ignore[attr-defined]
    tries: list[float] = []

    def send(to: NodeId, message: Message, failed: Callable[[], None] | None = None) -> None:
        tries.append(world.now_s)
        if len(tries) > failures:
            type(router).send(router, to, message, failed)
        elif failed:
            failed()

    router.send = send
    world.subscribe(0, "goal")
    assert world.names(0) == (["o"] if failures <= 3 else [])
    assert len(tries) == min(failures + 1, 4)
    assert tries[-1] - tries[0] == pytest.approx({0: 0.0, 1: 0.5, 3: 3.0, 4: 3.0}[failures])


def test_nobody_answers_a_subscription_that_was_revoked_meanwhile(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(2), "ls", {**QUIET, "answers": {"jitter_s": 1.0}})
    world.wait(60.0)
    world.insert(1, "o", "goal")
    router: Any = world.node(1)._router  # type: ignore[attr-defined]
    sent: list[Message] = []
    router.send = lambda to, message, failed=None: sent.append(message)
    key = world.subscribe(0, "goal", wait_s=0.01)
    world.unsubscribe(0, key.sid)
    assert sent == []


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_lost_piece_of_the_next_batch_is_asked_for_again(tmp_path: Path, lost: int) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", {**QUIET, "past_matches": 20})
    world.wait(60.0)
    for i in range(60):
        world.insert(2, f"o{i:02}", "goal", wait_s=0.5)
    expected = [f"o{i:02}" for i in reversed(range(60))]
    sid, told = first_batch(world, 0, "goal")
    assert told == expected[:20]
    for so_far in (40, 60):
        world.lose(2, "PastMatches", lost)
        world.more(0, sid)
        assert world.names(0) == expected[:so_far]
        assert world.last_failure() is Failure.NONE
        assert world.node(0).remaining(sid) == 60 - so_far


def test_a_thousand_past_matches_at_once_arrive_all(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", {**QUIET, "past_matches": 1_000})
    world.wait(60.0)
    for i in range(2_500):
        world.node(0).insert(f"o{i}", b"", ["goal"], b"", world.outcomes.append)
    sid, told = first_batch(world, 2, "goal", TimeFrame.past(world.now_s + 1.0))
    assert len(told) == 1_000
    world.more(2, sid)
    world.more(2, sid)
    assert len(set(world.names(2))) == 2_500


def test_a_subscription_is_forgotten_everywhere_when_its_frame_has_ended(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.wait(60.0)
    world.subscribe(2, "goal", TimeFrame(world.now_s, world.now_s + 100.0))
    for _ in range(5):
        world.subscribe(1, "goal", TimeFrame.past(world.now_s), wait_s=9.0)
    assert [held(world, node) for node in range(3)] == [3, 3, 3], "searches linger for twenty seconds"
    world.switch_off(0)
    world.switch_on(0, wait_s=100.0)
    assert [held(world, node) for node in range(3)] == [0, 0, 0]


def test_a_node_that_returns_matches_only_what_it_did_not_know(tmp_path: Path) -> None:
    """§9.3.2: those "of which it was unaware"."""
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.wait(60.0)
    world.insert(0, "o", "goal", "final")
    world.subscribe(2, "goal")
    world.switch_off(0)
    world.subscribe(2, "final")
    world.run.world.keep_frames()
    world.switch_on(0)
    frames = world.run.world.frames()
    assert frames is not None
    assert world.names() == ["o", "o"]
    assert frames["message"].to_pylist().count("Routed") == 2, "one notification, over two hops"


def test_a_revocation_is_known_over_restarts(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(2), "ls", QUIET)
    world.wait(60.0)
    key = world.subscribe(1, "goal")
    world.unsubscribe(1, key.sid)
    for node in (0, 1):
        world.switch_off(node)
    world.switch_on(0)  # and finds nobody to ask
    query = Subscription.to_query(key, parse_query("goal"), TimeFrame.always())
    world.node(0).receive(NodeId(1), Flooded(NodeId(1), 99, 0, encode(Subscribed(query, 10))))
    assert held(world, 0) == 0, "a flood that comes late brings nothing back"


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
