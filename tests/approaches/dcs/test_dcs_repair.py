"""Repair by itself: two members that hold different things become of one mind (our answer to FGCS §9.3.3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lone_cell import HERE, LoneCell, metadata_of

from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.repair import MAX_ITEMS, Repair
from thyme.approaches.dcs.replicas import Replicas
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import BucketItems, Buckets, CellState, Deleted, Held, ItemsWanted


def member(node: int, *oids: str, **options: Any) -> LoneCell:
    lone = LoneCell(node, **options)
    Repair(lone.cell)
    Learning(lone.cell, Notifier(lone.cell), Replicas(lone.cell, Copies(lone.host)))
    for oid in oids:
        lone.cell.holdings.put(Held(HERE, metadata_of(oid, "goal")))
    return lone


def digest(lone: LoneCell) -> bytes:
    return lone.cell.holdings.digests.beacon()


def talk(low: LoneCell, high: LoneCell) -> None:
    """Beacons of both for three seconds, then what they have to say to each other, until they are silent."""
    for _ in range(4):
        low.hear(high.host.node, digest=digest(high))
        high.hear(low.host.node, digest=digest(low))
        low.wait(1.0)
        high.wait(1.0)
    while low.sent or high.sent:
        for one, other in ((low, high), (high, low)):
            said, one.sent[:] = list(one.sent), []
            for sent in said:
                assert sent.to == [(HERE, other.host.node)]
                other.arrive(sent.message, one.host.node, HERE, form=Form.NODE)


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_after_a_talk_two_members_hold_what_either_held(mine: set[int], yours: set[int]) -> None:
    low, high = member(1, *(f"o{i}" for i in sorted(mine))), member(2, *(f"o{i}" for i in sorted(yours)))
    talk(low, high)
    assert digest(low) == digest(high)
    assert {m.key.oid for m in low.cell.holdings.index.objects()} == {f"o{i}" for i in mine | yours}
    assert bool(low.dropped()) is bool(yours - mine), "what was missed is counted"


def test_a_deletion_that_one_missed_is_learnt_and_the_object_does_not_come_back() -> None:
    low, high = member(1, "photo", "other"), member(2, "photo", "other")
    high.cell.holdings.delete(Deleted(HERE, metadata_of("photo").key))
    talk(low, high)
    assert digest(low) == digest(high)
    for lone in (low, high):
        assert [m.key.oid for m in lone.cell.holdings.index.objects()] == ["other"]


def test_a_large_difference_is_repaired_in_several_rounds_of_bounded_messages() -> None:
    low, high = member(1), member(2, *(f"o{i}" for i in range(5 * MAX_ITEMS)))
    rounds = 0
    while digest(low) != digest(high):
        talk(low, high)
        rounds += 1
        assert rounds < 20
    assert rounds > 1


def test_a_difference_is_let_be_while_the_news_may_still_be_under_way() -> None:
    low = member(1, repair_s=2.0)
    for expected in (0, 0, 1):
        low.hear(2, digest=b"else")
        assert len(low.take(Buckets)) == expected
        low.wait(1.0)


def test_a_difference_that_went_away_by_itself_starts_anew() -> None:
    low = member(1, repair_s=2.0)
    for said in (b"else", digest(low), b"else"):
        low.hear(2, digest=said)
        low.wait(1.5)
    assert low.sent == []


def test_a_difference_heard_before_the_node_settled_does_not_count() -> None:
    low = member(1, repair_s=2.0)
    low.hear(2, digest=b"else")
    low.wait(2.5)
    low.cell.settled(False)
    low.hear(2, digest=b"else")
    assert low.sent == []


def test_of_members_that_are_all_about_to_leave_the_first_asks_the_others() -> None:
    for departing, node, expected in ((True, 1, [2, 3]), (True, 2, []), (False, 1, [])):
        lone = member(node, repair_s=2.0)
        lone.cell.departing = departing
        others = [other for other in (1, 2, 3) if other != node]
        for _ in range(3):
            assert lone.sent == [], "news may still be under way"
            lone.hear(*others)
            lone.wait(1.0)
        assert [sent.to for sent in lone.sent] == [[(HERE, other)] for other in expected]


def test_of_two_members_the_one_with_the_lower_number_begins() -> None:
    for node, expected in ((1, 1), (3, 0)):
        lone = member(node)
        for _ in range(4):
            lone.hear(2, digest=b"else")
            lone.wait(1.0)
        assert bool(lone.take(Buckets)) is bool(expected)


@pytest.mark.parametrize(
    "beacon", [{"cell": 3}, {"stationary": False}, {"digest": b""}], ids=["another cell", "moving", "no digest"]
)
def test_only_members_of_the_same_cell_are_compared(beacon: dict[str, Any]) -> None:
    low = member(1)
    for _ in range(4):
        low.hear(2, **{"digest": b"else", **beacon})
        low.wait(1.0)
    assert low.sent == []


def test_as_in_the_papers_beacons_say_nothing_and_nothing_is_compared() -> None:
    low = member(1, "photo", repair=False)
    low.cell.beacons.announce()
    assert low.net.frames[-1][2].digest == b""  # type: ignore[attr-defined]
    for _ in range(4):
        low.hear(2, digest=b"else")
        low.wait(1.0)
    assert low.sent == []


def test_what_is_overheard_in_a_broadcast_is_no_talk() -> None:
    low = member(1, "photo")
    for message in (Buckets(bytes(128)), BucketItems((0,), b"", True), ItemsWanted(b"")):
        low.arrive(message, 2, HERE, form=Form.BROADCAST)
    assert low.sent == []


def test_items_that_nobody_has_are_not_given() -> None:
    low = member(1, "photo")
    low.arrive(ItemsWanted(bytes(8)), 2, HERE, form=Form.NODE)
    assert low.take(CellState) == []


def test_another_agrees_only_as_long_as_nothing_came_after_its_beacon() -> None:
    lone = LoneCell(1)
    repair = Repair(lone.cell)
    agreed: list[bool] = []
    for oid in ("first", "second"):
        lone.cell.holdings.put(Held(HERE, metadata_of(oid, "goal")))
        agreed.append(repair.agrees)
        lone.hear(2, digest=digest(lone))
        agreed.append(repair.agrees)
    assert agreed == [False, True, False, True]
