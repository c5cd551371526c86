"""Thyme-LS: what is its own (FGCS §5, §9.3.2)."""

from __future__ import annotations

from pathlib import Path

from ls_world import QUIET, held
from small_world import SmallWorld, line

from thyme.approaches.interface import Failure
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.sim.faults import Rule
from thyme.wire.codec import encode
from thyme.wire.routing import Flooded
from thyme.wire.storage import Subscribed


def test_inserts_and_deletes_send_nothing(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "ls", QUIET)
    world.wait(60.0)
    world.run.world.keep_frames()
    world.insert(0, "o", "goal")
    world.delete(0, "o")
    frames = world.run.world.frames()
    assert frames is None or frames.num_rows == 0
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
