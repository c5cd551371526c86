"""The cell that the parts share: who is told of what, and who else is there (FGCS §4.3, §6.6)."""

from __future__ import annotations

import pytest
from lone_cell import HERE, LoneCell, metadata_of

from thyme.approaches.dcs.cell import Cell, Mode, Signal
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.replicas import Replicas
from thyme.model.errors import InputError
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import CellState, Held, JoinCell, TakeBack, WhoHolds
from thyme.wire.geographic import CellPacket


def test_a_turn_is_told_to_all_in_the_order_in_which_they_asked() -> None:
    turn: Signal[[int]] = Signal()
    told: list[tuple[str, int]] = []
    turn.then(lambda value: told.append(("first", value)))
    turn.then(lambda value: told.append(("second", value)))
    turn(7)
    assert told == [("first", 7), ("second", 7)]


def test_members_serve_and_everybody_hears() -> None:
    lone = LoneCell()
    got: list[str] = []
    lone.cell.serve(JoinCell, lambda arrival, message: got.append("served"))
    lone.cell.hear(TakeBack, lambda arrival, message: got.append("heard"))
    for mode in (Mode.MEMBER, Mode.MOVING):
        lone.cell.mode = mode
        for message in (JoinCell(1, -1), TakeBack(2, HERE), WhoHolds(3, metadata_of("nobody asked for this kind").key)):
            lone.arrive(message, form=Form.NODE)
    assert got == ["served", "heard", "heard"]


def test_two_parts_cannot_want_the_same_kind_of_message() -> None:
    lone = LoneCell()
    lone.cell.serve(JoinCell, lambda arrival, message: None)
    with pytest.raises(AssertionError, match="JoinCell"):
        lone.cell.hear(JoinCell, lambda arrival, message: None)


def told_directly(lone: LoneCell) -> list[int | None]:
    """To whom a change goes by a frame of its own though nobody is heard."""
    lone.net.frames.clear()
    lone.cell.tell_surely(CellState(held=(Held(HERE, metadata_of("photo", "goal")),)))
    return [to for _, to, _ in lone.net.sent(CellPacket)]


def test_who_fell_silent_a_moment_ago_is_still_told_of_every_change() -> None:
    lone = LoneCell()
    lone.net.add(6, lone.host.place.x_m, lone.host.place.y_m).on = False
    lone.hear(6, 7)
    lone.hear(8, cell=3)
    lone.wait(1.0)
    lone.hear(7, stationary=False)
    assert told_directly(lone) == [], "6 is heard, 7 has said that it leaves"
    lone.wait(4.0)
    assert lone.cell.others == []
    assert told_directly(lone) == [6]
    lone.wait(5.0)
    assert told_directly(lone) == []


def test_the_others_are_the_stationary_neighbours_of_the_cell_in_the_order_of_their_numbers() -> None:
    lone = LoneCell(5)
    lone.hear(9, 7)
    lone.hear(1, cell=3)
    lone.hear(2, stationary=False)
    assert lone.cell.others == [7, 9]
    assert lone.cell.members_of(CellId(3)) == [1]
    alone_below = lone.cell.leads
    lone.hear(4)
    assert (alone_below, lone.cell.leads) == (True, False)
    lone.wait(4.0)
    assert lone.cell.others == []


def test_a_cell_around_is_told_of_while_a_single_member_of_it_is_heard() -> None:
    lone = LoneCell()
    populated: list[int] = []
    lone.cell.populated.then(populated.append)
    lone.hear(1, 3, cell=3)
    assert populated == [3], "of the first, not of the second"
    lone.wait(3.0)
    lone.hear(1, cell=3)
    lone.wait(1.0)
    assert populated == [3, 3], "and of the one that is left"


def test_a_cell_that_is_discarded_begins_anew_and_its_parts_are_told_of_the_old_objects() -> None:
    lone = LoneCell()
    old = lone.cell.holdings
    old.put(Held(HERE, metadata_of("photo", "goal")))
    old.put_object(metadata_of("film", "goal"), b"data")
    seen: list[tuple[list[str], bool]] = []
    lone.cell.discarded.then(lambda gone: seen.append(([m.key.oid for m in gone], lone.cell.holdings is not old)))
    lone.cell.place = CellId(3)
    lone.cell.discard()
    assert seen == [(["film"], True)]
    assert lone.cell.holdings.index.object_count == 0
    lone.cell.holdings.restore(HERE)
    assert lone.cell.holdings.index.object_count == 0, "nor is anything left on disk"


def test_starting_finds_the_place_and_takes_up_what_was_held_there() -> None:
    lone = LoneCell()
    lone.cell.holdings.restore(HERE)
    lone.cell.holdings.put(Held(HERE, metadata_of("photo", "goal")))
    again = Cell(lone.host, lone.cell.options)
    again.start()
    assert again.place == HERE
    assert again.holdings.index.object_count == 1
    assert not again.member


@pytest.mark.parametrize("walkers", [0, 2])
def test_who_starts_elsewhere_keeps_what_it_held_for_its_old_cell_only_where_walkers_serve(walkers: int) -> None:
    lone = LoneCell(walkers=walkers)
    lone.cell.holdings.restore(HERE)
    for oid in ("kept for the cell", "retrieved"):
        lone.cell.holdings.put_object(metadata_of(oid, "goal"), b"data")
    Copies(lone.host).put_retrieved(metadata_of("retrieved", "goal"))
    lone.walk_to(3)
    again = Cell(lone.host, lone.cell.options)
    Replicas(again, Copies(lone.host))
    again.start()
    assert again.contents.has(metadata_of("kept for the cell").key) is bool(walkers)
    assert again.contents.has(metadata_of("retrieved").key)


def test_a_cell_needs_an_area() -> None:
    with pytest.raises(InputError, match=r"grid\.width_m"):
        Cell(LoneCell().host, CellStorageOptions())
