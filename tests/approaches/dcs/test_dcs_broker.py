"""The broker by itself: what a member does with requests that reach its cell (FGCS §6.1–6.4)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from lone_cell import ALL, HERE, LoneCell, metadata_of, part_of, replica, subscription_of

from thyme.approaches.dcs.broker import Broker
from thyme.approaches.dcs.cell import Mode
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.notifier import HINT_WAIT_S, MATCHES_PER_MESSAGE, Notifier
from thyme.approaches.dcs.replicas import Replicas
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId
from thyme.model.matching import Cursor, MatchingLimits
from thyme.wire.cells import (
    CellAnswer,
    CellNotification,
    CellState,
    CompareHint,
    Deleted,
    DeleteMetadata,
    DropCopy,
    Held,
    InsertMetadata,
    PastOf,
    SubscribePart,
    UnsubscribePart,
)
from thyme.wire.storage import MoreRequest


def brokered(**options: Any) -> LoneCell:
    lone = LoneCell(**options)
    notifier = Notifier(lone.cell)
    Broker(lone.cell, notifier, Learning(lone.cell, notifier, Replicas(lone.cell, Copies(lone.host))))
    return lone


def test_an_insertion_is_kept_told_to_the_cell_notified_and_answered_in_this_order() -> None:
    lone = brokered(sure_members=0)
    tag = lone.tag()
    lone.cell.holdings.parts.put(part_of(subscription_of(tag), place=1))
    lone.arrive(InsertMetadata(7, metadata_of("photo", tag)))
    assert lone.kinds() == ["CellState", "CellNotification", "CellAnswer"]
    assert lone.take(CellState) == [(ALL, CellState(held=(Held(HERE, metadata_of("photo", tag)),)))]
    assert [to for to, _ in lone.take(CellNotification)] == [[(1, 8)]]
    assert lone.take(CellAnswer) == [([(4, 9)], CellAnswer(7, HERE))]


def test_a_small_cell_is_told_by_packets_that_are_acknowledged_and_a_large_one_by_one_broadcast() -> None:
    for others, told in (((1, 3), [(HERE, 1), (HERE, 3)]), ((1, 3, 4), ALL)):
        lone = brokered(sure_members=2)
        lone.hear(*others)
        lone.arrive(InsertMetadata(7, metadata_of("photo", lone.tag())))
        assert [to for to, _ in lone.take(CellState)] == [told]


def test_a_repeated_request_is_answered_again_and_does_nothing_twice() -> None:
    lone = brokered(sure_members=0)
    tag = lone.tag()
    subscription = subscription_of(tag)
    for request in (
        SubscribePart(1, subscription, HERE, 10, 2.0),
        InsertMetadata(2, metadata_of("photo", tag)),
        DeleteMetadata(3, metadata_of("photo", tag).key),
        UnsubscribePart(4, subscription.key),
    ):
        origin = 8 if isinstance(request, SubscribePart | UnsubscribePart) else 9
        lone.arrive(request, origin)
        first = lone.kinds()
        assert first.count("CellAnswer") == 1
        assert "CellState" in first
        lone.sent.clear()
        lone.arrive(request, origin)
        assert lone.kinds() == ["CellAnswer"], request
        lone.sent.clear()


def test_only_the_owner_deletes_and_only_the_subscriber_unsubscribes() -> None:
    lone = brokered()
    tag = lone.tag()
    metadata, subscription = metadata_of("photo", tag, owner=9), subscription_of(tag)
    lone.arrive(InsertMetadata(2, metadata))
    lone.arrive(DeleteMetadata(3, metadata.key), origin=3)
    assert [answer.refusal for _, answer in lone.take(CellAnswer)] == ["", "only its owner deletes an object"]
    assert lone.cell.holdings.index.object_count == 1
    lone.arrive(SubscribePart(4, subscription, HERE, 0, 2.0), origin=8)
    lone.arrive(UnsubscribePart(5, subscription.key), origin=3)
    assert lone.cell.holdings.index.subscription_count == 1


def test_what_the_holder_of_a_copy_inserts_again_is_compared_with_its_subscribers() -> None:
    lone = brokered()
    tag = lone.tag()
    lone.arrive(SubscribePart(1, subscription_of(tag), HERE, 0, 2.0), origin=8)
    lone.sent.clear()
    lone.arrive(InsertMetadata(2, metadata_of("photo", tag, owner=9)), origin=3)
    assert lone.cell.holdings.index.object_count == 1
    assert lone.take(CellNotification) == [], "they may have been notified before the cell lost it"
    lone.wait(HINT_WAIT_S)
    assert len(lone.take(CompareHint)) == 1


def test_the_listed_replicas_are_told_of_a_deletion() -> None:
    lone = brokered()
    copies = (replica(9, 1), replica(20, 3), replica(-1, 1))
    metadata = msgspec.structs.replace(metadata_of("photo", lone.tag(), owner=9), replicas=copies)
    lone.arrive(InsertMetadata(1, metadata))
    lone.arrive(DeleteMetadata(2, metadata.key))
    assert lone.take(DropCopy) == [([(3, 20)], DropCopy(metadata.key))]


def test_what_was_deleted_does_not_come_back_with_a_late_insertion() -> None:
    lone = brokered(sure_members=0)
    metadata = metadata_of("photo", lone.tag())
    lone.arrive(DeleteMetadata(1, metadata.key))
    lone.arrive(InsertMetadata(2, metadata))
    assert lone.cell.holdings.index.object_count == 0
    assert lone.take(CellState) == [(ALL, CellState(deleted=(Deleted(HERE, metadata.key),)))]


def test_a_subscription_gets_the_most_recent_of_the_past_ahead_of_the_answer_that_says_how_many_there_are() -> None:
    lone = brokered()
    tag = lone.tag()
    for i in range(5):
        lone.arrive(InsertMetadata(i, metadata_of(f"o{i}", tag, at_s=float(i))))
    subscription = subscription_of(tag)
    for _ in range(2):
        lone.sent.clear()
        lone.arrive(SubscribePart(7, subscription, CellId(1), 3, 2.0), origin=8)
        assert lone.kinds()[-2:] == ["PastOf", "CellAnswer"], "and again, if the answer was lost"
        ((to, past),) = lone.take(PastOf)
        assert (to, past.cell) == ([(1, 8)], HERE)
        assert [m.key.oid for m in past.piece.matches] == ["o4", "o3", "o2"]
        assert [answer.past for _, answer in lone.take(CellAnswer)] == [5]


def test_more_is_answered_also_by_a_member_that_missed_the_subscription_but_not_for_others() -> None:
    lone = brokered()
    tag = lone.tag()
    for i in range(5):
        lone.arrive(InsertMetadata(i, metadata_of(f"o{i}", tag, at_s=float(i))))
    o2 = metadata_of("o2", tag, at_s=2.0)
    request = MoreRequest(8, subscription_of(tag), Cursor(o2.published_s, o2.key), 3)
    lone.arrive(request, origin=3)
    assert lone.take(PastOf) == []
    lone.arrive(request, origin=8)
    ((to, rest),) = lone.take(PastOf)
    assert to == [(4, 8)]
    assert [m.key.oid for m in rest.piece.matches] == ["o1", "o0"]
    assert (rest.piece.left, rest.piece.request, rest.piece.last) == (0, 8, True)


def test_the_past_comes_in_pieces_that_say_what_they_follow() -> None:
    lone = brokered()
    tag = lone.tag()
    count = MATCHES_PER_MESSAGE + 3
    for i in range(count):
        lone.cell.holdings.put(Held(HERE, metadata_of(f"o{i}", tag, at_s=float(i))))
    lone.arrive(MoreRequest(8, subscription_of(tag), None, count - 2), origin=8)
    first, last = [past.piece for _, past in lone.take(PastOf)]
    assert (len(first.matches), first.after, first.left, first.last) == (MATCHES_PER_MESSAGE, None, 3, False)
    end = first.matches[-1]
    assert (len(last.matches), last.after, last.left, last.last) == (1, Cursor(end.published_s, end.key), 2, True)


def test_where_the_subscriber_is_counts_by_its_own_clock() -> None:
    lone = brokered()
    subscription = subscription_of(lone.tag())
    lone.wait(50.0)
    lone.arrive(SubscribePart(1, subscription, CellId(3), 0, 2.0), origin=8)
    assert lone.cell.holdings.parts.move_subscriber(subscription.key, CellId(1), 3.0), "its clock is 47 s behind"


@pytest.mark.parametrize(("end_s", "ends_s"), [(10.0, 30.0), (0.0, 20.0), (None, 1e9)])
def test_a_share_is_forgotten_a_while_after_its_frame_has_ended_or_after_a_search_of_the_past(
    end_s: float | None, ends_s: float
) -> None:
    lone = brokered(sure_members=0)
    subscription = subscription_of(lone.tag(), frame=TimeFrame(0.0, end_s))
    lone.arrive(SubscribePart(1, subscription, HERE, 0, 0.0), origin=8)
    ((_, told),) = lone.take(CellState)
    for wait_s in (min(ends_s - 1.0, 100.0), 2.0):
        assert lone.cell.holdings.index.subscription_count == 1
        lone.wait(wait_s)
        lone.cell.holdings.parts.expire(lone.cell.host.now())
    kept = end_s is None
    assert lone.cell.holdings.index.subscription_count == kept
    lone.cell.holdings.release([HERE])
    assert lone.cell.holdings.parts.put(told.parts[0]) is kept, "nor does a member that still has it bring it back"


@pytest.mark.parametrize(("again", "kept"), [(False, 1), (True, 0)])
def test_a_subscription_that_ended_and_is_made_again_is_answered_and_not_kept(again: bool, kept: int) -> None:
    lone = brokered()
    lone.cell.holdings.put(Held(HERE, metadata_of("photo", lone.tag(), at_s=5.0)))
    lone.wait(100.0)
    subscription = subscription_of(lone.tag(), frame=TimeFrame(0.0, 50.0))
    lone.arrive(SubscribePart(1, subscription, HERE, 10, 100.0, again), origin=8)
    assert lone.cell.holdings.index.subscription_count == kept
    assert len(lone.take(PastOf)) == 1
    assert [answer.past for _, answer in lone.take(CellAnswer)] == [1]


def test_a_full_index_refuses_with_its_reason_and_tells_nobody() -> None:
    lone = brokered()
    tag = lone.tag()
    lone.cell.holdings.index.limits = MatchingLimits(objects=1, subscriptions=0)
    lone.arrive(InsertMetadata(1, metadata_of("one", tag)))
    lone.sent.clear()
    lone.arrive(InsertMetadata(2, metadata_of("two", tag)))
    lone.arrive(SubscribePart(3, subscription_of(tag), HERE, 10, 2.0), origin=8)
    assert lone.kinds() == ["CellAnswer", "CellAnswer"]
    assert all(answer.refusal for _, answer in lone.take(CellAnswer))


@pytest.mark.parametrize(("origin", "deletes"), [(9, True), (3, False)])
def test_a_deletion_takes_the_cells_copy_too_and_is_as_sure_as_an_insertion(origin: int, deletes: bool) -> None:
    lone = brokered(sure_members=2)
    lone.hear(1, 3)
    metadata = metadata_of("photo", lone.tag(3))
    lone.cell.holdings.put_object(metadata, b"data")
    lone.arrive(DeleteMetadata(7, metadata.key), origin)
    assert lone.cell.holdings.has_object(metadata.key) is not deletes
    assert lone.cell.contents.has(metadata.key) is not deletes
    told = [([(HERE, 1), (HERE, 3)], CellState(deleted=(Deleted(HERE, metadata.key),)))]
    assert lone.kinds() == (["CellState", "CellAnswer"] if deletes else ["CellAnswer"]), (
        "answered after the others know"
    )
    assert lone.take(CellState) == (told if deletes else [])


def test_what_comes_for_an_empty_cell_is_kept_under_its_name_and_answered_in_it() -> None:
    lone = brokered()
    tag = lone.tag(3)
    lone.arrive(InsertMetadata(1, metadata_of("photo", tag)), target=3, proxied=True)
    assert lone.cell.holdings.homes() == [3]
    assert [answer.cell for _, answer in lone.take(CellAnswer)] == [3]


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.MEMBER])
def test_who_is_not_a_member_serves_nobody(mode: Mode) -> None:
    lone = brokered()
    lone.cell.mode = mode
    lone.arrive(InsertMetadata(1, metadata_of("photo", lone.tag())))
    assert lone.sent == []
    assert lone.cell.holdings.index.object_count == 0


def test_the_place_of_the_subscriber_comes_with_the_subscription() -> None:
    lone = brokered()
    subscription = subscription_of(lone.tag())
    lone.arrive(SubscribePart(1, subscription, CellId(3), 0, 2.0), origin=8)
    assert lone.cell.holdings.parts.place_of(subscription.key) == 3


def test_a_subscriber_compares_if_a_page_of_the_past_may_have_lacked_something() -> None:
    lone = LoneCell()
    notifier = Notifier(lone.cell)
    learning = Learning(lone.cell, notifier, Replicas(lone.cell, Copies(lone.host)))
    Broker(lone.cell, notifier, learning)
    tag = lone.tag()
    subscription = subscription_of(tag)
    learning.learn(CellState(parts=(part_of(subscription, told_s=20.0),)))  # another member has answered it
    lone.wait(21.0)
    lone.arrive(MoreRequest(7, subscription, None, 10), origin=8)
    lone.sent.clear()
    learning.learn(CellState(held=(Held(HERE, metadata_of("passed over", tag, at_s=5.0)),)))
    lone.wait(4.0)
    assert [message.shares for _, message in lone.take(CompareHint)] == [((HERE, subscription.key),)]
