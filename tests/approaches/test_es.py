"""Thyme-ES: a server that fails, alone or with another beside it (FGCS §8, §9.3.2), and what it holds and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_world import SmallWorld, line

from thyme.approaches.es.protocol import ExternalStorage
from thyme.approaches.interface import Failure
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.model.subscriptions import Subscription
from thyme.sim.faults import Rule
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of
from thyme.wire.message import Message
from thyme.wire.server import DeleteRequest, InsertRequest, Relayed, SubscribeRequest, UnsubscribeRequest

NODES = 9
FIRST_SERVER = NODES


def play(servers: int, **churn: Any) -> list[dict[str, Any]]:
    """One insertion before 100 s and one after, each with a subscription for it; what the first server does between
    is the churn's."""
    given = {
        "nodes": NODES,
        "approach": "es",
        "settings": {"routing": "ondemand"},
        "servers": servers,
        "radio": {"model": "disc"},
        "churn": {"nodes": [FIRST_SERVER], **churn},
        "time": {"join_from_s": 1.0, "join_to_s": 5.0, "until_s": 300.0},
    }
    operations = [
        Operation(0, 50.0, NodeId(1), OperationKind.INSERT, oid="before", tags=("goal",), text="one"),
        Operation(1, 150.0, NodeId(2), OperationKind.SUBSCRIBE, sid=1, query="goal", start_s=0.0, end_s=1000.0),
        Operation(2, 200.0, NodeId(3), OperationKind.INSERT, oid="after", tags=("goal",), text="two"),
    ]
    rows: list[dict[str, Any]] = simulate(scenario_of(given, "test"), operations).events.to_pylist()
    return rows


def outcomes(rows: list[dict[str, Any]]) -> dict[int, str]:
    ended = [row for row in rows if row["kind"] in {"succeeded", "failed"} and row["operation"] < 3]
    return {row["operation"]: row["reason"] or row["kind"] for row in ended}


def notified(rows: list[dict[str, Any]]) -> set[str]:
    return {row["object"] for row in rows if row["kind"] == "notified"}


def test_without_its_only_server_every_operation_times_out() -> None:
    rows = play(1, model="crash", from_s=100.0)
    assert outcomes(rows) == {0: "succeeded", 1: "timeout", 2: "timeout"}
    assert notified(rows) == set()


def test_a_second_server_carries_on_with_all_that_the_first_one_knew() -> None:
    rows = play(2, model="crash", from_s=100.0)
    assert outcomes(rows) == {0: "succeeded", 1: "succeeded", 2: "succeeded"}
    assert notified(rows) == {"before@1", "after@3"}


def test_a_server_that_was_switched_off_finds_its_store_again() -> None:
    alternation = {"on_s": 60.0, "off_s": 60.0, "change_probability": 1.0, "spread": False}
    rows = play(1, model="alternate", **alternation)
    # Off from 65 to 125 s and from 185 to 245 s: the second insertion meets a server that is off.
    assert outcomes(rows) == {0: "succeeded", 1: "succeeded", 2: "timeout"}
    assert notified(rows) == {"before@1"}


@pytest.fixture
def world(tmp_path: Path) -> SmallWorld:
    small = SmallWorld(tmp_path, line(3), "es", {"routing": "ondemand", "past_matches": 20})
    small.wait(60.0)
    return small


SERVER = 3


def held(world: SmallWorld, name: str = "subscriptions") -> int:
    return {what: count for what, count, _ in world.node(SERVER).stored()}[name]


def ask(world: SmallWorld, client: int, message: Message) -> None:
    """A client that does not keep to what its own class does."""
    node = world.node(client)
    assert isinstance(node, ExternalStorage)
    node.router.send(NodeId(SERVER), message)
    world.wait(10.0)


def test_subscriptions_end_at_the_server_with_their_frames(world: SmallWorld) -> None:
    world.subscribe(0, "goal", TimeFrame(world.now_s, world.now_s + 100.0))
    for _ in range(30):
        world.subscribe(1, "goal", TimeFrame.past(world.now_s), wait_s=1.0)
    world.subscribe(2, "goal")
    assert held(world) == 2, "the searches of the past are gone"
    world.switch_off(SERVER)
    world.switch_on(SERVER, wait_s=100.0)
    assert held(world) == 1


def test_a_search_finds_what_was_on_its_way_when_it_was_made(world: SmallWorld) -> None:
    world.run.world.rules = (Rule("loss"),)
    world.insert(1, "late", "goal", wait_s=1.5)
    world.run.world.rules = ()
    world.subscribe(0, "goal", TimeFrame.past(world.now_s))
    assert world.names(0) == ["late"]


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_lost_piece_of_the_past_is_asked_for_again(world: SmallWorld, lost: int) -> None:
    for i in range(60):
        world.insert(1, f"o{i:02}", "goal", wait_s=0.5)
    expected = [f"o{i:02}" for i in reversed(range(60))]
    world.lose(SERVER, "PastMatches", lost)
    key = world.subscribe(0, "goal")
    assert world.names(0) == expected[:20]
    assert world.outcomes[-1].remaining == 40
    for told in (40, 60):
        world.lose(SERVER, "PastMatches", lost)
        world.more(0, key.sid)
        assert world.names(0) == expected[:told]
        assert world.last_failure() is Failure.NONE
        assert world.outcomes[-1].remaining == 60 - told


def test_everybody_asks_for_themselves_alone(world: SmallWorld) -> None:
    world.insert(0, "mine", "goal")
    key = world.subscribe(0, "goal")
    strange = Subscription.to_query(SubscriptionKey(9, NodeId(0)), parse_query("final"), TimeFrame.always())
    faked = Metadata(ObjectKey("faked", NodeId(0)), ("goal",), b"", 1.0, 0)
    for message in (
        UnsubscribeRequest(1, key),
        DeleteRequest(2, ObjectKey("mine", NodeId(0))),
        SubscribeRequest(3, strange, 1),
        InsertRequest(4, faked, b""),
        Relayed(NodeId(0), b""),
    ):
        ask(world, 1, message)
    assert (held(world), held(world, "objects")) == (1, 1)
    world.insert(2, "other", "goal")
    assert world.names(0) == ["mine", "other"]


def test_a_request_that_comes_late_brings_nothing_back(world: SmallWorld) -> None:
    metadata = world.insert(0, "gone", "goal")
    key = world.subscribe(0, "goal")
    world.delete(0, "gone")
    world.unsubscribe(0, key.sid)
    for _ in range(2):
        ask(world, 0, InsertRequest(1, metadata, b"data"))
        ask(world, 0, SubscribeRequest(2, Subscription.to_query(key, parse_query("goal"), TimeFrame.always()), 10))
        assert (held(world), held(world, "objects")) == (0, 0)
        world.switch_off(SERVER)
        world.switch_on(SERVER)


def test_a_server_that_returns_learns_what_was_deleted_and_revoked_meanwhile(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(3), "es", {"routing": "ondemand"}, servers=2)
    world.wait(60.0)
    world.insert(0, "gone", "goal")
    key = world.subscribe(1, "goal")
    world.switch_off(4)
    world.delete(0, "gone", wait_s=60.0)
    world.unsubscribe(1, key.sid, wait_s=60.0)
    world.switch_on(4)
    assert [count for _, count, _ in world.node(4).stored()] == [0, 0]
