"""Holdings by themselves: laws that repair, joining and restarts rest on (FGCS §6.1–6.4)."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from lone_cell import HERE, LoneCell, metadata_of, part_of, replica, subscription_of

from thyme.approaches.dcs.holdings import Holdings, homes_in
from thyme.approaches.dcs.items import merged
from thyme.approaches.dcs.keys import with_replica
from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.model.objects import Metadata, Replica
from thyme.wire.cells import WHOLE_CELL, CellState, Deleted, Held, Revoked
from thyme.wire.signing import PLAIN

HOMES = st.integers(1, 3).map(CellId)
NEWS = st.one_of(
    st.builds(lambda i, home: CellState(held=(Held(home, metadata_of(f"o{i}", "goal")),)), st.integers(0, 4), HOMES),
    st.builds(lambda i, home: CellState(deleted=(Deleted(home, metadata_of(f"o{i}").key),)), st.integers(0, 4), HOMES),
    st.builds(
        lambda i, home, tag: CellState(parts=(part_of(subscription_of(tag, i), home, 1),)),
        st.integers(0, 4),
        HOMES,
        st.sampled_from(["goal", "goal | save", "win"]),
    ),
    st.builds(
        lambda i, home: CellState(revoked=(Revoked(home, subscription_of("goal", i).key),)), st.integers(0, 4), HOMES
    ),
)


def told(holdings: Holdings, states: Iterable[CellState]) -> Holdings:
    for state in states:
        for held in state.held:
            holdings.put(held)
        for part in state.parts:
            holdings.parts.put(part)
        for deleted in state.deleted:
            holdings.delete(deleted)
        for revoked in state.revoked:
            holdings.parts.revoke(revoked)
    return holdings


def empty() -> Holdings:
    return LoneCell().cell.holdings


@settings(deadline=None)
@given(st.lists(NEWS, max_size=20), st.randoms(use_true_random=False))
def test_members_that_were_told_the_same_hold_the_same_in_whatever_order(news: list[CellState], draws: Random) -> None:
    other = list(news)
    draws.shuffle(other)
    assert told(empty(), news).digests.buckets() == told(empty(), other).digests.buckets()


@settings(deadline=None)
@given(st.lists(NEWS, max_size=20))
def test_who_is_given_the_state_of_another_holds_the_same(news: list[CellState]) -> None:
    giver = told(empty(), news)
    taker = told(empty(), merged(giver.state(), PLAIN.missing_bytes, 300))
    assert taker.digests.buckets() == giver.digests.buckets()
    assert taker.homes() == giver.homes()


@settings(deadline=None)
@given(st.lists(NEWS, max_size=20))
def test_a_restarted_member_holds_what_it_held_and_carries_it_to_another_cell_where_walkers_serve(
    news: list[CellState],
) -> None:
    lone = LoneCell()
    lone.cell.holdings.restore(HERE)
    before = told(lone.cell.holdings, news).digests.buckets()
    assert lone.cell.options.walkers
    papers = msgspec.structs.replace(lone.cell.options, walkers=0)
    kept_elsewhere = ((lone.cell.options, before), (papers, empty().digests.buckets()))
    for options, elsewhere in kept_elsewhere:
        for cell, expected in ((HERE, before), (CellId(3), elsewhere)):
            back = Holdings(lone.host, lone.cell.contents, options)
            back.restore(cell)
            assert back.digests.buckets() == expected
            back.belong_to(HERE)


@settings(deadline=None)
@given(st.lists(NEWS, max_size=20), HOMES)
def test_released_homes_leave_nothing_behind_and_what_was_kept_for_others_is_still_held(
    news: list[CellState], home: CellId
) -> None:
    holdings = told(empty(), news)
    others = [other for other in holdings.homes() if other != home]
    kept = list(holdings.state(others))
    holdings.release([home])
    assert holdings.homes() == others
    assert holdings.digests.buckets() == told(empty(), kept).digests.buckets()


@settings(deadline=None)
@given(st.lists(NEWS, max_size=20), HOMES)
def test_homes_are_at_any_time_those_of_all_that_is_held(news: list[CellState], home: CellId) -> None:
    holdings = empty()
    for state in news:
        told(holdings, [state])
        assert holdings.homes() == sorted({home for piece in holdings.state() for home in homes_in(piece)})
    holdings.release([home])
    assert holdings.homes() == sorted({home for piece in holdings.state() for home in homes_in(piece)})


@settings(deadline=None)
@given(st.lists(NEWS, max_size=20), HOMES)
def test_what_was_deleted_or_revoked_stays_so_here_when_its_home_is_released(
    news: list[CellState], home: CellId
) -> None:
    holdings = told(empty(), news)
    holdings.release([home])
    for state in news:
        for deleted in state.deleted:
            assert holdings.put(Held(HERE, metadata_of(deleted.key.oid, "goal"))) == (False, [])
        for revoked in state.revoked:
            assert not holdings.parts.put(part_of(subscription_of("goal", revoked.key.sid)))


def test_a_share_and_the_copy_of_another_for_the_same_cell_are_both_evaluated() -> None:
    holdings = empty()
    for query, news in (("goal", True), ("win", True), ("goal", False)):
        assert holdings.parts.put(part_of(subscription_of(query))) is news
    for tag in ("goal", "win"):
        _, matching = holdings.put(Held(HERE, metadata_of(tag, tag)))
        assert [subscription.key for subscription in matching] == [subscription_of(tag).key]


def test_members_that_were_told_of_one_place_at_different_times_hold_the_same() -> None:
    early, late = empty(), empty()
    for holdings, told_s in ((early, 73.0), (late, 118.5)):
        holdings.parts.put(part_of(subscription_of("goal"), told_s=told_s))
    assert early.digests.beacon() == late.digests.beacon(), "neither takes the other's, so they would differ for ever"


def test_an_item_is_given_as_it_is_now() -> None:
    holdings = told(empty(), [CellState(held=(Held(HERE, metadata_of("photo", "goal")),))])
    (number,) = holdings.digests.items(range(32))
    holdings.add_replica(metadata_of("photo").key, replica(3, 1))
    item = holdings.item(number)
    assert item is not None
    assert item.held[0].metadata.replicas == (replica(3, 1),)
    holdings.delete(Deleted(HERE, metadata_of("photo").key))
    assert holdings.item(number) is None


def test_the_shares_of_a_subscription_stand_as_one_and_fall_apart_again() -> None:
    holdings = empty()
    for home, query in ((1, "a"), (3, "b")):
        holdings.parts.put(part_of(subscription_of(query), home))
    assert holdings.put(Held(CellId(1), metadata_of("x", "a", "b")))[1] == list(holdings.index.subscriptions())
    assert holdings.index.subscription_count == 1
    holdings.release([CellId(3)])
    (left,) = holdings.index.subscriptions()
    assert left == subscription_of("a")


def test_only_so_many_revocations_are_remembered() -> None:
    lone = LoneCell(revoked=2)
    parts = lone.cell.holdings.parts
    for sid in range(3):
        parts.revoke(Revoked(HERE, subscription_of("goal", sid).key))
    assert not parts.put(part_of(subscription_of("goal", 2)))
    assert parts.put(part_of(subscription_of("goal", 0))), "the oldest is forgotten"
    assert len(list(lone.cell.holdings.digests.items(range(32)))) == 3


@given(st.lists(NEWS, max_size=20), st.integers(1, 500))
def test_joined_states_lose_nothing_and_none_but_a_single_item_exceeds_its_size(
    news: list[CellState], size: int
) -> None:
    batches = merged(news, PLAIN.missing_bytes, size)
    for field in ("held", "parts", "deleted", "revoked"):
        assert [x for b in batches for x in getattr(b, field)] == [x for b in news for x in getattr(b, field)]
    empty_bytes = len(msgspec.msgpack.encode(CellState()))
    for batch in batches:
        items = sum(len(getattr(batch, field)) for field in ("held", "parts", "deleted", "revoked"))
        assert items == 1 or len(msgspec.msgpack.encode(batch)) <= size + empty_bytes


REPLICAS = st.builds(replica, st.integers(-1, 5), st.integers(0, 3))


@given(st.lists(REPLICAS), st.integers(1, 4))
def test_a_replication_list_is_bounded_has_each_node_once_and_the_active_replica_first(
    added: list[Replica], most: int
) -> None:
    entries: tuple[Replica, ...] = ()
    for entry in added:
        entries = with_replica(entries, entry, most)
        assert entry in entries or (most == 1 and entries[0].node == WHOLE_CELL)
    assert len(entries) <= most
    assert len({entry.node for entry in entries}) == len(entries)
    if any(entry.node == WHOLE_CELL for entry in added):
        assert entries[0].node == WHOLE_CELL


def test_an_object_that_was_let_go_of_counts_as_held_over_a_restart_and_is_given_to_nobody() -> None:
    lone = LoneCell()
    holdings = lone.cell.holdings
    holdings.restore(HERE)
    metadata = Metadata.of(ObjectKey("o1", NodeId(7)), ("goal",), b"", 1.0, b"bytes")
    metadata = msgspec.structs.replace(metadata, replicas=(Replica(WHOLE_CELL, HERE),))
    holdings.put_object(metadata, b"bytes")
    before = holdings.digests.buckets()
    holdings.let_go(metadata.key)
    back = Holdings(lone.host, lone.cell.contents, lone.cell.options)
    back.restore(HERE)
    for each in (holdings, back):
        assert each.has_object(metadata.key)
        assert each.lacks(metadata.key)
        assert each.digests.buckets() == before
        assert list(each.state()) == []
    back.put_object(metadata, b"bytes")
    assert back.lacks(metadata.key), "nobody presses it upon this member"
