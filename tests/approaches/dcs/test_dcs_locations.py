"""Where a node says that it is, to which cells, and what it says again (FGCS §6.6.3, and beyond the papers)."""

from __future__ import annotations

from math import inf

from lone_cell import HERE, OTHER, metadata_of, replica, subscription_of
from lone_user import User

from thyme.approaches.dcs.copies import Copies
from thyme.model.ids import CellId, ObjectKey
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import (
    DeleteMetadata,
    InsertMetadata,
    LocationUpdate,
    SubscribePart,
    Unknown,
)


def test_a_node_that_settles_tells_the_cells_of_its_subscriptions_and_objects_in_one_message_each() -> None:
    user = User()
    tag = user.tag(1)
    key = user.subscribe(tag)
    own = metadata_of("own", tag, user.tag(3), owner=5)
    user.copies.put_own(own)
    user.cell.place = OTHER
    user.cell.settled(False)
    updates = {to[0][0]: update for to, update in user.take(LocationUpdate)}
    assert {cell: (u.subscriptions, u.objects) for cell, u in updates.items()} == {
        1: ((key,), (own.key,)),
        3: ((), (own.key,)),
    }
    assert all(update.cell == OTHER for update in updates.values())


def test_on_the_way_only_subscriptions_are_told_of() -> None:
    user = User()
    key = user.subscribe(user.tag(1))
    user.copies.put_own(metadata_of("own", user.tag(3), owner=5))
    user.cell.place = OTHER
    user.cell.crossed()
    assert [(to, u.subscriptions, u.objects) for to, u in user.take(LocationUpdate)] == [([(1, None)], (key,), ())]


def test_a_walker_says_where_it_is_when_the_cell_it_named_no_longer_reaches_it() -> None:
    for near_cells, told in ((1, [4, 2, 0]), (0, [2, 3, 4, 3, 2, 1, 0])):
        user = User(near_cells=near_cells)
        user.subscribe(user.tag(1))
        for place in (2, 3, 4, 3, 2, 1, 0):
            user.cell.place = CellId(place)
            user.cell.crossed()
        assert [update.cell for _, update in user.take(LocationUpdate)] == told


def test_who_joins_for_a_while_only_is_not_listed_as_a_replica_anew() -> None:
    for stay_s, list_stay_s, listed in ((inf, 60.0, True), (72.0, 60.0, True), (48.0, 60.0, False), (8.0, 0.0, True)):
        user = User(list_stay_s=list_stay_s)
        key = user.subscribe(user.tag(1))
        own = metadata_of("own", user.tag(1), owner=5)
        user.copies.put_own(own)
        user.settle()
        user.cell.place, user.cell.stay_s = OTHER, stay_s
        user.cell.settled(False)
        ((_, update),) = user.take(LocationUpdate)
        assert (update.subscriptions, update.objects) == ((key,), (own.key,) if listed else ())


def test_who_comes_back_names_its_own_objects_however_soon_it_will_be_gone() -> None:
    user = User()
    own = metadata_of("own", user.tag(1), owner=5)
    user.copies.put_own(own)
    user.copies.put_retrieved(metadata_of("retrieved", user.tag(1)))
    user.cell.stay_s = 5.0
    user.cell.settled(False)
    ((_, update),) = user.take(LocationUpdate)
    assert update.objects == (own.key,), "its cell may have lost it"


def test_who_joins_within_reach_of_where_it_said_to_be_says_nothing() -> None:
    user = User()
    user.subscribe(user.tag(1))
    user.copies.put_own(metadata_of("own", user.tag(3), owner=5))
    user.settle()
    for place in (3, 2, 1):
        user.cell.place = CellId(place)
        user.cell.crossed()
        user.cell.settled(False)
    assert user.take(LocationUpdate) == []


def test_an_update_on_the_way_is_repeated_until_it_is_answered_and_said_again_if_it_never_is() -> None:
    user = User()
    user.subscribe(user.tag(1))
    user.answer(user.take(SubscribePart)[0][1].request, 1)
    user.settle()
    user.cell.place = OTHER
    user.cell.crossed()
    user.wait(2.5)
    first, again = (update.request for _, update in user.take(LocationUpdate))
    assert first == again
    user.wait(60.0)
    user.take(LocationUpdate)
    user.cell.settled(False)
    assert [update.cell for _, update in user.take(LocationUpdate)] == [OTHER]


def test_a_cell_that_lost_its_members_is_reminded_of_this_nodes_subscriptions_and_objects_until_it_answers() -> None:
    user = User(reminder_s=4.0)
    tag = user.tag(1)
    key = user.subscribe(f"{tag} | {user.tag(3)}")
    own = metadata_of("own", tag, owner=5)
    user.copies.put_own(own)
    user.copies.put_own(metadata_of("elsewhere", user.tag(3), owner=5))
    retrieved = metadata_of("retrieved", tag)
    user.copies.put_retrieved(retrieved)
    user.sent.clear()
    user.cell.forgotten(CellId(1))
    assert user.sent == [], "not all at once"
    told = []
    for _ in range(30):
        user.wait(1.0)
        for to, update in user.take(LocationUpdate):
            told.append((to[0], update.subscriptions, update.objects))
            user.answer(update.request, 1)
    assert told == [((1, None), (key,), (own.key,)), ((1, None), (), (retrieved.key,))], "its own first"


def test_what_a_cell_is_reminded_of_follows_what_was_inserted_and_deleted_since_it_was_last_lost() -> None:
    user = User(reminder_s=1.0)
    first, second = (metadata_of(name, user.tag(1), owner=5) for name in ("first", "second"))

    def reminded() -> list[tuple[ObjectKey, ...]]:
        user.sent.clear()
        user.cell.forgotten(CellId(1))
        user.wait(1.1)
        updates = user.take(LocationUpdate)
        for _, update in updates:
            user.answer(update.request, 1)
        return [update.objects for _, update in updates]

    assert reminded() == []
    user.copies.put_own(first)
    assert reminded() == [(first.key,)]
    user.copies.put_own(second)
    assert reminded() == [(first.key, second.key)]
    user.copies.remove_own("first")
    assert reminded() == [(second.key,)]
    user.copies.delete_own(second)
    assert reminded() == []
    assert [key.key for _, key in user.take(DeleteMetadata)] == [second.key], "that it was deleted"
    assert [metadata.key for metadata in Copies(user.host).deleted()] == [second.key], "after a restart, too"


def test_a_cell_that_lost_an_object_gets_its_metadata_from_whoever_has_a_copy() -> None:
    user = User()
    copied = metadata_of("copied", user.tag(1))
    user.copies.put_retrieved(copied)
    user.arrive(Unknown(CellId(1), (copied.key,), ()), form=Form.NODE)
    ((to, inserted),) = user.take(InsertMetadata)
    assert (to, inserted.metadata.key, inserted.metadata.replicas) == ([(1, None)], copied.key, (replica(5, HERE),))


def test_where_nothing_is_lost_nobody_is_reminded_of_anything() -> None:
    user = User()
    user.subscribe(user.tag(1))
    user.answer(user.take(SubscribePart)[0][1].request, 1)
    user.sent.clear()
    user.wait(600.0)
    assert user.sent == []


def test_what_a_cell_has_lost_is_sent_to_it_again() -> None:
    user = User()
    a, b = user.tag(1), user.tag(3)
    key = user.subscribe(f"{a} | {b}")
    own = metadata_of("own", a, owner=5)
    user.copies.put_own(own)
    user.sent.clear()
    lost = Unknown(CellId(1), (own.key, metadata_of("never mine").key), (key, subscription_of("x", 77, 5).key))
    user.arrive(lost, form=Form.NODE)
    ((to, inserted),) = user.take(InsertMetadata)
    assert (to, inserted.metadata.key) == ([(1, None)], own.key)
    assert inserted.metadata.replicas == (replica(5, HERE),), "and where a copy of it is now"
    ((to, part),) = user.take(SubscribePart)
    assert to == [(1, None)]
    assert part.subscription.conjunctions == subscription_of(a).conjunctions, "its share only"
