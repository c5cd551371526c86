"""Thyme-DCS: its mechanisms on small crowds of known places (FGCS §6)."""

from __future__ import annotations

from pathlib import Path

import pytest
from cell_world import CELL_M, CellWorld

from thyme.model.errors import InputError
from thyme.sim.faults import Rule
from thyme.wire.cells import WHOLE_CELL

ROW = [(0, 0), (0, 0), (1, 0), (2, 0), (2, 0), (3, 0)]


def test_metadata_is_kept_by_the_whole_cell_of_each_tag(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    world.insert(5, "photo", world.tag_of(0, 0), world.tag_of(2, 0))
    assert world.holders("photo") == [0, 1, 3, 4]


def test_the_object_itself_is_kept_by_its_owners_cell(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    metadata = world.insert(3, "photo", world.tag_of(0, 0), data=b"x" * 1000)
    assert world.keepers("photo") == [3, 4]
    world.switch_off(3, keeps_store=False)
    world.wait(10.0)
    assert world.retrieve(5, metadata) == b"x" * 1000, "its cell answers for an owner that left"


def test_an_insertion_can_do_without_replication(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    metadata = world.node(3).insert("ad", b"buy", [world.tag_of(0, 0)], b"", world.outcomes.append, replicate=False)
    world.wait(20.0)
    assert world.keepers("ad") == []
    assert metadata.replicas[0].node == 3
    assert world.retrieve(5, metadata) == b"buy"


def test_whoever_retrieves_becomes_a_replica_and_serves_those_nearby(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW, {"replication_list": 2})
    tag = world.tag_of(2, 0)
    first = world.insert(0, "photo", tag)
    world.retrieve(5, first)
    world.subscribe(4, tag)
    (notified,) = (m for m in world.store(3).cell.holdings.index.objects())
    assert [(r.node, r.cell) for r in notified.replicas] == [(WHOLE_CELL, 0), (5, 3)]
    world.retrieve(2, first)
    (notified,) = (m for m in world.store(3).cell.holdings.index.objects())
    assert [r.node for r in notified.replicas] == [WHOLE_CELL, 2], "bounded: the most recent, and the active one"


def test_a_replica_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    tag = world.tag_of(1, 0)
    metadata = world.insert(0, "photo", tag)
    world.retrieve(5, metadata)
    world.switch_off(5, keeps_store=False)
    world.wait(10.0)
    seen = next(m for m in world.store(2).cell.holdings.index.objects())
    assert [r.node for r in seen.replicas] == [WHOLE_CELL, 5]
    assert world.retrieve(4, seen) == b"data"


def test_each_conjunction_is_kept_in_the_cell_of_one_of_its_tags(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    a, b = world.tag_of(0, 0), world.tag_of(3, 0)
    world.subscribe(2, f"{a} | {b} & !other")
    assert [n for n in range(6) if world.store(n).cell.holdings.index.subscription_count] == [0, 1, 5]
    world.insert(4, "both", a, b)
    assert world.names() == ["both"], "matched by two cells, notified once"


def test_a_query_without_a_positive_tag_is_refused_with_an_explanation(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    with pytest.raises(InputError, match="not negated"):
        world.subscribe(0, "!replay")
    with pytest.raises(InputError, match="no subscription 0"):
        world.node(0).unsubscribe(0, world.outcomes.append)


def test_keys_of_an_empty_cell_are_kept_by_its_proxy(tmp_path: Path) -> None:
    around = [(c, r) for c in range(4) for r in range(3) if (c, r) not in ((1, 1), (2, 1))]
    world = CellWorld(tmp_path, around)
    tag = world.tag_of(1, 1)
    world.insert(0, "photo", tag)
    world.subscribe(len(around) - 1, tag)
    assert world.names() == ["photo"]
    assert len(world.holders("photo")) == 1


def test_a_cell_that_fills_takes_its_keys_back(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0), (1, 0), (2, 0), (3, 0)])
    world.switch_off(2, keeps_store=False)
    world.run.world.rules = ()
    world.wait(10.0)
    tag = world.tag_of(2, 0)
    # With its cell empty, node 3 is cut off; node 0 and 1 go on.
    world.insert(0, "photo", tag)
    assert world.holders("photo") == [1]
    world.switch_on(2)
    assert world.holders("photo") == [2]
    world.subscribe(3, tag)
    assert world.names() == ["photo"]


def test_a_cell_that_empties_leaves_its_keys_to_its_proxy(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0), (1, 0), (2, 0)])
    tag = world.tag_of(2, 0)
    world.insert(0, "photo", tag)
    world.subscribe(0, tag)
    assert world.holders("photo") == [2]
    world.node(2).stop()
    world.wait(5.0)
    world.switch_off(2, keeps_store=False)
    world.wait(10.0)
    assert world.holders("photo") == [1]
    world.insert(1, "second", tag)
    assert world.names() == ["photo", "second"]


def test_two_clusters_that_meet_become_one(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(c, 0) for c in range(7)], until_s=5000.0)
    for node in (2, 3, 4):
        world.switch_off(node)
    world.wait(10.0)
    tag = world.tag_of(6, 0)
    world.subscribe(0, tag, wait_s=60.0)
    assert world.outcomes[-1].ok, "the cluster of two keeps it for the cell beyond"
    world.insert(5, "photo", tag)
    assert world.names() == []
    for node in (2, 3, 4):
        world.switch_on(node, wait_s=60.0)
    assert [n for n in range(7) if world.store(n).cell.holdings.index.subscription_count] == [6]
    world.insert(5, "second", tag)
    assert "second" in world.names()


def test_members_repair_what_a_broadcast_lost(tmp_path: Path) -> None:
    lost = Rule("loss", from_s=60.0, to_s=110.0, message="CellBroadcast")
    world = CellWorld(tmp_path, ROW, {"sure_members": 0}, faults=[lost])
    tag = world.tag_of(2, 0)
    world.insert(0, "photo", tag, wait_s=0.5)
    assert len(world.holders("photo")) == 1
    world.subscribe(1, world.tag_of(2, 0), wait_s=100.0)
    assert world.holders("photo") == [3, 4]
    assert all(world.store(n).cell.holdings.index.subscription_count == 1 for n in (3, 4))
    assert world.names() == ["photo"], "whoever decided without knowing made up for it"


def test_the_papers_configuration_does_not_repair(tmp_path: Path) -> None:
    lost = Rule("loss", from_s=60.0, to_s=110.0, message="CellBroadcast")
    world = CellWorld(tmp_path, ROW, {"paper": True}, faults=[lost])
    world.insert(0, "photo", world.tag_of(2, 0), wait_s=200.0)
    assert len(world.holders("photo")) == 1


def test_a_subscriber_that_was_away_catches_up(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    tag = world.tag_of(2, 0)
    world.subscribe(0, tag)
    world.switch_off(0)
    world.insert(5, "missed", tag, wait_s=100.0)
    assert world.names() == []
    world.switch_on(0)
    assert world.names() == ["missed"]


def test_a_joining_node_gets_the_state_of_its_cell(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    world.switch_off(4, keeps_store=False)
    tag = world.tag_of(2, 0)
    for i in range(40):
        world.insert(0, f"o{i}", tag, wait_s=2.0)
    world.subscribe(5, tag)
    world.switch_on(4, wait_s=20.0)
    holdings = world.store(4).cell.holdings
    assert holdings.index.object_count == 40
    assert holdings.index.subscription_count == 1
    assert holdings.digests.beacon() == world.store(3).cell.holdings.digests.beacon()


def test_only_the_owner_deletes(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, ROW)
    world.insert(0, "photo", world.tag_of(2, 0))
    with pytest.raises(InputError, match="owner"):
        world.delete(1, "photo")
    world.delete(0, "photo")
    assert world.holders("photo") == []
    assert world.keepers("photo") == []


def test_a_grid_is_needed(tmp_path: Path) -> None:
    from thyme.approaches.registry import find_approach

    approach = find_approach("dcs")
    world = CellWorld(tmp_path, ROW)
    with pytest.raises(InputError, match=r"grid\.width_m"):
        approach.make(world.store(0).host, approach.configure({}))


LONG_ROW = [(c, 0) for c in range(6) for _ in range(2)]
"""Two nodes in each of six cells; node 0 is the one that walks."""


def there_and_on(*stops: tuple[float, int]) -> dict[int, list[tuple[float, float, float]]]:
    """Node 0 stands in cell 0 and walks to the column of each stop, arriving at its instant, at 8 m/s or more."""
    way = [(0.0, 15.0, 15.0)]
    for arrives_s, column in stops:
        x_m = column * CELL_M + 20.0
        sets_out_s = arrives_s - max(1.0, abs(x_m - way[-1][1]) / 20.0)
        way += [(sets_out_s, way[-1][1], 15.0), (arrives_s, x_m, 15.0)]
    return {0: way}


def test_a_subscriber_that_moves_twice_is_found(tmp_path: Path) -> None:
    for paper in (False, True):
        walks = there_and_on((110.0, 3), (122.0, 5))
        world = CellWorld(tmp_path, LONG_ROW, {"paper": paper}, walks=walks)
        tag = world.tag_of(1, 0)
        world.subscribe(0, tag, wait_s=46.0)
        for i in range(20):
            world.insert(9, f"o{i}", tag, wait_s=1.0)
        world.wait(60.0)
        assert sorted(world.names(0)) == sorted(f"o{i}" for i in range(20)), f"paper = {paper}"


def test_who_settles_elsewhere_works_for_the_new_cell_and_forgets_the_old_one(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, LONG_ROW, walks=there_and_on((150.0, 4)))
    old, new = world.tag_of(0, 0), world.tag_of(4, 0)
    world.insert(5, "in old", old)
    world.insert(5, "in new", new)
    assert world.holders("in old") == [0, 1]
    world.wait(60.0)
    assert world.store(0).cell.id == 4
    assert world.holders("in old") == [1]
    assert world.holders("in new") == [0, 8, 9]


def test_an_owner_that_moved_serves_as_a_passive_replica(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, LONG_ROW, walks=there_and_on((150.0, 4)))
    tag = world.tag_of(2, 0)
    world.insert(0, "photo", tag)
    world.wait(100.0)
    (metadata,) = [m for m in world.store(4).cell.holdings.index.objects() if m.key.oid == "photo"]
    assert [(r.node, r.cell) for r in metadata.replicas] == [(WHOLE_CELL, 0), (0, 4)]
    assert world.keepers("photo") == [1]
    assert world.retrieve(11, metadata) == b"data"


def test_a_node_on_its_way_does_not_route(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, LONG_ROW, walks=there_and_on((150.0, 4)))
    world.wait(145.0 - world.now_s)
    assert not world.store(0).cell.member
    assert 0 not in world.store(5).cell.beacons.nodes_in(world.store(0).cell.place)
    metadata = world.insert(0, "on the way", world.tag_of(5, 0), wait_s=60.0)
    assert world.outcomes[-1].ok
    assert world.retrieve(9, metadata) == b"data"


def test_a_cell_that_lost_all_its_members_at_once_is_told_again(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0), (1, 0), (2, 0)])
    tag = world.tag_of(2, 0)
    world.subscribe(0, tag)
    world.switch_off(2, keeps_store=False)
    world.wait(20.0)
    world.insert(1, "photo", tag)
    assert world.names() == ["photo"], "the proxy learnt of the subscription from its subscriber"


def test_what_two_cells_kept_apart_is_notified_when_it_meets(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0), (1, 0), (2, 0)], {"reminders": False})
    tag = world.tag_of(2, 0)
    world.subscribe(0, tag)
    world.switch_off(2)
    world.wait(10.0)
    world.insert(1, "photo", tag)
    world.switch_on(2, wait_s=60.0)
    assert world.names() == ["photo"], "the subscription was with the node that was off, the object with the proxy"
