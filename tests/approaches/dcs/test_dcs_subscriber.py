"""The user's side by itself: requests to several cells and own subscriptions (FGCS §6.2–6.4)."""

from __future__ import annotations

from typing import Any

import pytest
from lone_cell import HERE, metadata_of, subscription_of
from lone_user import User

from thyme.approaches.interface import Failure, Outcome, StoreLimits
from thyme.host import StoreFull
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import (
    CellNotification,
    InsertMetadata,
    PastOf,
    SubscribePart,
    UnsubscribePart,
)
from thyme.wire.storage import MoreRequest, PastMatches


def test_a_request_to_several_cells_is_done_when_all_have_answered_and_repeated_to_those_that_have_not() -> None:
    user = User()
    user.requests.ask([CellId(1), CellId(3)], lambda n: InsertMetadata(n, metadata_of("a", "b")), user.outcomes.append)
    ((to, first),) = user.take(InsertMetadata)
    assert to == [(1, None), (3, None)]
    user.answer(first.request, 1, 1)
    assert user.outcomes == []
    user.wait(2.5)
    ((to, again),) = user.take(InsertMetadata)
    assert (to, again.request) == ([(3, None)], first.request)
    user.answer(first.request, 3)
    assert user.outcomes == [Outcome()]


def test_one_refusal_refuses_the_whole_request() -> None:
    user = User()
    user.requests.ask([CellId(1), CellId(3)], lambda n: InsertMetadata(n, metadata_of("a", "b")), user.outcomes.append)
    user.answer(user.take(InsertMetadata)[0][1].request, 1, refusal="full")
    assert [outcome.failure for outcome in user.outcomes] == [Failure.REFUSED]


def test_each_conjunction_goes_to_the_cell_of_its_key_and_the_revocation_follows() -> None:
    user = User()
    a, b = user.tag(1), user.tag(3)
    key = user.subscribe(f"{a} | {b} & !other")
    parts = user.take(SubscribePart)
    assert [to for to, _ in parts] == [[(1, None)], [(3, None)]]
    assert [len(part.subscription.conjunctions) for _, part in parts] == [1, 1]
    assert all(part.cell == HERE for _, part in parts)
    user.subscriber.unsubscribe(key, user.outcomes.append)
    ((to, revoked),) = user.take(UnsubscribePart)
    assert (to, revoked.key) == ([(1, None), (3, None)], key)
    assert list(user.subscriber.shares()) == []


def test_an_object_is_notified_once_though_two_cells_tell_of_it() -> None:
    user = User()
    key = user.subscribe("goal")
    for _ in range(2):
        told = CellNotification((key, subscription_of("goal").key), (metadata_of("photo", "goal"),))
        user.arrive(told, form=Form.NODE)
    assert user.notified == ["photo"]


def test_what_the_disk_refused_is_asked_for_again_and_hinders_no_other_subscription(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = User()
    doubted: list[SubscriptionKey] = []
    user.subscriber.doubted = lambda key, cell: doubted.append(key)
    first, second = user.subscribe("goal"), user.subscribe("goal & !foul")
    store = user.host.store
    put = store.put

    def refuse(kind: str, key: str, value: bytes) -> None:
        if key.startswith(f"{first.sid}/"):
            raise StoreFull("full")
        put(kind, key, value)

    monkeypatch.setattr(store, "put", refuse)
    user.arrive(CellNotification((first, second), (metadata_of("photo", "goal"),)), form=Form.NODE)
    assert (user.notified, doubted) == (["photo"], [])
    user.wait(6.0)
    assert doubted == [first]


def past_of(key: SubscriptionKey, cell: int, *at_s: float, left: int = 0, request: int = -1, **more: Any) -> PastOf:
    """Objects named after the instants of their publication."""
    matches = tuple(metadata_of(f"o{at:g}", "goal", at_s=at) for at in at_s)
    return PastOf(CellId(cell), PastMatches(key, matches, more.get("after"), left, request))


def test_the_most_recent_of_all_cells_together_are_told_and_more_is_asked_where_it_may_be_newer() -> None:
    user = User(past_matches=3)
    a, b = user.tag(1), user.tag(3)
    key = user.subscribe(f"{a} | {b} | goal")
    (_, part) = user.take(SubscribePart)[0]
    user.arrive(past_of(key, 1, 9.0, 7.0, 5.0, left=1), form=Form.NODE)
    user.arrive(past_of(key, 3, 8.0, 2.0, 1.0), form=Form.NODE)
    assert user.notified == [], "another cell may have newer ones"
    cells = {cell for _, cell in user.subscriber.shares()}
    user.answer(part.request, *cells, past=0)
    assert user.notified == ["o9", "o8", "o7"]
    assert user.outcomes == [Outcome(remaining=4)]
    user.subscriber.pager.give(user.inbox.get(key.sid), user.outcomes.append)
    assert user.notified[3:] == ["o5"]
    ((to, request),) = user.take(MoreRequest)
    assert to == [(1, None)], "it has one left that may be newer than those of the other cell"
    assert request.subscription.conjunctions == subscription_of(a).conjunctions, "its share, so whoever is asked knows"
    after = Cursor(5.0, metadata_of("o5").key)
    user.arrive(past_of(key, 1, 4.0, request=request.request, after=after), form=Form.NODE)
    assert user.notified[3:] == ["o5", "o4", "o2"]
    assert user.inbox.get(key.sid).remaining == 1


def test_past_matches_that_a_cell_has_and_that_did_not_arrive_are_asked_for() -> None:
    user = User()
    tag = user.tag(1)
    key = user.subscribe(tag)
    (_, part) = user.take(SubscribePart)[0]
    user.answer(part.request, 1, past=2)
    assert user.take(MoreRequest) == [], "they may be on their way"
    user.wait(0.2)
    ((to, request),) = user.take(MoreRequest)
    assert (to, request.cursor) == ([(1, None)], None)
    piece = PastMatches(key, (metadata_of("lost", tag), metadata_of("too", tag)), None, 0, request.request)
    user.arrive(PastOf(CellId(1), piece), form=Form.NODE)
    assert sorted(user.notified) == ["lost", "too"]


def test_pieces_and_answers_that_overtake_each_other_are_put_in_order_and_nothing_is_asked_for_twice() -> None:
    user = User(past_matches=4)
    tag = user.tag(1)
    key = user.subscribe(f"{tag} | goal")
    requests = {part.request for _, part in user.take(SubscribePart)}
    for request in requests:
        user.answer(request, *{cell for _, cell in user.subscriber.shares()} - {1})
        user.answer(request, 1, past=4)
    user.arrive(past_of(key, 1, 2.0, 1.0, after=Cursor(3.0, metadata_of("o3").key)), form=Form.NODE)
    user.arrive(past_of(key, 1, 4.0, 3.0, left=2), form=Form.NODE)
    user.wait(1.0)
    assert user.notified == ["o4", "o3", "o2", "o1"]
    assert user.take(MoreRequest) == []


def test_a_search_of_the_past_makes_room_for_others_and_ends() -> None:
    user = User(limits=StoreLimits(own_subscriptions=2))
    for i in range(10):
        user.wait(1.0)
        key = user.subscribe(user.tag(1), TimeFrame.past(user.net.now_s))
        user.answer(user.take(SubscribePart)[-1][1].request, 1)
        assert len(user.outcomes) == i + 1
    user.wait(100.0)
    assert user.inbox.ended(key.sid)
    assert list(user.subscriber.shares()) == []
