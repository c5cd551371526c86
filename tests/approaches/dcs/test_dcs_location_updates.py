"""LocationUpdates by themselves: a cell is told where subscribers and replicas are (FGCS §6.2.2–6.2.3, §6.4.3)."""

from __future__ import annotations

from typing import Any

from lone_cell import ALL, HERE, OTHER, LoneCell, metadata_of, part_of, replica, subscription_of

from thyme.approaches.dcs.broker import LocationUpdates
from thyme.approaches.dcs.notifier import Notifier
from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import CellAnswer, CompareHint, Deleted, DropCopy, Held, LocationUpdate, ReplicaAdded, Unknown

SUBSCRIPTION = subscription_of("goal")
PHOTO = metadata_of("photo", "goal", owner=8, at_s=5.0)


def informed(**options: Any) -> tuple[LoneCell, Notifier]:
    lone = LoneCell(**options)
    notifier = Notifier(lone.cell)
    LocationUpdates(lone.cell, notifier)
    lone.cell.holdings.parts.put(part_of(SUBSCRIPTION, place=1))
    lone.cell.holdings.put(Held(HERE, PHOTO))
    return lone, notifier


def update(*, cell: int = OTHER, told_s: float = 9.0, objects: Any = (), **more: Any) -> LocationUpdate:
    return LocationUpdate(NodeId(8), CellId(cell), told_s, (SUBSCRIPTION.key,), objects, **more)


def test_a_subscriber_that_moved_is_told_to_compare_at_its_new_place_and_the_others_are_told() -> None:
    lone, notifier = informed()
    notifier.notify([SUBSCRIPTION.key], PHOTO)
    lone.nack(8)
    lone.sent.clear()
    lone.arrive(update(), origin=8)
    assert [to for to, _ in lone.take(CompareHint)] == [[(OTHER, 8)]]
    assert lone.take(LocationUpdate) == [(ALL, update())]


def test_old_news_and_no_news_are_not_passed_on() -> None:
    lone, _ = informed()
    lone.arrive(update(told_s=9.0), origin=8)
    lone.sent.clear()
    lone.arrive(update(cell=1, told_s=8.0), origin=8)
    lone.arrive(update(told_s=10.0), origin=8)
    assert lone.sent == []
    assert lone.cell.holdings.parts.place_of(SUBSCRIPTION.key) == OTHER


def test_a_member_that_overhears_an_update_learns_and_says_nothing() -> None:
    lone, _ = informed()
    lone.arrive(update(objects=(PHOTO.key,), request=7), form=Form.BROADCAST)
    assert lone.sent == []
    assert lone.cell.holdings.parts.place_of(SUBSCRIPTION.key) == OTHER


def test_nobody_moves_the_subscriptions_of_another() -> None:
    lone, _ = informed()
    forged = LocationUpdate(NodeId(3), OTHER, 9.0, (SUBSCRIPTION.key,), ())
    lone.arrive(forged, origin=3)
    assert lone.cell.holdings.parts.place_of(SUBSCRIPTION.key) == 1


def test_an_update_that_asks_for_it_is_answered_and_passed_on_without_the_question() -> None:
    lone, _ = informed()
    lone.arrive(update(request=7), origin=8)
    assert lone.take(CellAnswer) == [([(OTHER, 8)], CellAnswer(7, HERE))]
    assert [message.request for _, message in lone.take(LocationUpdate)] == [-1]


def test_a_cell_that_lost_what_it_should_know_asks_for_it_again() -> None:
    lone, _ = informed()
    lost, deleted, foreign = (metadata_of(oid, "goal", owner=o).key for oid, o in (("a", 8), ("b", 8), ("c", 3)))
    lone.cell.holdings.delete(Deleted(HERE, deleted))
    unknown = subscription_of("goal", 5)
    keys = (SUBSCRIPTION.key, unknown.key)
    lone.arrive(LocationUpdate(NodeId(8), OTHER, 9.0, keys, (PHOTO.key, lost, deleted, foreign)), origin=8)
    assert lone.take(Unknown) == [([(OTHER, 8)], Unknown(HERE, (lost, foreign), (unknown.key,)))]


def test_what_is_kept_for_another_cell_does_not_count_as_known() -> None:
    lone, _ = informed()
    elsewhere = metadata_of("a", "goal", owner=8)
    lone.cell.holdings.put(Held(CellId(0), elsewhere))
    lone.arrive(LocationUpdate(NodeId(8), OTHER, 9.0, (), (elsewhere.key,)), origin=8)
    assert lone.take(Unknown) == [([(OTHER, 8)], Unknown(HERE, (elsewhere.key,), ()))]


def test_as_in_the_papers_nothing_is_asked_for_again() -> None:
    lone, _ = informed(repair=False)
    lone.arrive(LocationUpdate(NodeId(8), OTHER, 9.0, (subscription_of("goal", 5).key,), ()), origin=8)
    assert lone.take(Unknown) == []


def test_a_new_replica_is_listed_and_told_to_the_others() -> None:
    lone, _ = informed(replication_list=2)
    for node in (20, 21, 22):
        lone.arrive(ReplicaAdded(PHOTO.key, replica(node, 3)), origin=node)
    kept = lone.cell.holdings.index.get(PHOTO.key)
    assert kept is not None
    assert [entry.node for entry in kept.replicas] == [21, 22], "the most recent ones (§6.2.3)"
    assert [to for to, _ in lone.take(ReplicaAdded)] == [ALL] * 3
    lone.arrive(ReplicaAdded(PHOTO.key, replica(23, 3)), form=Form.BROADCAST)
    lone.arrive(ReplicaAdded(metadata_of("unknown").key, replica(23, 3)))
    assert lone.sent == []


def test_who_reports_a_copy_of_a_deleted_object_is_told_of_the_deletion() -> None:
    lone, _ = informed()
    lone.cell.holdings.delete(Deleted(HERE, PHOTO.key))
    lone.arrive(ReplicaAdded(PHOTO.key, replica(20, 3)), origin=20)
    lone.arrive(update(cell=1, objects=(PHOTO.key,)), origin=8)
    assert lone.take(DropCopy) == [([(3, 20)], DropCopy(PHOTO.key)), ([(1, 8)], DropCopy(PHOTO.key))]


def test_a_node_that_settled_elsewhere_is_listed_at_its_new_place() -> None:
    lone, _ = informed()
    lone.arrive(update(cell=1, objects=(PHOTO.key,)), origin=8)
    lone.arrive(update(cell=3, told_s=10.0, objects=(PHOTO.key,)), origin=8)
    kept = lone.cell.holdings.index.get(PHOTO.key)
    assert kept is not None
    assert kept.replicas == (replica(8, 3),)
