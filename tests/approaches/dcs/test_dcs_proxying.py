"""Proxying by itself: keys follow as cells empty and fill (FGCS §6.6.2)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from lone_cell import ALL, HERE, OTHER, PROXY, LoneCell, metadata_of, part_of, subscription_of

from thyme.approaches.dcs.cell import Mode
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.proxying import Proxying
from thyme.approaches.dcs.replicas import Replicas
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import CellAnswer, CellState, Deleted, Held, KeptHere, Released, TakeBack, WhoKeeps
from thyme.wire.routing import NOTE


def proxy(*homes: int, **options: Any) -> LoneCell:
    """A member of cell 2 that keeps an object and a subscription for each home."""
    lone = LoneCell(**options)
    Proxying(lone.cell, CellRequests(lone.cell)).start()
    for home in homes:
        lone.cell.holdings.put(Held(CellId(home), metadata_of(f"of {home}", "goal")))
        lone.cell.holdings.parts.put(part_of(subscription_of("goal", sid=home), home))
    return lone


def acknowledge(lone: LoneCell, cell: int) -> None:
    """The cell that states were sent to has them."""
    for _, state in lone.take(CellState):
        lone.arrive(CellAnswer(state.request, CellId(cell)), form=Form.NODE)


def test_the_last_member_to_leave_gives_everything_to_the_proxy() -> None:
    lone = proxy(HERE, 3)
    lone.cell.leaving(False)
    states = lone.take(CellState)
    assert {to for to, _ in states} == {(PROXY, HERE)}
    assert {held.home for _, state in states for held in state.held} == {HERE, 3}
    assert all(state.request >= 0 for _, state in states), "repeated until it is answered"
    lone.wait(3.0)
    assert len(lone.take(CellState)) == len(states)


def test_who_leaves_others_behind_that_hold_the_same_gives_nothing_away() -> None:
    lone = proxy(HERE)
    lone.hear(7)
    lone.cell.leaving(True)
    assert lone.sent == []


def test_what_the_others_are_not_known_to_hold_goes_to_one_of_them() -> None:
    for walkers, given in ((2, True), (0, False)):
        lone = proxy(HERE, walkers=walkers)
        lone.hear(7, 9)
        lone.cell.leaving(False)
        assert [to for to, _ in lone.take(CellState)] == ([[(HERE, 7)]] if given else [])


def test_the_first_member_of_a_cell_asks_the_proxy_for_its_keys() -> None:
    lone = proxy()
    lone.hear(7, cell=3)
    lone.cell.settled(True)
    ((to, request),) = lone.take(TakeBack)
    assert (to, request.cell) == ((PROXY, HERE), HERE)


def test_who_joins_others_or_is_alone_in_the_world_asks_no_proxy() -> None:
    lone = proxy()
    lone.cell.settled(True)
    assert lone.sent == [], "nobody is in reach"
    lone.hear(7, cell=3)
    lone.cell.settled(False)
    assert lone.sent == [], "the other members have the keys"


def test_a_cell_that_fills_gets_its_keys_and_those_it_is_now_closest_to_and_no_others() -> None:
    lone = proxy(0, HERE, 3, 4)
    lone.arrive(TakeBack(7, CellId(3)), origin_cell=3)
    assert lone.take(CellAnswer) == [([(3, 9)], CellAnswer(7, CellId(3)))]
    states = lone.take(CellState)
    assert {to[0][0] for to, _ in states} == {3, 4}
    assert {held.home for _, state in states for held in state.held} == {3, 4}


def test_if_who_stood_in_for_a_cell_that_fills_is_lost_it_goes_round_that_its_keys_are() -> None:
    lone = proxy(4)
    heard: list[int] = []
    lone.cell.forgotten.then(heard.append)
    lone.arrive(TakeBack(7, CellId(3)), origin_cell=3)
    assert heard == []
    lone.hear(7, stationary=False, digest=NOTE.pack(HERE, 1))
    lone.wait(1.0)
    lone.arrive(TakeBack(8, CellId(3)), origin_cell=3)
    lone.arrive(TakeBack(9, CellId(4)), origin_cell=4)
    assert heard == [HERE, 3], "of the other there is something left"


def test_keys_are_forgotten_only_when_the_other_cell_has_said_that_it_has_them() -> None:
    for members, told in (((7, 8), [(HERE, 7), (HERE, 8)]), (range(10, 40), ALL)):
        lone = proxy(HERE, 3)
        lone.hear(*members)
        lone.arrive(TakeBack(7, CellId(3)), origin_cell=3)
        assert lone.cell.holdings.homes() == [HERE, 3]
        acknowledge(lone, 3)
        assert lone.cell.holdings.homes() == [HERE]
        assert [(to, message.home) for to, message in lone.take(Released)] == [(told, 3)], "each surely, unless many"


def test_keys_that_could_not_be_given_are_kept_and_given_the_next_time() -> None:
    lone = proxy(3)
    lone.arrive(TakeBack(7, CellId(3)), origin_cell=3)
    lone.arrive(TakeBack(8, CellId(3)), origin_cell=3)
    assert len(lone.take(CellState)) == 1, "they are on their way already"
    lone.wait(60.0)
    assert lone.cell.holdings.homes() == [3]
    assert lone.take(Released) == []
    lone.take(CellState)
    lone.arrive(TakeBack(9, CellId(3)), origin_cell=3)
    assert len(lone.take(CellState)) == 1


def test_many_keys_are_forgotten_when_all_of_them_have_arrived() -> None:
    lone = proxy()
    for i in range(60):
        lone.cell.holdings.put(Held(CellId(3), metadata_of(f"o{i}", "goal")))
    lone.arrive(TakeBack(7, CellId(3)), origin_cell=3)
    *some, (_, last) = lone.take(CellState)
    assert some
    for _, state in some:
        lone.arrive(CellAnswer(state.request, CellId(3)), form=Form.NODE)
    assert lone.cell.holdings.index.object_count == 60
    lone.arrive(CellAnswer(last.request, CellId(3)), form=Form.NODE)
    assert lone.cell.holdings.index.object_count == 0


def test_members_forget_with_the_one_that_gave_the_keys_away_but_never_their_own_cells() -> None:
    lone = proxy(HERE, 3)
    released = Released(CellId(3), lone.cell.holdings.summary(CellId(3)))
    lone.arrive(released)
    assert lone.cell.holdings.homes() == [HERE, 3], "only a member is believed"
    lone.hear(7)
    lone.arrive(released, origin=7, form=Form.NODE)
    lone.arrive(Released(HERE, lone.cell.holdings.summary(HERE)), form=Form.BROADCAST)
    assert lone.cell.holdings.homes() == [HERE]


def test_a_member_that_held_more_than_was_given_away_gives_its_own_away_too() -> None:
    lone = proxy(3)
    given = lone.cell.holdings.summary(CellId(3))
    lone.cell.holdings.delete(Deleted(CellId(3), metadata_of("missed by the giver").key))
    lone.arrive(Released(CellId(3), given), form=Form.BROADCAST)
    assert lone.cell.holdings.homes() == [3]
    states = lone.take(CellState)
    assert [to for to, _ in states] == [[(3, None)]]
    assert any(state.deleted for _, state in states)


def test_what_came_while_keys_were_given_away_is_given_before_they_are_forgotten() -> None:
    lone = proxy(3)
    lone.arrive(TakeBack(7, CellId(3)), origin_cell=3)
    given = lone.take(CellState)
    lone.cell.holdings.put(Held(CellId(3), metadata_of("late", "goal")))
    for _, state in given:
        lone.arrive(CellAnswer(state.request, CellId(3)), form=Form.NODE)
    assert lone.cell.holdings.homes() == [3]
    assert lone.take(Released) == []
    acknowledge(lone, 3)
    assert lone.cell.holdings.homes() == []


def test_who_leaves_has_handed_over_when_what_came_meanwhile_is_given_too() -> None:
    lone = LoneCell()
    proxying = Proxying(lone.cell, CellRequests(lone.cell))
    lone.cell.holdings.put(Held(HERE, metadata_of("early", "goal")))
    lone.cell.leaving(False)
    lone.cell.mode = Mode.OUT
    lone.cell.holdings.put(Held(HERE, metadata_of("late", "goal")))
    assert proxying.handing_over == 1
    acknowledge(lone, 1)
    assert proxying.handing_over == 1
    acknowledge(lone, 1)
    assert proxying.handing_over == 0


def test_who_belongs_by_then_to_the_cell_that_took_its_keys_keeps_them_with_it() -> None:
    lone = proxy(HERE, 3)
    lone.cell.leaving(False)
    lone.cell.id = lone.cell.place = CellId(1)
    acknowledge(lone, 1)
    assert lone.cell.holdings.homes() == [HERE, 3]
    assert lone.take(Released) == [], "or the others there would forget what they have just taken"


def test_two_who_leave_at_once_and_give_each_other_their_keys_both_keep_them() -> None:
    lone = proxy(HERE)
    Learning(lone.cell, Notifier(lone.cell), Replicas(lone.cell, Copies(lone.host)))
    lone.hear(7)
    lone.cell.leaving(False)
    lone.cell.id = lone.cell.place = CellId(1)
    ((to, given),) = lone.take(CellState)
    assert to == [(HERE, 7)]
    lone.arrive(msgspec.structs.replace(given, request=77), origin=7, origin_cell=3, form=Form.NODE)
    assert [answer.request for _, answer in lone.take(CellAnswer)] == [77], "7 may forget them now"
    lone.arrive(CellAnswer(given.request, CellId(3)), form=Form.NODE)
    assert lone.cell.holdings.homes() == [HERE]


def test_the_lowest_member_of_a_proxy_asks_from_time_to_time_whether_it_still_is_one() -> None:
    for lowest in (True, False):
        lone = proxy(HERE, OTHER, probe_s=2.0)
        lone.hear(9 if lowest else 1)
        lone.wait(3.0)
        assert lone.take(WhoKeeps) == ([([(OTHER, None)], WhoKeeps(OTHER, HERE))] if lowest else [])


def test_a_proxy_around_which_nothing_changes_asks_half_as_often() -> None:
    for changes, asked in ((True, 30), (False, 15)):
        lone = proxy(OTHER, probe_s=2.0)
        for second in range(60):
            lone.hear(9, cell=second % 2 if changes else 0)
            lone.wait(1.0)
        assert len(lone.take(WhoKeeps)) == pytest.approx(asked, abs=4)


def test_a_cell_that_fills_closer_to_an_empty_one_is_noticed_at_once() -> None:
    lone = proxy(0, OTHER, probe_s=1_000.0)
    lone.hear(9, cell=3)
    assert lone.take(WhoKeeps) == [([(OTHER, None)], WhoKeeps(OTHER, HERE))]
    lone.hear(10, cell=3)
    assert lone.sent == [], "it is populated already"


def test_the_question_who_keeps_a_key_is_answered_by_another_cell_than_the_askers() -> None:
    lone = proxy()
    lone.arrive(WhoKeeps(OTHER, HERE), origin_cell=HERE, target=OTHER)
    assert lone.sent == [], "silence: nothing has changed"
    lone.arrive(WhoKeeps(OTHER, CellId(1)), origin_cell=1, target=OTHER)
    assert lone.take(KeptHere) == [([(1, 9)], KeptHere(OTHER, HERE))]


def test_keys_go_where_another_cell_says_that_they_belong() -> None:
    lone = proxy(HERE, OTHER)
    lone.arrive(KeptHere(OTHER, HERE), form=Form.NODE)
    assert lone.sent == []
    lone.arrive(KeptHere(OTHER, CellId(3)), form=Form.NODE)
    states = lone.take(CellState)
    assert [to for to, _ in states] == [[(OTHER, None)]], "sent towards the empty cell, so to whoever stands in for it"
    lone.arrive(KeptHere(HERE, CellId(3)), form=Form.NODE)
    assert lone.sent == [], "this cell's own keys stay"


def test_as_in_the_papers_evaluation_cells_neither_ask_nor_give() -> None:
    lone = proxy(HERE, OTHER, dynamic_cells=False, probe_s=1.0)
    lone.hear(9, cell=3)
    lone.cell.settled(True)
    lone.cell.leaving(False)
    lone.wait(5.0)
    assert lone.sent == []
