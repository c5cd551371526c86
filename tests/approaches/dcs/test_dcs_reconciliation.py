"""A subscriber and its cells compare what was notified with what matches, and exchange the difference."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from lone_cell import HERE, LoneCell, metadata_of, part_of, subscription_of
from lone_user import User
from small_world import SmallWorld

from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.reconciliation import MAX_LISTED, ComparisonAnswers, Comparisons
from thyme.model.geometry import Point
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Form
from thyme.sim.faults import Rule
from thyme.wire.cells import CellAnswer, CellNotification, Compare, Compared, CompareHint, Deleted, Held, SubscribePart

PLACE = CellId(1)


class Pair:
    """A subscriber, and the only member of the cell of its subscription; messages pass between them by hand."""

    def __init__(self) -> None:
        self.user = User()
        self.comparisons = Comparisons(self.user.cell, self.user.requests, self.user.subscriber)
        self.member = LoneCell()
        self.notifier = Notifier(self.member.cell)
        ComparisonAnswers(self.member.cell, self.notifier)
        self.tag = self.user.tag(HERE)
        self.key = self.user.subscribe(self.tag)
        ((_, part),) = self.user.take(SubscribePart)
        self.user.answer(part.request, HERE)
        self.user.wait(1.0)
        self.member.cell.holdings.parts.put(part_of(part.subscription, place=PLACE))
        self.messages = self.matches = 0

    def hold(self, oid: str, at_s: float, *, told: bool) -> None:
        metadata = metadata_of(oid, self.tag, at_s=at_s)
        self.member.cell.holdings.put(Held(HERE, metadata))
        if told:
            self.user.arrive(CellNotification((self.key,), (metadata,)), form=Form.NODE)

    def compare(self) -> None:
        """Until nobody says anything more."""
        self.comparisons.compare_all()
        self.user.wait(2.1)
        for _ in range(20):
            asked = self.user.take(Compare)
            for _, message in asked:
                self.messages += 1
                self.member.arrive(message, origin=self.user.host.node)
            answers = [m for kind in (CellAnswer, Compared, CellNotification) for _, m in self.member.take(kind)]
            for answer in answers:
                self.messages += 1
                self.matches += len(answer.matches) if isinstance(answer, CellNotification) else 0
                self.user.arrive(answer, form=Form.NODE)
            if not asked:
                return
        raise AssertionError("the comparison does not end")


def test_where_nothing_differs_one_request_is_answered() -> None:
    pair = Pair()
    for i in range(50):
        pair.hold(f"o{i}", float(i), told=True)
    pair.compare()
    assert (pair.messages, pair.matches) == (2, 0)


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(0, 999), max_size=30), st.integers(0, 1_000))
def test_all_that_was_missed_is_told_and_nothing_else_is_sent_again(missed: set[int], held: int) -> None:
    pair = Pair()
    for i in range(held):
        pair.hold(f"o{i}", float(i // 3), told=i not in missed)
    pair.compare()
    lacking = {f"o{i}" for i in missed if i < held}
    assert lacking <= set(pair.user.notified)
    assert pair.matches == len(lacking)
    assert len(pair.user.notified) == len(set(pair.user.notified)) == held


def test_what_was_deleted_is_compared_once() -> None:
    pair = Pair()
    for i in range(MAX_LISTED):
        pair.hold(f"o{i}", float(i), told=True)
    pair.member.cell.holdings.delete(Deleted(HERE, metadata_of("o5").key))
    pair.compare()
    assert pair.matches == 0
    pair.messages = 0
    pair.compare()
    assert pair.messages == 2


def test_a_hint_makes_a_subscriber_compare_once_and_only_for_what_it_has_subscribed_to() -> None:
    pair = Pair()
    for _ in range(5):
        shares = ((HERE, pair.key), (PLACE, pair.key), (HERE, subscription_of("other").key))
        pair.user.arrive(CompareHint(shares), form=Form.NODE)
    pair.user.wait(2.1)
    assert len(pair.user.take(Compare)) == 1


def test_nobody_compares_for_another() -> None:
    pair = Pair()
    pair.hold("photo", 1.0, told=False)
    pair.comparisons.compare_all()
    pair.user.wait(2.1)
    ((_, message),) = pair.user.take(Compare)
    pair.member.arrive(message, origin=99)
    assert pair.member.sent == []


def test_groups_that_were_apart_meet_and_the_subscriber_is_notified_though_the_owner_is_off(tmp_path: Path) -> None:
    places = [(8.0 if i < 3 else 32.0, 10.0 + 10.0 * (i % 3)) for i in range(6)]
    apart = Rule("partition", at_m=20.0, from_s=62.0, to_s=150.0)
    world = SmallWorld(tmp_path, places, "dcs", faults=[apart], venue={"width_m": 40.0, "height_m": 40.0})
    world.wait(80.0)
    world.subscribe(0, "goal", wait_s=20.0)
    world.insert(3, "photo", "goal", wait_s=20.0)
    world.switch_off(3)
    world.wait(25.0)
    assert world.names() == []
    world.wait(20.0)
    assert world.names() == ["photo"]


def test_a_subscriber_that_could_not_be_reached_for_minutes_is_told_of_all(tmp_path: Path) -> None:
    apart = Rule("partition", at_m=60.0, from_s=80.0, to_s=280.0)
    world = SmallWorld(tmp_path, [(20.0, 20.0), (100.0, 20.0)], "dcs", faults=[apart])
    grid = world.node(0).cell.grid  # type: ignore[attr-defined]
    tag = next(tag for i in range(100) if grid.cell_for(tag := f"tag{i}") == grid.cell_of(Point(100.0, 20.0)))
    world.wait(60.0)
    world.subscribe(0, tag, wait_s=20.0)
    for i in range(20):
        world.insert(1, f"o{i}", tag, wait_s=5.0)
    assert world.names() == []
    world.wait(200.0)
    assert sorted(world.names()) == sorted(f"o{i}" for i in range(20))
