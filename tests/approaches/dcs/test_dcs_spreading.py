"""Spreading by itself: a hot tag's work shared by several cells (the load that the papers leave to a single cell)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lone_cell import HERE, LoneCell, metadata_of, part_of, subscription_of

from thyme.approaches.dcs.asking.spreading import Spreading
from thyme.approaches.dcs.keys import insertion_cells, share_of
from thyme.model.ids import CellId, NodeId
from thyme.model.objects import Metadata
from thyme.routing.cells.addresses import Arrival, Form
from thyme.wire.cells import CellState, Deleted, Held, InsertMetadata, Revoked, SpreadInsert, SubscribePart


def spreading(**options: Any) -> tuple[LoneCell, Spreading, str]:
    """A cell that spreads over three cells what has more than two objects, and a tag of its own."""
    lone = LoneCell(**{"spread_load": 2, "spread_cells": 3, **options})
    return lone, Spreading(lone.cell), lone.tag()


def cells_of(lone: LoneCell, tag: str) -> list[CellId]:
    return [lone.cell.grid.cell_for(tag, share) for share in range(3)]


def arrival_of(metadata: Metadata, request: int = 7) -> tuple[Arrival, InsertMetadata]:
    message = InsertMetadata(request, metadata)
    return Arrival(NodeId(9), CellId(4), message, HERE, Form.CELL), message


def object_of_share(share: int, tag: str) -> Metadata:
    found = (metadata_of(f"o{i}", tag) for i in range(1_000))
    return next(metadata for metadata in found if share_of(metadata.key, 3) == share)


def test_a_tag_becomes_hot_when_it_has_more_objects_than_its_cell_is_to_bear() -> None:
    lone, spread, tag = spreading()
    news = []
    for i in range(4):
        lone.cell.holdings.put(Held(HERE, metadata_of(f"o{i}", tag)))
        news.append(spread.grown(metadata_of(f"o{i}", tag), HERE))
    assert news == [None, None, CellState(spread=((tag, 3),)), None], "told once"
    assert spread.hot_tags((tag, "cold"), HERE) == ((tag, 3),)


def test_nothing_is_spread_unless_it_is_wanted_nor_for_another_home() -> None:
    for options, home in (({"spread_load": 0}, HERE), ({}, CellId(3))):
        lone, spread, tag = spreading(**options)
        for i in range(4):
            lone.cell.holdings.put(Held(home, metadata_of(f"o{i}", tag)))
        assert spread.grown(metadata_of("o3", tag), home) is None


def test_subscriptions_of_a_tag_that_becomes_hot_are_copied_to_its_other_cells() -> None:
    lone, spread, tag = spreading()
    about, other = subscription_of(tag, 1), subscription_of("other", 2)
    for subscription in (about, other):
        lone.cell.holdings.parts.put(part_of(subscription, place=1))
    for i in range(3):
        lone.cell.holdings.put(Held(HERE, metadata_of(f"o{i}", tag)))
    spread.grown(metadata_of("o2", tag), HERE)
    ((to, copy),) = lone.take(SubscribePart)
    assert {cell for cell, _ in to} == set(cells_of(lone, tag)) - {HERE}
    assert (copy.subscription, copy.cell, copy.past, copy.request) == (about, 1, 0, -1)


def test_a_later_subscription_is_copied_and_its_subscriber_asks_for_the_past_by_itself() -> None:
    lone, spread, tag = spreading()
    lone.cell.holdings.spread_tag(tag, 3)
    spread.subscribed(SubscribePart(7, subscription_of(f"{tag} & other"), CellId(1), 5, 3.0), HERE)
    assert [(copy.past, copy.request, copy.told_s) for _, copy in lone.take(SubscribePart)] == [(0, -1, 3.0)]
    spread.subscribed(SubscribePart(8, subscription_of("cold"), CellId(1), 5, 3.0), HERE)
    assert lone.sent == []


def test_an_insertion_that_belongs_to_another_cell_of_its_hot_tag_is_passed_on_there() -> None:
    lone, spread, tag = spreading()
    shares = [share for share, cell in enumerate(cells_of(lone, tag)) if cell != HERE]
    metadata = object_of_share(shares[0], tag)
    assert not spread.passed_on(*arrival_of(metadata)), "the tag is not hot yet"
    lone.cell.holdings.spread_tag(tag, 3)
    assert spread.passed_on(*arrival_of(metadata))
    ((to, relayed),) = lone.take(SpreadInsert)
    assert to == [(cells_of(lone, tag)[shares[0]], None)]
    assert relayed == SpreadInsert(7, metadata, CellId(4), HERE), "to be answered in this cell's name"


def test_an_insertion_of_this_cells_own_share_stays_and_so_does_one_with_a_cold_tag_too() -> None:
    lone, spread, tag = spreading()
    lone.cell.holdings.spread_tag(tag, 3)
    away = [share for share, cell in enumerate(cells_of(lone, tag)) if cell != HERE]
    assert not spread.passed_on(*arrival_of(object_of_share(0, tag)))
    both = object_of_share(away[0], tag)
    cold = lone.tag(HERE, 1)
    assert not spread.passed_on(*arrival_of(metadata_of(both.key.oid, tag, cold)))
    assert lone.sent == []


def test_deletions_and_revocations_go_to_every_cell_of_the_hot_tags() -> None:
    lone, spread, tag = spreading()
    key, subscription = metadata_of("photo", tag).key, subscription_of(tag)
    spread.deleted(key, HERE)
    assert lone.sent == [], "nothing is hot"
    lone.cell.holdings.spread_tag(tag, 3)
    spread.deleted(key, HERE)
    spread.revoked(subscription.key, HERE)
    others = [cell for cell in dict.fromkeys(cells_of(lone, tag)) if cell != HERE]
    told = lone.take(CellState)
    assert [to for to, _ in told] == [[(cell, None)] for cell in others * 2]
    assert [state.deleted for _, state in told[: len(others)]] == [(Deleted(cell, key),) for cell in others]
    assert [state.revoked for _, state in told[len(others) :]] == [
        (Revoked(cell, subscription.key),) for cell in others
    ]
    assert all(state.request >= 0 for _, state in told), "until they answer"
    lone.wait(3.0)
    assert len(lone.take(CellState)) == len(told)


GRID = LoneCell().cell.grid
TAG = "goal"


@given(st.text(min_size=1, max_size=20), st.integers(0, 1_000), st.integers(2, 9))
def test_whoever_knows_that_a_tag_is_hot_inserts_where_its_first_cell_would_pass_the_object_on(
    oid: str, owner: int, cells: int
) -> None:
    metadata = metadata_of(oid, TAG, owner=owner)
    share = share_of(metadata.key, cells)
    assert 0 <= share < cells
    assert insertion_cells(GRID, metadata, {TAG: cells}) == [GRID.cell_for(TAG, share)]
    assert insertion_cells(GRID, metadata, {}) == [GRID.cell_for(TAG)]
