"""Membership by itself: joining a cell, crossing borders, settling elsewhere (FGCS §6.6.3, §6.7, §7.3)."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from lone_cell import HERE, LoneCell, metadata_of

from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.membership import Membership
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.repair import Repair
from thyme.approaches.dcs.replicas import Replicas
from thyme.model.geometry import Point
from thyme.model.ids import CellId
from thyme.model.records import Joined
from thyme.wire.cells import CellState, Held, JoinCell, JoinedState
from thyme.wire.routing import Beacon


class Newcomer(LoneCell):
    """A node with nothing but membership; `turns` are those that its cell has told."""

    def __init__(self, *, member: bool = False, **options: Any) -> None:
        super().__init__(member=member, **options)
        replicas = Replicas(self.cell, Copies(self.host))
        self.membership = Membership(self.cell, Learning(self.cell, Notifier(self.cell), replicas), Repair(self.cell))
        self.turns: list[str] = []
        self.membership.start()
        self.cell.settled.then(lambda alone: self.turns.append("settled alone" if alone else "settled"))
        self.cell.leaving.then(lambda others_know: self.turns.append("leaving"))
        self.cell.crossed.then(lambda: self.turns.append("crossed"))
        self.cell.discarded.then(lambda old: self.turns.append("discarded"))

    def asked(self) -> JoinCell:
        """The request to join that was sent last."""
        return self.take(JoinCell)[-1][1]

    def settle(self) -> None:
        self.membership.join()
        self.wait(5.0)
        assert self.turns == ["settled alone"]
        self.turns.clear()


def batch(request: JoinCell, index: int, batches: int, *oids: str) -> JoinedState:
    held = tuple(Held(HERE, metadata_of(oid, "goal")) for oid in oids)
    return JoinedState(request.request, index, batches, 0, False, CellState(held=held))


def test_who_hears_nobody_of_its_cell_is_alone_and_a_member() -> None:
    newcomer = Newcomer()
    newcomer.membership.join()
    newcomer.wait(3.9)
    assert newcomer.turns == []
    newcomer.wait(0.2)
    assert newcomer.cell.member
    assert newcomer.turns == ["settled alone"]
    assert newcomer.sent == []
    assert [record.joining_s for record in newcomer.host.records if isinstance(record, Joined)] == [4.0]


def test_a_member_is_asked_and_all_of_the_state_makes_a_member() -> None:
    newcomer = Newcomer()
    newcomer.hear(7)
    newcomer.hear(3, cell=1)
    newcomer.membership.join()
    newcomer.wait(2.1)
    assert newcomer.sent[0].to == [(HERE, 7)]
    request = newcomer.asked()
    newcomer.arrive(batch(request, 1, 2, "second"))
    newcomer.arrive(batch(request, 1, 2, "second"))
    assert newcomer.cell.mode is Mode.JOINING, "one batch, twice"
    newcomer.arrive(batch(request, 0, 2, "first"))
    assert newcomer.turns == ["settled"]
    assert newcomer.cell.holdings.index.object_count == 2


def test_an_answer_to_an_earlier_question_does_not_complete_a_later_one() -> None:
    newcomer = Newcomer()
    newcomer.hear(7)
    newcomer.membership.join()
    newcomer.wait(2.1)
    first = newcomer.asked()
    newcomer.arrive(batch(first, 0, 2, "a"))
    newcomer.hear(7)
    newcomer.wait(2.0)
    second = newcomer.asked()
    assert second.request != first.request
    newcomer.arrive(batch(first, 1, 2, "b"))
    newcomer.arrive(batch(second, 1, 2, "b"))
    assert not newcomer.cell.member
    newcomer.arrive(batch(second, 0, 2, "a"))
    assert newcomer.cell.member


def test_where_members_are_heard_but_silent_the_node_makes_do_after_the_last_try() -> None:
    newcomer = Newcomer(join_tries=3)
    newcomer.membership.join()
    for _ in range(10):
        newcomer.hear(7)
        newcomer.wait(1.0)
    assert len(newcomer.take(JoinCell)) == 3
    assert newcomer.turns == ["settled"], "not alone: there is somebody, so no proxy has the cell's keys"


def test_a_member_hands_the_state_over_in_batches_that_fit_a_frame() -> None:
    member = Newcomer(member=True)
    for i in range(40):
        member.cell.holdings.put(Held(HERE, metadata_of(f"o{i}", "goal")))
    member.arrive(JoinCell(77, -1), origin=6, origin_cell=HERE)
    answers = member.take(JoinedState)
    assert all(to == [(HERE, 6)] for to, _ in answers)
    assert [answer.index for _, answer in answers] == list(range(len(answers)))
    assert {(answer.request, answer.messages) for _, answer in answers} == {(77, len(answers))}
    assert len(answers) > 1
    assert sum(len(answer.state.held) for _, answer in answers) == 40


def test_an_empty_cell_hands_over_one_empty_batch_so_that_the_joiner_is_done() -> None:
    member = Newcomer(member=True)
    member.arrive(JoinCell(77, -1), origin=6, origin_cell=HERE)
    assert [(answer.messages, answer.state) for _, answer in member.take(JoinedState)] == [(1, CellState())]


def test_the_state_is_not_for_nodes_elsewhere_nor_from_nodes_that_are_no_members() -> None:
    member = Newcomer(member=True)
    member.arrive(JoinCell(77, -1), origin=6, origin_cell=3)
    member.cell.mode = Mode.JOINING
    member.arrive(JoinCell(78, -1), origin=6, origin_cell=HERE)
    assert member.sent == []


def test_a_member_that_crosses_a_border_works_for_no_cell_until_it_has_stood_still() -> None:
    node = Newcomer(settle_s=2.0, walkers=0)
    node.settle()
    node.cell.holdings.put(Held(HERE, metadata_of("photo", "goal")))
    node.walk_to(3, stands=False)
    node.wait(5.0)
    assert node.turns == ["leaving", "crossed"]
    assert (node.cell.mode, node.cell.place, node.cell.id) == (Mode.MOVING, 3, HERE)
    assert node.cell.holdings.index.object_count == 1, "kept in case it turns back"
    node.walk_to(3)
    node.wait(8.0)
    assert node.turns == ["leaving", "crossed", "discarded", "settled alone"]
    assert (node.cell.mode, node.cell.id) == (Mode.MEMBER, 3)
    assert node.cell.holdings.index.object_count == 0


def test_who_turns_back_into_its_cell_discards_nothing() -> None:
    node = Newcomer(walkers=0)
    node.settle()
    node.cell.holdings.put(Held(HERE, metadata_of("photo", "goal")))
    node.walk_to(3, stands=False)
    node.wait(1.0)
    node.walk_to(HERE)
    node.wait(8.0)
    assert node.turns == ["leaving", "crossed", "crossed", "settled alone"]
    assert node.cell.holdings.index.object_count == 1


def test_moving_within_the_cell_changes_nothing() -> None:
    node = Newcomer()
    node.settle()
    node.host.walks = True
    node.wait(10.0)
    assert node.cell.member
    assert node.turns == []


def test_who_crosses_while_it_joins_begins_anew_where_it_stands() -> None:
    node = Newcomer(walkers=0)
    node.hear(7)
    node.membership.join()
    node.wait(2.1)
    request = node.asked()
    node.walk_to(3, stands=False)
    node.wait(1.0)
    node.arrive(batch(request, 0, 1, "of the old cell"))
    assert node.turns == ["crossed"], "it was no member, so it leaves nothing"
    node.walk_to(3)
    node.wait(3.0)
    assert node.cell.mode is Mode.JOINING
    node.arrive(batch(request, 0, 1, "of the old cell"))
    assert not node.cell.member, "a late answer is not for this attempt"
    node.wait(5.0)
    assert (node.cell.member, node.cell.id) == (True, 3)
    assert node.cell.holdings.index.object_count == 0


@pytest.mark.parametrize("member", [True, False])
def test_only_a_member_that_stops_leaves_a_cell(member: bool) -> None:
    node = Newcomer(member=member)
    node.membership.stop()
    assert node.turns == (["leaving"] if member else [])
    assert node.cell.mode is Mode.OUT


def test_with_walkers_the_last_member_serves_its_cell_from_within_reach_and_gives_up_beyond() -> None:
    node = Newcomer()
    node.settle()
    node.walk_to(3, stands=False)
    node.wait(3.0)
    assert (node.cell.mode, node.cell.place, node.turns) == (Mode.MEMBER, HERE, [])
    node.walk_to(4, stands=False)
    node.wait(0.6)
    assert node.turns[:2] == ["leaving", "crossed"]
    assert node.cell.place == 4


def test_a_walking_member_leaves_as_soon_as_another_that_stays_holds_what_it_holds() -> None:
    node = Newcomer()
    node.settle()
    node.cell.holdings.put(Held(HERE, metadata_of("photo", "goal")))
    node.walk_to(3, stands=False)
    for digest in (b"", b"else"):
        node.hear(7, digest=digest)
        node.wait(1.1)
        assert node.cell.member, "the other one is leaving as well, or knows less"
    node.hear(7, digest=node.cell.holdings.digests.beacon())
    node.wait(0.6)
    assert node.turns[:2] == ["leaving", "crossed"]


def test_who_is_about_to_leave_says_so_before_it_relies_on_another() -> None:
    node = Newcomer()
    node.settle()
    node.hear(7, digest=node.cell.holdings.digests.beacon())
    node.walk_to(3, stands=False)
    node.net.frames.clear()
    node.wait(0.6)
    assert node.cell.member
    assert node.net.frames[-1][2] == Beacon(HERE, stationary=True, digest=b"")


def test_a_walker_serves_where_nobody_stands_and_where_one_stands_only_if_it_stays_for_a_while() -> None:
    for others, speed_mps, serves in (((), 20.0, True), ((7,), 20.0, False), ((7,), 1.0, True), ((7, 8), 1.0, False)):
        node = Newcomer()
        node.settle()
        node.cell.mode = Mode.MOVING
        node.host.walks = True
        for _ in range(3):
            node.hear(*others)
            at = node.host.place
            node.host.place = Point(at.x_m + speed_mps * 0.25, at.y_m)
            node.wait(0.25)
        assert (node.cell.mode is not Mode.MOVING) is serves, (others, speed_mps)


def test_how_long_a_member_is_going_to_stay_follows_from_its_way() -> None:
    for speed_mps, longest_s in ((0.0, inf), (1.0, 60.0), (10.0, 6.0)):
        node = Newcomer()
        node.settle()
        node.cell.mode = Mode.MOVING
        node.host.walks = speed_mps > 0.0
        for _ in range(12):
            at = node.host.place
            node.host.place = Point(at.x_m + speed_mps * 0.25, at.y_m)
            node.wait(0.25)
        assert node.cell.member
        assert longest_s / 2.0 <= node.cell.stay_s <= longest_s


def test_as_in_the_papers_who_walks_never_serves() -> None:
    node = Newcomer(walkers=0)
    node.settle()
    node.cell.mode = Mode.MOVING
    node.host.walks = True
    node.wait(10.0)
    assert node.cell.mode is Mode.MOVING


def test_who_leaves_relies_only_on_what_is_said_after_it_said_so() -> None:
    """Another member may be leaving as well, and its word for it be lost."""
    node = Newcomer()
    node.settle()
    node.cell.holdings.put(Held(HERE, metadata_of("photo", "goal")))
    node.hear(7, digest=node.cell.holdings.digests.beacon())
    node.walk_to(3, stands=False)
    node.wait(1.6)
    assert node.cell.departing
    assert node.turns == [], "the beacon is from before"
    node.hear(7, digest=node.cell.holdings.digests.beacon())
    node.wait(0.6)
    assert node.turns[:2] == ["leaving", "crossed"]


def walker_out_of_its_cell(*, others_know: bool, left_s: float, seconds: int) -> Newcomer:
    """It has left its cell with a photo in hand, and walks for some time where two others serve."""
    node = Newcomer(left_s=left_s)
    node.settle()
    node.cell.holdings.put(Held(HERE, metadata_of("photo", "goal")))
    node.walk_to(3, stands=False)
    node.wait(0.6)
    node.hear(7, digest=node.cell.holdings.digests.beacon() if others_know else b"else")
    node.walk_to(4, stands=False)
    for _ in range(seconds):
        node.hear(8, 9, cell=4)
        node.wait(1.0)
    return node


def test_who_comes_back_to_a_cell_it_forgot_or_carries_things_to_another_takes_them_up_after_a_restart() -> None:
    for cell, others_know in ((HERE, True), (4, False)):
        node = walker_out_of_its_cell(others_know=others_know, left_s=2.0, seconds=4)
        node.walk_to(cell)
        node.wait(20.0)
        assert (node.cell.member, node.cell.id) == (True, cell)
        node.cell.holdings.put(Held(CellId(cell), metadata_of("later", "goal")))
        again = Cell(node.host, node.cell.options)
        again.start()
        assert "later" in {metadata.key.oid for metadata in again.holdings.index.objects()}


@pytest.mark.parametrize("restarted", [True, False])
def test_who_walks_on_before_it_is_a_member_again_takes_what_it_held_along(restarted: bool) -> None:
    node = Newcomer(settle_s=1.0)
    if restarted:
        node.cell.holdings.put(Held(HERE, metadata_of("photo", "goal")))
    node.membership.join()
    node.cell.holdings.put(Held(HERE, metadata_of("just learnt", "goal")))
    node.walk_to(4)
    node.wait(20.0)
    assert (node.cell.member, node.cell.id) == (True, 4)
    assert bool(node.cell.holdings.index.object_count) is restarted


def test_a_walker_forgets_its_old_cell_in_the_end_unless_it_alone_knows_of_it() -> None:
    for left_s, others_know, kept in ((5.0, True, False), (5.0, False, True), (0.0, True, True)):
        node = walker_out_of_its_cell(others_know=others_know, left_s=left_s, seconds=8)
        assert node.cell.mode is Mode.MOVING, "two serve there already"
        assert bool(node.cell.holdings.index.object_count) is kept, (left_s, others_know)
