"""What Thyme-DCS promises where people walk, cells empty and fill, and frames are lost (FGCS §3, §6.6)."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from cell_world import CellWorld
from small_world import SmallWorld

from thyme.approaches.dcs.protocol import CellStorage
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.faults import Rule
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of

THREE = [(0, 0), (1, 0), (2, 0)]


def walkers_day(nodes: int, draws: Random) -> list[Operation]:
    """Everybody subscribes to a tag, then objects are published under all of them."""
    tags = [f"tag{i}" for i in range(6)]
    operations = []
    for node in range(nodes):
        query = tags[node % len(tags)]
        kind = OperationKind.SUBSCRIBE
        operations.append(Operation(node, 40.0 + 0.2 * node, NodeId(node), kind, query=query, start_s=0.0, end_s=1e6))
    for i in range(60):
        node = NodeId(draws.randrange(nodes))
        number, at_s = nodes + i, 50.0 + i
        kind = OperationKind.INSERT
        tag = tags[i % len(tags)]
        operations.append(Operation(number, at_s, node, kind, oid=f"o{i}", tags=(tag,), text=f"text {i}"))
    return operations


@pytest.mark.parametrize("speed_mps", [1.0, 3.0])
def test_a_crowd_in_which_everybody_walks_all_the_time_is_served(speed_mps: float) -> None:
    nodes = 20
    scenario = scenario_of(
        {
            "nodes": nodes,
            "seed": 3,
            "approach": "dcs",
            "venue": {"width_m": 200.0, "height_m": 160.0},
            "movement": {"model": "waypoint", "min_speed_mps": speed_mps, "max_speed_mps": speed_mps},
            "radio": {"range_m": 113.0},
            "time": {"join_from_s": 2.0, "join_to_s": 10.0, "until_s": 180.0},
            "users": {"retrieval": {"probability": 1.0}},
        },
        "test",
    )
    rows = Run(scenario, walkers_day(nodes, Random(1))).go().events.to_pylist()
    issued = sum(row["kind"] == "issued" for row in rows)
    assert sum(row["kind"] == "succeeded" for row in rows) >= 0.99 * issued
    subscribers = [sum(node % 6 == tag for node in range(nodes)) for tag in range(6)]
    assert sum(row["kind"] == "notified" for row in rows) >= 0.99 * 10 * sum(subscribers)


def test_objects_go_back_with_their_cell_when_it_fills_again(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [*THREE, (2, 0)])
    world.switch_off(3, keeps_store=False)
    world.wait(10.0)
    metadata = world.insert(2, "photo", world.tag_of(0, 0))
    world.node(2).stop()
    world.wait(5.0)
    world.switch_off(2, keeps_store=False)
    world.wait(20.0)
    assert world.keepers("photo") == [1], "its proxy"
    world.switch_on(3, wait_s=120.0)
    assert world.keepers("photo") == [3]
    assert world.retrieve(0, metadata) == b"data"


@pytest.mark.parametrize("phase_s", [0.0, 0.1, 0.2, 0.3, 0.4])
def test_no_acknowledged_insertion_is_lost_with_a_walker_that_crosses_a_border(tmp_path: Path, phase_s: float) -> None:
    way = [(0.0, 55.0, 15.0), (100.0 + phase_s, 55.0, 15.0), (102.0 + phase_s, 75.0, 15.0), (110.0, 115.0, 15.0)]
    places = [(15.0, 15.0), (55.0, 15.0), (58.0, 15.0)]
    venue = {"width_m": 160.0, "height_m": 40.0}
    world = SmallWorld(tmp_path, places, "dcs", {"past_matches": 500}, walks={1: way}, venue=venue)
    world.wait(99.0)
    walker = world.node(1)
    assert isinstance(walker, CellStorage)
    grid = walker.cell.grid
    tag = next(tag for i in range(10_000) if grid.cell_for(tag := f"tag{i}") == grid.at(2, 0))
    while world.now_s < 106.0:
        world.insert(0, f"o{len(world.outcomes)} {world.now_s}", tag, wait_s=0.05)
    world.wait(100.0)
    acknowledged = sum(outcome.ok for outcome in world.outcomes)
    assert acknowledged == len(world.outcomes) > 100
    world.subscribe(2, tag)
    assert len(world.names(2)) == acknowledged


def test_what_was_deleted_while_its_cell_was_off_stays_deleted_when_it_returns(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, THREE)
    tag = world.tag_of(2, 0)
    world.insert(0, "photo", tag)
    world.switch_off(2)
    world.wait(10.0)
    world.delete(0, "photo")
    assert world.outcomes[-1].ok
    world.switch_on(2, wait_s=30.0)
    assert world.holders("photo") == []
    world.subscribe(1, tag)
    assert world.names() == []


def test_what_was_unsubscribed_while_its_cell_was_off_stays_so_when_it_returns(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, THREE)
    tag = world.tag_of(2, 0)
    key = world.subscribe(0, tag)
    world.switch_off(2)
    world.wait(10.0)
    world.unsubscribe(0, key.sid)
    world.switch_on(2, wait_s=30.0)
    assert [world.store(node).cell.holdings.index.subscription_count for node in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("stays", [2, 3])
def test_an_acknowledged_deletion_is_known_to_whoever_remains_though_broadcasts_are_lost(
    tmp_path: Path, stays: int
) -> None:
    world = CellWorld(tmp_path, [*THREE, (2, 0)])
    tag = world.tag_of(2, 0)
    world.insert(0, "photo", tag)
    world.run.world.rules = (Rule("loss", message="CellBroadcast", probability=1.0),)
    world.delete(0, "photo", wait_s=0.3)
    assert world.outcomes[-1].ok
    world.switch_off(5 - stays, keeps_store=False)
    world.wait(26.0)
    world.subscribe(1, tag)
    assert world.names() == []


@pytest.mark.parametrize("stays", [2, 3])
def test_an_acknowledged_subscription_and_its_end_are_known_to_whoever_remains(tmp_path: Path, stays: int) -> None:
    world = CellWorld(tmp_path, [*THREE, (2, 0)])
    tag = world.tag_of(2, 0)
    world.run.world.rules = (Rule("loss", message="CellBroadcast", probability=1.0),)
    ended = world.subscribe(0, tag, wait_s=0.3)
    world.subscribe(1, tag, wait_s=0.3)
    world.unsubscribe(0, ended.sid, wait_s=0.3)
    world.switch_off(5 - stays, keeps_store=False)
    subscriptions = [s.key.subscriber for s in world.store(stays).cell.holdings.index.subscriptions()]
    assert subscriptions == [1]


def test_deleted_contents_do_not_come_back_though_broadcasts_are_lost(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0), (0, 0), (0, 0), (1, 0), (2, 0)])
    tag = world.tag_of(2, 0)
    metadata = world.insert(0, "photo", tag)
    assert world.keepers("photo") == [0, 1, 2]
    world.run.world.rules = (Rule("loss", message="CellBroadcast", probability=1.0),)
    world.delete(0, "photo", wait_s=4.0)
    world.run.world.rules = ()
    assert world.outcomes[-1].ok
    world.wait(60.0)
    assert world.keepers("photo") == []
    assert world.retrieve(4, metadata) is None


def test_searches_of_the_past_neither_pile_up_in_cells_nor_use_up_a_nodes_subscriptions(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0), (1, 0)], {"limits": {"own_subscriptions": 20}})
    tag = world.tag_of(1, 0)
    world.insert(0, "photo", tag)
    for _ in range(60):
        world.subscribe(0, tag, TimeFrame.past(world.now_s), wait_s=0.5)
    assert all(outcome.ok for outcome in world.outcomes)
    assert world.names() == ["photo"] * 60
    world.wait(30.0)
    assert world.store(1).cell.holdings.index.subscription_count == 0


def test_a_subscription_ends_with_its_frame_in_its_cells_and_at_its_subscriber(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, THREE)
    tag = world.tag_of(2, 0)
    key = world.subscribe(0, tag, TimeFrame(0.0, world.now_s + 100.0))
    world.insert(1, "in time", tag)
    world.wait(120.0)
    world.insert(1, "too late", tag)
    assert world.names() == ["in time"]
    assert world.store(2).cell.holdings.index.subscription_count == 0
    with pytest.raises(InputError, match="ended"):
        world.node(0).remaining(key.sid)
    world.unsubscribe(0, key.sid)
    assert world.outcomes[-1].ok


def test_more_is_answered_by_members_that_missed_the_subscription_and_lost_pieces_are_only_late(
    tmp_path: Path,
) -> None:
    world = CellWorld(tmp_path, [*THREE, (2, 0)], {"past_matches": 2, "repair": False, "sure_members": 0})
    tag = world.tag_of(2, 0)
    for i in range(8):
        world.insert(0, f"o{i}", tag, wait_s=2.0)
    world.run.world.rules = (
        Rule("loss", message="CellBroadcast", probability=1.0),
        Rule("loss", message="CellPacket", probability=0.4),
    )
    key = world.subscribe(1, tag)
    for _ in range(6):
        world.more(1, key.sid)
    assert world.names(1) == [f"o{i}" for i in reversed(range(8))]


def test_the_most_recent_of_the_past_are_those_of_all_cells_together(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, THREE, {"past_matches": 3})
    near, far = world.tag_of(0, 0), world.tag_of(2, 0)
    for i, tag in enumerate([near, far, near, near, far, near]):
        world.insert(1, f"o{i}", tag, wait_s=2.0)
    key = world.subscribe(1, f"{near} | {far}")
    assert world.names() == ["o5", "o4", "o3"]
    world.more(1, key.sid)
    assert world.names() == ["o5", "o4", "o3", "o2", "o1", "o0"]
    assert world.outcomes[-1].remaining == 0


@pytest.mark.parametrize("paper", [True, False])
def test_the_subscription_of_a_straggler_ends_in_the_papers_and_stands_here_and_it_is_told_in_both(
    tmp_path: Path, paper: bool
) -> None:
    world = CellWorld(tmp_path, [*THREE, (2, 0)], {"paper": paper})
    tag = world.tag_of(2, 0)
    world.subscribe(0, tag)
    world.switch_off(0)
    world.wait(10.0)
    world.insert(1, "missed", tag)
    counts = [world.store(node).cell.holdings.index.subscription_count for node in (2, 3)]
    assert counts == ([0, 0] if paper else [1, 1])
    world.insert(1, "also missed", tag)
    world.switch_on(0)
    world.insert(1, "later", tag)
    assert sorted(world.names(0)) == ["also missed", "later", "missed"]
