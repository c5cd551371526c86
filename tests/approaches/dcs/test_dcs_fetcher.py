"""The fetcher: users first, one content after the other, and each object once (FGCS §6.5)."""

from __future__ import annotations

from typing import Any

from lone_cell import HERE, LoneCell, metadata_of, replica

from thyme.approaches.dcs.casting import Casting
from thyme.approaches.dcs.fetcher import TURN_S, Fetcher
from thyme.approaches.dcs.lookups import Lookups
from thyme.model.objects import Metadata
from thyme.routing.cells.addresses import Form
from thyme.wire.storage import PartReply, PartRequest


def photo(oid: str) -> Metadata:
    return metadata_of(oid, "goal", size=4, replicas=(replica(20, HERE),))


class Fetching(LoneCell):
    def __init__(self, **options: Any) -> None:
        super().__init__(cast=False, lookups=0, **options)
        self.fetcher = Fetcher(self.cell, Lookups(self.cell), Casting(self.cell), None)
        self.ended: list[tuple[str, bool]] = []

    def fetch(self, oid: str, *, for_user: bool) -> None:
        metadata = photo(oid)
        self.fetcher.fetch(metadata, lambda outcome, _: self.ended.append((oid, outcome.ok)), for_user=for_user)

    def answer(self, *, found: bool = True) -> list[str]:
        """Answer all requests so far; the objects that were asked for."""
        asked = [request for _, request in self.take(PartRequest)]
        for request in asked:
            self.arrive(PartReply(request.request, request.key, found, 0, 4, b"data"), form=Form.NODE)
        return [request.key.oid for request in asked]


def test_contents_are_fetched_one_after_the_other_and_those_of_the_user_first() -> None:
    lone = Fetching()
    for oid, for_user in (("a", False), ("b", False), ("c", True), ("d", True)):
        lone.fetch(oid, for_user=for_user)
    assert [lone.answer() for _ in range(5)] == [["a"], ["c"], ["d"], ["b"], []]
    assert lone.ended == [("a", True), ("c", True), ("d", True), ("b", True)]


def test_several_at_once_if_the_settings_say_so() -> None:
    lone = Fetching(fetches=2)
    for oid in "abc":
        lone.fetch(oid, for_user=True)
    assert [lone.answer() for _ in range(3)] == [["a", "b"], ["c"], []]


def test_an_object_is_fetched_once_for_all_who_want_it_and_a_users_wish_hurries_it() -> None:
    lone = Fetching()
    for oid, for_user in (("a", True), ("b", False), ("c", False), ("c", True)):
        lone.fetch(oid, for_user=for_user)
    assert [lone.answer() for _ in range(4)] == [["a"], ["c"], ["b"], []]
    assert lone.ended == [("a", True), ("c", True), ("c", True), ("b", True)]


def test_a_fetch_that_takes_long_keeps_no_other_waiting() -> None:
    lone = Fetching()
    lone.fetch("a", for_user=True)
    lone.fetch("b", for_user=True)
    lone.take(PartRequest)
    lone.wait(TURN_S + 1.0)
    assert "b" in lone.answer(found=False)
    assert ("b", False) in lone.ended
