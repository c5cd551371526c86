"""Thyme-LS: the past of a subscription, which lies with many owners (FGCS §3.3, §5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ls_world import QUIET, first_batch
from small_world import SmallWorld, line

from thyme.approaches.interface import Failure
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId
from thyme.wire.message import Message


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
    router: Any = world.node(2).router  # type: ignore[attr-defined]
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
    router: Any = world.node(1).router  # type: ignore[attr-defined]
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
