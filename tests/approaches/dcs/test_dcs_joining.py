"""Joining: the state of a full cell arrives page by page, also where pages are lost (FGCS §6.7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cell_world import CellWorld
from lone_cell import HERE, LoneCell, metadata_of

from thyme.approaches.dcs.cell import Mode
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.items import PAGE_MESSAGES
from thyme.approaches.dcs.joining import Joining
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.notifier import Notifier
from thyme.approaches.dcs.replicas import Replicas
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import Held, JoinCell, JoinedState


class Joiner(LoneCell):
    def __init__(self, node: int, *, member: bool = False, **options: Any) -> None:
        super().__init__(node, member=member, **options)
        replicas = Replicas(self.cell, Copies(self.host))
        self.joined: list[bool] = []
        learning = Learning(self.cell, Notifier(self.cell), replicas)
        self.joining = Joining(self.cell, learning, self.joined.append)
        self.cell.id = HERE

    def hold(self, objects: range) -> None:
        for i in objects:
            self.cell.holdings.put(Held(HERE, metadata_of(f"o{i}", "goal")))

    def begin(self) -> None:
        self.cell.mode = Mode.JOINING
        self.hear(1)
        self.joining.begin()
        self.wait(2.1)

    @property
    def count(self) -> int:
        return self.cell.holdings.index.object_count


def page_for(joiner: Joiner, giver: Joiner) -> list[JoinedState]:
    """What a member answers to the joiner's last question."""
    (_, question) = joiner.take(JoinCell)[-1]
    giver.arrive(question, joiner.host.node, HERE, form=Form.NODE)
    return [message for _, message in giver.take(JoinedState)]


def give(joiner: Joiner, page: list[JoinedState]) -> None:
    for message in page:
        joiner.arrive(message, 1, HERE, form=Form.NODE)


def test_a_large_state_comes_in_pages_each_after_the_one_before_has_arrived() -> None:
    giver, joiner = Joiner(1, member=True), Joiner(5)
    giver.hold(range(400))
    joiner.begin()
    pages = 0
    while not joiner.joined:
        page = page_for(joiner, giver)
        assert len(page) <= PAGE_MESSAGES + 1
        give(joiner, page)
        pages += 1
        assert pages < 50
    assert pages > 2
    assert joiner.joined == [False]
    assert joiner.count == 400


def test_a_lost_message_is_asked_for_again_from_where_the_joiner_stopped() -> None:
    giver, joiner = Joiner(1, member=True), Joiner(5)
    giver.hold(range(400))
    joiner.begin()
    give(joiner, page_for(joiner, giver))
    lost = page_for(joiner, giver)
    give(joiner, lost[1:])
    assert joiner.take(JoinCell) == [], "it waits"
    joiner.wait(joiner.cell.options.page_s + 0.1)
    again = page_for(joiner, giver)
    assert [message.state for message in again] == [message.state for message in lost], "this page alone"
    give(joiner, again)
    while not joiner.joined:
        give(joiner, page_for(joiner, giver))
    assert joiner.count == 400


def test_any_member_goes_on_where_another_one_stopped() -> None:
    first, second, joiner = Joiner(1, member=True), Joiner(2, member=True), Joiner(5)
    for giver in (first, second):
        giver.hold(range(400))
    joiner.begin()
    givers = [first, second]
    while not joiner.joined:
        give(joiner, page_for(joiner, givers[0]))
        givers.reverse()
    assert joiner.count == 400


def test_who_returns_gets_only_what_it_does_not_hold() -> None:
    for repair, given in ((True, 40), (False, 400)):
        giver, joiner = Joiner(1, member=True, repair=repair), Joiner(5, repair=repair)
        giver.hold(range(400))
        joiner.hold(range(399))
        joiner.begin()
        items = 0
        while not joiner.joined:
            page = page_for(joiner, giver)
            items += sum(len(message.state.held) for message in page)
            give(joiner, page)
        assert joiner.count == 400
        assert items <= given


def test_news_that_is_told_while_a_node_joins_is_not_lost_on_it() -> None:
    giver, joiner = Joiner(1, member=True), Joiner(5)
    giver.hold(range(10))
    joiner.begin()
    news = giver.cell.holdings.item(next(iter(giver.cell.holdings.digests.items(range(32)))))
    assert news is not None
    joiner.arrive(news, 1, form=Form.BROADCAST)
    assert joiner.count == 1


@pytest.mark.parametrize("settings", [{}, {"paper": True}], ids=["ours", "papers"])
def test_a_joiner_of_a_cell_with_2500_objects_has_them_all_within_seconds_on_wifi(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    world = CellWorld(tmp_path, [(0, 0), (0, 0), (0, 0), (1, 0)], settings, radio={"model": "wifi"})
    world.switch_off(2, keeps_store=False)
    world.wait(10.0)
    tag = world.tag_of(0, 0)
    for node in (0, 1):
        for i in range(2_500):
            held = Held(CellId(0), metadata_of(f"o{i}", tag, owner=0, size=300))
            world.store(node).cell.holdings.put(held)
            world.store(node).cell.holdings.put_object(held.metadata, b"x" * 300)
    world.switch_on(2, wait_s=20.0)
    holdings = world.store(2).cell.holdings
    assert holdings.index.object_count == 2_500
    assert len(list(holdings.objects())) == 2_500
