"""Learning by itself: news from other members and other cells, and matches that were missed (FGCS §6.1, §6.4.2)."""

from __future__ import annotations

from typing import Any

from lone_cell import HERE, OTHER, LoneCell, metadata_of, part_of, subscription_of

from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.replicas import Replicas
from thyme.model.objects import DataObject
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import CellAnswer, CellState, CompareHint, Deleted, Held, Revoked
from thyme.wire.storage import PartReply, PartRequest


def learning() -> tuple[LoneCell, Learning]:
    lone = LoneCell()
    return lone, Learning(lone.cell, Notifier(lone.cell), Replicas(lone.cell, Copies(lone.host)))


SUBSCRIPTION = subscription_of("goal")
OBJECT = metadata_of("photo", "goal", at_s=5.0)
NEWS = Held(HERE, OBJECT)


def test_news_that_another_member_has_answered_for_is_only_learnt() -> None:
    lone, learner = learning()
    learner.learn(CellState(parts=(part_of(SUBSCRIPTION),), held=(NEWS,)))
    assert lone.cell.holdings.index.object_count == lone.cell.holdings.index.subscription_count == 1
    assert lone.sent == [], "whoever answered has notified"


def hinted(lone: LoneCell) -> list[Any]:
    lone.wait(4.0)
    return [key for _, hint in lone.take(CompareHint) for _, key in hint.shares]


def test_a_subscriber_compares_when_an_object_comes_that_is_older_than_its_subscription() -> None:
    lone, learner = learning()
    lone.cell.holdings.parts.put(part_of(SUBSCRIPTION, told_s=9.0))
    learner.learn(CellState(held=(NEWS,)))
    assert hinted(lone) == [SUBSCRIPTION.key]
    learner.learn(CellState(held=(Held(HERE, metadata_of("later", "goal", at_s=10.0)),)))
    assert hinted(lone) == [], "of what came after the subscription, whoever answered the insertion told"


def test_a_subscriber_compares_when_its_subscription_comes_after_an_object_that_is_younger() -> None:
    lone, learner = learning()
    lone.cell.holdings.put(NEWS)
    learner.learn(CellState(parts=(part_of(subscription_of("goal", 1), told_s=6.0),)))
    assert hinted(lone) == [], "a later subscription was answered with the past"
    learner.learn(CellState(parts=(part_of(SUBSCRIPTION, told_s=4.0),)))
    assert hinted(lone) == [SUBSCRIPTION.key]


def test_a_subscriber_compares_when_a_member_had_to_repair_an_object_however_young() -> None:
    """Its notifier may not have known the subscription, and this member may have answered an earlier comparison."""
    lone, learner = learning()
    lone.cell.holdings.parts.put(part_of(SUBSCRIPTION, told_s=1.0))
    lone.wait(30.0)
    for late, at_s in ((False, 5.0), (True, 29.0), (True, 6.0)):
        learner.learn(CellState(held=(Held(HERE, metadata_of(f"o{at_s}", "goal", at_s=at_s)),), late=late))
        assert hinted(lone) == ([SUBSCRIPTION.key] if late else [])


def test_whoever_gives_what_was_deleted_is_told_so_and_nobody_else() -> None:
    giver, _ = learning()
    giver.cell.holdings.put(NEWS)
    giver.cell.holdings.put_object(OBJECT, b"data")
    lone, _ = learning()
    lone.cell.holdings.delete(Deleted(HERE, OBJECT.key))
    for given in (CellState(held=(NEWS,)), CellState(objects=(DataObject(OBJECT, b"data"),))):
        lone.arrive(given, origin=6, form=Form.NODE)
        ((to, told),) = lone.take(CellState)
        assert to == [(OTHER, 6)]
        assert told == CellState(deleted=(Deleted(HERE, OBJECT.key),))
    giver.arrive(told, form=Form.NODE)
    assert giver.cell.holdings.index.get(OBJECT.key) is None
    assert list(giver.cell.holdings.objects()) == []
    assert giver.sent == [], "there is nothing to say to that"
    lone.arrive(CellState(held=(Held(HERE, metadata_of("another", "goal")),)), origin=6, form=Form.NODE)
    assert lone.take(CellState) == []


def test_deletions_and_revocations_win_over_what_comes_with_them() -> None:
    lone, learner = learning()
    learner.learn(
        CellState(
            held=(NEWS,),
            parts=(part_of(SUBSCRIPTION),),
            deleted=(Deleted(HERE, OBJECT.key),),
            revoked=(Revoked(HERE, SUBSCRIPTION.key),),
        )
    )
    assert lone.cell.holdings.index.object_count == lone.cell.holdings.index.subscription_count == 0


def test_keys_handed_over_by_another_cell_are_matched_answered_and_told_to_the_others() -> None:
    lone, _ = learning()
    lone.cell.holdings.put(NEWS)
    lone.hear(1)
    handed = CellState(parts=(part_of(SUBSCRIPTION, home=3),), request=7)
    lone.arrive(handed, target=3)
    assert lone.kinds() == ["CellState", "CellAnswer"], "answered when the others were told"
    assert lone.take(CellAnswer) == [([(OTHER, 9)], CellAnswer(7, HERE))], "by the cell that has them now"
    assert lone.take(CellState) == [([(HERE, 1)], CellState(parts=handed.parts))]
    assert hinted(lone) == [SUBSCRIPTION.key]
    lone.hear(1)
    lone.arrive(handed, target=3)
    assert hinted(lone) == [], "sent twice, matched once"


def test_a_subscriber_compares_when_who_took_over_its_subscription_learns_of_an_object_late() -> None:
    """A proxy answered it, and only another member of this cell knew the object then."""
    lone, learner = learning()
    lone.wait(19.0)
    lone.arrive(CellState(parts=(part_of(SUBSCRIPTION),), request=3))
    assert hinted(lone) == []
    learner.learn(CellState(held=(NEWS,), late=True))
    assert hinted(lone) == [SUBSCRIPTION.key]


def test_a_broadcast_of_another_member_is_not_answered() -> None:
    lone, _ = learning()
    lone.arrive(CellState(held=(NEWS,)), form=Form.BROADCAST)
    assert lone.sent == []
    assert lone.cell.holdings.index.object_count == 1


def test_members_keep_the_objects_of_their_cell_and_fetch_large_ones() -> None:
    small, large = metadata_of("small", "goal"), metadata_of("large", "goal", size=5_000)
    things = (DataObject(small, b"data"), DataObject(large, b""))
    lone, _ = learning()
    lone.arrive(CellState(objects=things), origin=9, form=Form.BROADCAST)
    assert lone.cell.holdings.has_object(small.key)
    lone.wait(1.0)
    assert lone.take(PartRequest)
    assert not lone.cell.holdings.has_object(large.key)


def test_a_large_object_that_is_handed_over_is_answered_for_when_it_is_here() -> None:
    lone, _ = learning()
    large = metadata_of("large", "goal", size=2_000)
    handed = CellState(objects=(DataObject(large, b""),), request=7)
    for _ in range(2):
        lone.arrive(handed, target=3)
    lone.wait(1.0)
    questions = lone.take(PartRequest)
    assert len(questions) == 2, "two parts, each asked for once"
    assert lone.take(CellAnswer) == [], "who gave it would drop it"
    for _, question in questions:
        part = bytes(min(question.size, 2_000 - question.offset))
        lone.arrive(PartReply(question.request, large.key, True, question.offset, 2_000, part), form=Form.NODE)
    assert lone.cell.holdings.has_object(large.key)
    assert lone.take(CellAnswer) == [([(OTHER, 9)], CellAnswer(7, HERE))]
