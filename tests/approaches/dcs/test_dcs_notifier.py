"""The notifier by itself: subscribers that are where they are said to be, and others (FGCS §6.4.2–6.4.3)."""

from __future__ import annotations

from typing import Any

from lone_cell import HERE, OTHER, LoneCell, metadata_of, part_of, subscription_of

from thyme.approaches.dcs.notifier import KEYS_PER_MESSAGE, Notifier
from thyme.model.ids import NodeId
from thyme.wire.cells import CellNotification, CompareHint

PHOTO = metadata_of("photo", "goal")


def notifying(*places: int, **options: Any) -> tuple[LoneCell, Notifier]:
    """A notifier whose cell has one subscription per place: number i of node 10 + i."""
    lone = LoneCell(**options)
    for i, place in enumerate(places):
        lone.cell.holdings.parts.put(part_of(subscription_of("goal", i, 10 + i), place=place))
    return lone, Notifier(lone.cell)


def keys(lone: LoneCell) -> list[Any]:
    return [subscription.key for subscription in lone.cell.holdings.index.subscriptions()]


def test_one_message_tells_all_subscribers_of_an_object_each_at_its_place() -> None:
    lone, notifier = notifying(0, 1, 1)
    notifier.notify(keys(lone), PHOTO)
    ((to, message),) = lone.take(CellNotification)
    assert to == [(0, 10), (1, 11), (1, 12)]
    assert message.matches == (PHOTO,)
    assert [key.subscriber for key in message.keys] == [10, 11, 12]


def test_so_many_subscribers_that_a_message_would_not_hold_them_are_told_by_several() -> None:
    lone, notifier = notifying(*[1] * (KEYS_PER_MESSAGE + 1))
    notifier.notify(keys(lone), PHOTO)
    assert [len(message.keys) for _, message in lone.take(CellNotification)] == [KEYS_PER_MESSAGE, 1]


def test_what_is_told_to_the_same_ones_in_one_instant_shares_a_message_after_the_first() -> None:
    lone, notifier = notifying(1, notify_together=True)
    photos = [metadata_of(f"photo {i}", "goal") for i in range(4)]
    for photo in photos:
        notifier.notify(keys(lone), photo)
    assert [message.matches for _, message in lone.take(CellNotification)] == [(photos[0],)]
    lone.wait(0.1)
    assert [message.matches for _, message in lone.take(CellNotification)] == [tuple(photos[1:])]
    notifier.notify(keys(lone), PHOTO)
    assert [message.matches for _, message in lone.take(CellNotification)] == [(PHOTO,)]


def test_a_subscriber_whose_place_is_not_known_is_not_told() -> None:
    lone, notifier = notifying()
    notifier.notify([subscription_of("goal").key], PHOTO)
    assert lone.sent == []


def test_as_in_the_papers_what_a_moved_subscriber_missed_is_kept_until_it_says_where_it_is() -> None:
    lone, notifier = notifying(0, 1, reconcile=False)
    notifier.notify(keys(lone), PHOTO)
    lone.nack(11)
    lone.sent.clear()
    lone.wait(10.0)
    assert lone.sent == [], "the papers wait for the location update"
    lone.cell.holdings.parts.move_subscriber(keys(lone)[1], OTHER, 5.0)
    notifier.moved(NodeId(11))
    ((to, message),) = lone.take(CellNotification)
    assert to == [(OTHER, 11)]
    assert [key.subscriber for key in message.keys] == [11], "the other one has got it"
    notifier.moved(NodeId(11))
    assert lone.sent == [], "once"


def test_as_in_the_papers_a_silent_subscriber_is_taken_to_have_failed_in_the_end() -> None:
    lone, notifier = notifying(0, reconcile=False, undelivered_s=30.0)
    notifier.notify(keys(lone), PHOTO)
    lone.nack(10)
    lone.wait(31.0)
    assert lone.dropped() == ["subscriber is silent"]
    lone.sent.clear()
    notifier.moved(NodeId(10))
    assert lone.sent == []


def test_as_in_the_papers_only_so_many_undelivered_notifications_are_kept() -> None:
    lone, notifier = notifying(0, reconcile=False, undelivered=2)
    for i in range(3):
        notifier.notify(keys(lone), metadata_of(f"o{i}", "goal"))
        lone.nack(10)
    assert lone.dropped() == ["too many undelivered"]
    lone.sent.clear()
    notifier.moved(NodeId(10))
    assert [message.matches[0].key.oid for _, message in lone.take(CellNotification)] == ["o0", "o1"]
    notifier.notify(keys(lone), PHOTO)
    lone.nack(10)
    assert len(lone.dropped()) == 1, "there is room again"


def test_a_nack_of_something_else_is_no_concern_of_the_notifier() -> None:
    lone, notifier = notifying(0)
    notifier.notify(keys(lone), PHOTO)
    lone.cell.undelivered(NodeId(10), HERE, lone.sent[-1].number + 1)
    lone.sent.clear()
    lone.wait(20.0)
    assert lone.sent == []


def test_who_was_not_found_is_told_to_compare_ever_later_until_that_reaches_it() -> None:
    lone, notifier = notifying(0)
    notifier.notify(keys(lone), PHOTO)
    for before_s in (4.9, 9.9, 19.9, 39.9, 59.9, 59.9):
        lone.nack(10)
        lone.sent.clear()
        lone.wait(before_s)
        assert lone.sent == []
        lone.wait(0.2)
        assert [sent.message.shares for sent in lone.sent if isinstance(sent.message, CompareHint)] == [
            ((HERE, keys(lone)[0]),)
        ]
    lone.sent.clear()
    lone.wait(200.0)
    assert lone.sent == [], "the last one came through"


def test_who_was_not_found_is_told_to_compare_when_it_says_where_it_is() -> None:
    lone, notifier = notifying(0)
    notifier.notify(keys(lone), PHOTO)
    lone.nack(10)
    lone.cell.holdings.parts.move_subscriber(keys(lone)[0], OTHER, 5.0)
    notifier.moved(NodeId(10))
    assert [to for to, _ in lone.take(CompareHint)] == [[(OTHER, 10)]]


def test_a_hint_that_is_due_leaves_before_what_it_is_about_is_given_away() -> None:
    lone, notifier = notifying(OTHER)
    (key,) = keys(lone)
    notifier.doubt([key])
    assert lone.sent == []
    lone.cell.release([HERE])
    ((to, message),) = lone.take(CompareHint)
    assert (to, message.shares) == ([(OTHER, 10)], ((HERE, key),))
    lone.wait(10.0)
    assert lone.sent == [], "once"
