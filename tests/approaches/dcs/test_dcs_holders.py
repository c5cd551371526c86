"""Holders: large contents are held by a number of devices, and whoever notices fewer asks for more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cell_world import CellWorld
from lone_cell import HERE, LoneCell, metadata_of, replica

from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.holders import CHECK_S, CHECKS, Holders
from thyme.approaches.dcs.replicas import Replicas
from thyme.model.ids import ObjectKey
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import CellAnswer, Deleted, DropCopy, HeldBy, KeepCopy, ReplicaAdded, WhoHolds
from thyme.wire.storage import PartRequest

PHOTO = b"x" * 50_000
OWN = metadata_of("photo", "goal", owner=5, size=len(PHOTO), replicas=(replica(5, HERE),))


def holders(world: CellWorld, key: ObjectKey) -> list[int]:
    return [node for node in sorted(world.run.stores) if world.store(node).cell.contents.has(key)]


class Holder(LoneCell):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.copies = Copies(self.host)
        replicas = Replicas(self.cell, self.copies)
        self.holders = Holders(self.cell, self.copies, replicas)
        replicas.keep_own(OWN, PHOTO)

    def asked(self, *listed: int) -> list[list[int]]:
        """Wait until the holders are counted; the cell answers that these are listed. Who is asked to be one."""
        self.wait(1.3 * CHECK_S)
        self.hear(1, 2, 3)
        replicas = tuple(replica(node, HERE) for node in listed)
        for _, question in self.take(WhoHolds):
            fresh = metadata_of("photo", "goal", owner=5, size=len(PHOTO), replicas=replicas)
            self.arrive(HeldBy(question.request, fresh), form=Form.NODE)
        return [[node for _, node in to] for to, _ in self.take(KeepCopy)]


def test_a_large_content_is_held_by_a_few_devices_and_not_by_all_members(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0)] * 6, {"cast": False})
    metadata = world.insert(0, "photo", "goal", data=PHOTO, wait_s=20.0)
    assert holders(world, metadata.key) == [0], "whoever retrieves it first holds it"
    assert world.retrieve(1, metadata, wait_s=20.0) is not None
    world.wait(300.0)
    held = holders(world, metadata.key)
    assert len(held) == 3
    assert {0, 1} <= set(held)
    world.delete(0, "photo")
    assert holders(world, metadata.key) == [], "the listed replicas are told, whoever asked them to hold it"


def test_holders_learn_of_a_deletion_though_the_list_has_no_room_for_them(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0)] * 5, {"confirmed": True, "replication_list": 1})
    metadata = world.insert(0, "photo", "goal", data=PHOTO, wait_s=20.0)
    assert len(holders(world, metadata.key)) == 3
    world.delete(0, "photo")
    assert holders(world, metadata.key) == []


def test_who_asked_a_holder_tells_it_of_the_deletion_until_it_answers() -> None:
    lone = Holder(confirmed=True)
    CellRequests(lone.cell)
    lone.hear(1)
    lone.holders.begin(OWN)
    lone.holders.tell_of_deletion(OWN.key)
    lone.wait(3.0)
    (_, first), (to, again) = lone.take(DropCopy)
    assert to == [(HERE, 1)]
    assert first == again
    lone.arrive(CellAnswer(again.request, HERE), origin=1, form=Form.NODE)
    lone.wait(60.0)
    assert lone.take(DropCopy) == []


def test_a_holder_that_finds_its_object_deleted_drops_it_and_tells_those_it_asked() -> None:
    lone = Holder(cast=False)
    film = metadata_of("film", "goal", owner=20, size=5_000)
    lone.copies.put_retrieved(film)
    lone.copies.hold(film.key, (replica(7, HERE),))
    lone.holders.start()
    lone.wait(1.3 * CHECK_S)
    question = next(question for _, question in lone.take(WhoHolds) if question.key == film.key)
    lone.arrive(HeldBy(question.request, None, None, deleted=True), form=Form.NODE)
    assert [added.key for _, added in lone.take(ReplicaAdded)] == [film.key], "the claim alone proves nothing"
    lone.arrive(DropCopy(film.key), form=Form.NODE)
    assert film.key not in lone.copies
    assert [to for to, _ in lone.take(DropCopy)] == [[(HERE, 7)]]


def test_a_holder_that_is_lost_is_replaced_even_if_it_is_the_owner(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0)] * 6 + [(1, 0)], {"confirmed": True})
    metadata = world.insert(0, "photo", world.tag_of(1, 0), data=PHOTO, wait_s=20.0)
    assert len(holders(world, metadata.key)) == 3, "at once"
    for _ in range(3):
        world.switch_off(holders(world, metadata.key)[0], keeps_store=False)
        world.wait(3.0 * CHECK_S)
        assert len(holders(world, metadata.key)) == 3
    assert world.retrieve(6, metadata) == PHOTO


def test_as_many_are_asked_as_are_missing_and_again_until_they_are_listed() -> None:
    lone = Holder()
    lone.holders.begin(OWN)
    assert lone.asked(5, 9) == [[1]]
    assert lone.asked(5) == [[1], [2]]
    assert lone.asked(5, 1, 2) == []


def test_who_finds_no_other_holder_gives_up_after_a_while() -> None:
    lone = Holder()
    lone.holders.begin(OWN)
    assert [len(lone.asked(5)) for _ in range(CHECKS + 2)] == [2] * CHECKS + [0, 0]


def test_a_listed_holder_that_fell_silent_does_not_count() -> None:
    lone = Holder()
    lone.holders.begin(OWN)
    lone.hear(9)
    assert lone.asked(5, 9, 3) == [[1]], "node 9 was not heard again"


def test_who_is_asked_fetches_the_content_unless_it_knows_of_its_deletion() -> None:
    for deleted in (False, True):
        lone = Holder(cast=False)
        asked = metadata_of("film", "goal", owner=20, size=5_000, replicas=(replica(20, HERE), replica(21, HERE)))
        if deleted:
            lone.cell.holdings.delete(Deleted(HERE, asked.key))
        lone.arrive(KeepCopy(asked), origin=21, form=Form.NODE)
        assert bool(lone.take(PartRequest)) is not deleted


def test_a_holder_whose_content_is_damaged_gets_it_from_another(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0)] * 3, {"confirmed": True})
    metadata = world.insert(0, "photo", "goal", data=PHOTO, wait_s=20.0)
    store = world.store(1)
    store.host.store.discard(str(metadata.key))
    assert store.cell.contents.read(metadata) is None
    world.wait(2.0 * CHECK_S)
    assert store.cell.contents.read(metadata) == PHOTO
