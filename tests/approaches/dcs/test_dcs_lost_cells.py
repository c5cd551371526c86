"""LostCells by themselves: how it goes round that a cell has lost its members, and that it ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lone_cell import HERE, LoneCell, metadata_of
from net import Net

from thyme.approaches.dcs.lost_cells import BEACONS, MOST_AT_ONCE, SAME_NEWS_S, LostCells
from thyme.model.ids import CellId
from thyme.wire.cells import Held
from thyme.wire.routing import NOTE, Beacon, digest_parts


class Gossip:
    """One node that hears and says rumours."""

    def __init__(self, number: int) -> None:
        self.heard: list[CellId] = []
        self.net = Net()
        self.rumours = LostCells(self.net.add(number, 0.0, 0.0), self.heard.append)


def test_a_rumour_reaches_everybody_once_and_falls_silent() -> None:
    crowd = [Gossip(i) for i in range(5)]
    crowd[0].rumours.start(CellId(7))
    said = 0
    for _ in range(20):
        for i, node in enumerate(crowd):
            words = node.rumours.say()
            said += len(words)
            for other in crowd[max(0, i - 1) : i + 2]:
                other.rumours.hear(words)
    assert [node.heard for node in crowd] == [[7]] * 5
    assert said == 5 * BEACONS * 6


def test_what_several_start_about_one_cell_at_a_time_is_one_rumour_and_later_it_is_another() -> None:
    node = Gossip(0)
    for number in range(3):
        other = Gossip(number + 1)
        other.rumours.start(CellId(7))
        node.rumours.hear(other.rumours.say())
    assert node.heard == [7]
    node.net.run(SAME_NEWS_S + 1.0)
    node.rumours.start(CellId(7))
    assert node.heard == [7, 7]


def test_a_beacon_carries_only_so_many() -> None:
    node = Gossip(0)
    for cell in range(MOST_AT_ONCE + 1):
        node.rumours.start(CellId(cell))
    lengths = [len(node.rumours.say()) // 6 for _ in range(2 * BEACONS + 1)]
    assert max(lengths) == MOST_AT_ONCE
    assert sum(lengths) == (MOST_AT_ONCE + 1) * BEACONS


@given(st.sampled_from([b"", b"abcd"]), st.integers(0, 5))
def test_a_digest_and_rumours_share_a_beacon(digest: bytes, count: int) -> None:
    assert digest_parts(digest + b"rumour" * count) == (digest, b"rumour" * count)


def test_a_member_starts_one_when_the_last_member_of_a_cell_beside_it_falls_silent() -> None:
    for cell, mode, expected in ((3, True, [3]), (4, True, []), (HERE, True, []), (3, False, [])):
        lone = LoneCell()
        heard: list[int] = []
        lone.cell.forgotten.then(heard.append)
        lone.hear(7, cell=cell, stationary=mode)
        lone.wait(5.0)
        assert heard == expected, (cell, mode)


def test_who_hears_a_lost_cell_fill_again_starts_one_but_not_if_only_beacons_were_lost() -> None:
    for newcomer, walks, expected in ((7, False, []), (8, False, []), (8, True, [4]), (7, True, [4])):
        lone = LoneCell()
        heard: list[int] = []
        lone.cell.forgotten.then(heard.append)
        lone.hear(7, cell=4)
        lone.wait(5.0)
        if walks:
            lone.hear(newcomer, cell=4, stationary=False)
        lone.hear(newcomer, cell=4)
        assert heard == expected, (newcomer, walks)


def test_who_says_that_it_leaves_leaves_nothing_to_talk_about() -> None:
    lone = LoneCell()
    heard: list[int] = []
    lone.cell.forgotten.then(heard.append)
    lone.hear(7, cell=3)
    lone.hear(7, cell=3, stationary=False)
    lone.wait(5.0)
    assert heard == []


def test_a_proxy_that_knows_nothing_starts_one_if_who_stood_in_before_it_is_lost() -> None:
    lone = LoneCell()
    heard: list[int] = []
    lone.cell.forgotten.then(heard.append)
    lone.hear(7, cell=4)
    lone.wait(5.0)
    lone.cell.holdings.put(Held(CellId(8), metadata_of("photo", "goal")))
    lone.cell.stand_in(CellId(8))
    assert heard == []
    lone.cell.stand_in(CellId(9))
    assert heard == [9]


def test_a_cell_that_lost_its_members_knows_nothing_of_those_that_it_stood_in_for() -> None:
    """Once: what went round of the other cell since then has reached everybody."""
    lone = LoneCell()
    heard: list[int] = []
    lone.cell.forgotten.then(heard.append)
    lone.hear(7, stationary=False, digest=NOTE.pack(HERE, 1))
    lone.wait(5.0)
    lone.cell.stand_in(CellId(9))
    lone.wait(20.0)
    lone.cell.stand_in(CellId(9))
    assert heard == [HERE, 9]
    lone.hear(7, stationary=False, digest=NOTE.pack(HERE, 2))
    lone.wait(1.0)
    lone.cell.stand_in(CellId(9))
    assert heard == [HERE, 9, HERE, 9]


def test_a_proxy_in_a_crowd_that_lost_nobody_keeps_silent() -> None:
    """Else every empty cell of a large crowd would be talked about by everybody."""
    lone = LoneCell()
    heard: list[int] = []
    lone.cell.forgotten.then(heard.append)
    lone.cell.stand_in(CellId(9))
    lone.hear(7, cell=3)
    lone.wait(5.0)
    heard.clear()
    lone.cell.stand_in(CellId(0))
    assert heard == []


def test_as_in_the_papers_nobody_talks() -> None:
    lone = LoneCell(reminders=False)
    lone.hear(7, cell=3)
    lone.wait(5.0)
    lone.cell.stand_in(CellId(4))
    lone.cell.beacons.announce()
    assert lone.net.frames[-1][2] == Beacon(HERE, stationary=True, digest=lone.cell.holdings.digests.beacon())
