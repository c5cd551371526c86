"""Replicas by themselves: who keeps an object's copies, and how they are fetched (FGCS §6.2, §6.5)."""

from __future__ import annotations

from typing import Any

import msgspec
from lone_cell import ALL, HERE, OTHER, LoneCell, metadata_of, replica

from thyme.approaches.dcs.cell import Mode
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.replicas import Replicas
from thyme.approaches.interface import Failure, Outcome
from thyme.approaches.requests import RetryOptions
from thyme.model.ids import CellId, NodeId
from thyme.model.objects import Content, DataObject
from thyme.routing.cells.addresses import Arrival, Form
from thyme.wire.cells import WHOLE_CELL, CellState, Deleted, Held, HeldBy, PartFor, ReplicaAdded, Wanted, WhoHolds
from thyme.wire.storage import PartReply, PartRequest

ACTIVE = replica(WHOLE_CELL, 0)
LARGE = b"x" * 3_000


class Keeper(LoneCell):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.copies = Copies(self.host)
        self.replicas = Replicas(self.cell, self.copies)
        self.fetched: list[tuple[Outcome, Content]] = []

    def retrieve(self, *replicas: Any, data: bytes = b"data") -> None:
        metadata = metadata_of("photo", self.tag(), self.tag(3), size=len(data), replicas=replicas)
        self.replicas.retrieve(metadata, lambda outcome, data: self.fetched.append((outcome, data)))

    def asked(self) -> list[tuple[Any, int]]:
        """Whom the parts asked for were asked of, and where they begin."""
        return [(sent.to[0], sent.message.offset) for sent in self.sent if isinstance(sent.message, PartRequest)]

    def reply(self, data: bytes) -> None:
        """The source that was asked answers all questions so far from `data`."""
        for _, request in self.take(PartRequest):
            part = data[request.offset : request.offset + request.size]
            self.arrive(PartReply(request.request, request.key, True, request.offset, len(data), part), form=Form.NODE)


def test_an_own_object_is_given_to_every_member_of_the_cell() -> None:
    keeper = Keeper()
    keeper.hear(1, 7)
    metadata = metadata_of("photo", "goal", owner=5, replicas=(ACTIVE,))
    keeper.replicas.keep_own(metadata, b"data")
    assert keeper.take(CellState) == [([(HERE, 1), (HERE, 7)], CellState(objects=(DataObject(metadata, b"data"),)))]
    assert keeper.cell.holdings.has_object(metadata.key)


def test_a_large_object_is_announced_without_its_data() -> None:
    keeper = Keeper(sure_members=0)
    metadata = metadata_of("film", "goal", owner=5, size=len(LARGE), replicas=(ACTIVE,))
    keeper.replicas.keep_own(metadata, LARGE)
    assert keeper.take(CellState) == [(ALL, CellState(objects=(DataObject(metadata, b""),)))]


def test_without_active_replication_only_the_owner_keeps_its_object() -> None:
    keeper = Keeper()
    keeper.hear(1)
    metadata = metadata_of("ad", "goal", owner=5, replicas=(replica(5, HERE),))
    keeper.replicas.keep_own(metadata, b"data")
    assert keeper.sent == []
    assert not keeper.cell.holdings.has_object(metadata.key)
    assert keeper.copies.own("ad") == metadata


def test_an_owner_on_its_way_leaves_its_object_with_the_cell_it_is_in_but_works_for_none() -> None:
    keeper = Keeper(sure_members=2)
    keeper.cell.mode, keeper.cell.place = Mode.MOVING, CellId(3)
    keeper.hear(7, cell=3)
    metadata = metadata_of("photo", "goal", owner=5, replicas=(ACTIVE,))
    keeper.replicas.keep_own(metadata, b"data")
    assert [to for to, _ in keeper.take(CellState)] == [[(3, 7)]]
    assert not keeper.cell.holdings.has_object(metadata.key)


def test_the_closest_replica_is_asked_first_and_the_owners_cell_last() -> None:
    keeper = Keeper()
    keeper.retrieve(ACTIVE, replica(20, 3), replica(21, OTHER))
    keeper.nack(20)
    keeper.nack(21)
    assert [to for to, _ in keeper.asked()] == [(3, 20), (OTHER, 21), (0, None)]


def test_a_negative_answer_leads_on_to_the_next_replica_and_the_last_one_to_failure() -> None:
    keeper = Keeper(lookups=0)
    keeper.retrieve(ACTIVE, replica(20, 3))
    for expected in ((3, 20), (0, None)):
        ((to, request),) = keeper.take(PartRequest)
        assert to == [expected]
        keeper.arrive(PartReply(request.request, request.key, False), form=Form.NODE)
    assert not keeper.fetched[0][0].ok
    assert len(keeper.fetched) == 1


def test_before_it_fails_a_retrieval_asks_the_cells_of_the_metadata_where_replicas_are_now() -> None:
    keeper = Keeper(lookups=1)
    keeper.retrieve(ACTIVE)
    refuse(keeper)
    keeper.wait(1.1)
    ((to, question),) = keeper.take(WhoHolds)
    assert to == [(HERE, None), (3, None)]
    fresh = metadata_of("photo", keeper.tag(), keeper.tag(3), replicas=(ACTIVE, replica(20, 3)))
    keeper.arrive(HeldBy(question.request, fresh), form=Form.NODE)
    assert [to for to, _ in keeper.asked()] == [(3, 20)]
    keeper.reply(b"data")
    assert keeper.fetched == [(Outcome(), b"data")]


def test_a_retrieval_looks_a_bounded_number_of_times_and_fails_at_once_if_the_object_was_deleted() -> None:
    for known, deleted, questions in ((True, False, 2), (False, False, 2), (False, True, 1)):
        keeper = Keeper(lookups=2, searches=0)
        keeper.retrieve(ACTIVE)
        asked = 0
        while not keeper.fetched:
            refuse(keeper)
            keeper.wait(1.1)
            for _, question in keeper.take(WhoHolds):
                asked += 1
                same = metadata_of("photo", keeper.tag(), keeper.tag(3), replicas=(ACTIVE,)) if known else None
                for _ in range(2):
                    keeper.arrive(HeldBy(question.request, same, deleted=deleted), form=Form.NODE)
        assert asked == questions
        assert [outcome.failure for outcome, _ in keeper.fetched] == [Failure.DELETED if deleted else Failure.NOT_FOUND]


def test_one_cell_that_knows_is_believed_and_not_one_that_does_not() -> None:
    keeper = Keeper(lookups=1)
    keeper.retrieve(ACTIVE)
    refuse(keeper)
    keeper.wait(1.1)
    ((_, question),) = keeper.take(WhoHolds)
    keeper.arrive(HeldBy(question.request, None), form=Form.NODE)
    assert keeper.asked() == []
    known = metadata_of("photo", keeper.tag(), keeper.tag(3), replicas=(ACTIVE,))
    keeper.arrive(HeldBy(question.request, known, replica(20, 3)), form=Form.NODE)
    assert [to for to, _ in keeper.asked()] == [(3, 20)], "who has it itself says so"


def test_a_member_that_is_asked_for_a_list_and_has_the_object_names_itself() -> None:
    keeper = Keeper()
    known = metadata_of("photo", keeper.tag(), replicas=(ACTIVE,))
    keeper.cell.holdings.put(Held(HERE, known))
    keeper.arrive(WhoHolds(1, known.key))
    keeper.cell.contents.keep(known, b"data")
    keeper.arrive(WhoHolds(2, known.key))
    keeper.cell.holdings.delete(Deleted(HERE, known.key))
    keeper.arrive(WhoHolds(3, known.key))
    assert [answer for _, answer in keeper.take(HeldBy)] == [
        HeldBy(1, known),
        HeldBy(2, known, replica(5, HERE)),
        HeldBy(3, None, deleted=True),
    ]


def test_when_all_else_failed_the_question_goes_round_the_crowd_and_whoever_has_the_object_is_asked() -> None:
    keeper = Keeper(lookups=1, searches=2)
    keeper.retrieve(ACTIVE)
    refuse(keeper)
    keeper.wait(1.1)
    ((_, question),) = keeper.take(WhoHolds)
    for _ in range(2):
        keeper.arrive(HeldBy(question.request, None), form=Form.NODE)
    keeper.net.frames.clear()
    keeper.wait(3.1)
    asked = [message for _, _, message in keeper.net.frames if isinstance(message, Wanted)]
    assert [message.times for message in asked] == [0, 1]
    keeper.arrive(HeldBy(asked[0].request, None, replica(20, 3)), form=Form.NODE)
    assert [to for to, _ in keeper.asked()] == [(3, 20)], "and nobody who was asked before"
    keeper.reply(b"data")
    assert keeper.fetched == [(Outcome(), b"data")]


def test_a_question_that_goes_round_is_answered_by_who_has_the_object_and_said_once_by_who_has_not() -> None:
    photo = metadata_of("photo")
    question = Wanted(1, 0, photo.key, NodeId(9), CellId(OTHER))
    for has in (True, False):
        keeper = Keeper()
        if has:
            keeper.cell.contents.keep(photo, b"data")
        for _ in range(3):
            keeper.cell.frames[Wanted](NodeId(7), question)
        keeper.wait(1.0)
        said = [message for _, _, message in keeper.net.frames if isinstance(message, Wanted)]
        assert said == ([] if has else [msgspec.structs.replace(question, hops=1)])
        expected = [([(OTHER, 9)], HeldBy(1, None, replica(5, HERE)))] if has else []
        assert keeper.take(HeldBy) == expected


def test_a_member_that_has_not_got_what_its_cell_keeps_passes_the_question_on() -> None:
    key = metadata_of("photo", owner=7).key
    for deleted in (False, True):
        keeper = Keeper()
        keeper.hear(1, 7)
        if deleted:
            keeper.cell.holdings.delete(Deleted(HERE, key))
        request = PartRequest(3, key, 0, 100)
        keeper.arrive(request)
        expected = [] if deleted else [([(HERE, 7)], PartFor(request, NodeId(9), CellId(OTHER)))]
        assert keeper.take(PartFor) == expected, "its owner is here"
        assert [reply.found for _, reply in keeper.take(PartReply)] == [False] * deleted


def refuse(keeper: Keeper) -> None:
    """Whoever was asked has nothing."""
    for _, request in keeper.take(PartRequest):
        keeper.arrive(PartReply(request.request, request.key, False), form=Form.NODE)


def test_parts_are_asked_for_a_few_at_a_time_and_put_together() -> None:
    keeper = Keeper()
    data = bytes(range(256)) * 30
    keeper.retrieve(ACTIVE, data=data)
    assert [offset for _, offset in keeper.asked()] == [0, 1_200, 2_400, 3_600]
    while keeper.asked():
        keeper.reply(data)
    assert keeper.fetched == [(Outcome(), data)]


def test_whoever_retrieved_an_object_is_a_replica_and_says_so_to_the_cells_of_its_tags() -> None:
    keeper = Keeper()
    keeper.retrieve(ACTIVE)
    keeper.reply(b"data")
    ((to, added),) = keeper.take(ReplicaAdded)
    assert to == [(HERE, None), (3, None)]
    assert added.replica == replica(5, HERE)
    keeper.retrieve(ACTIVE)
    assert keeper.sent == [], "it has it"
    assert len(keeper.fetched) == 2
    keeper.arrive(PartRequest(3, added.key, 0, 100), form=Form.NODE)
    assert [reply.part for _, reply in keeper.take(PartReply)] == [b"data"]


def test_an_announced_object_is_fetched_from_its_announcer_and_kept_for_the_cell_while_a_member() -> None:
    for mode, kept in ((Mode.MEMBER, True), (Mode.MOVING, False)):
        keeper = Keeper(cast=False)
        metadata = metadata_of("film", "goal", size=len(LARGE))
        state = CellState(objects=(DataObject(metadata, b""),))
        keeper.replicas.fetch_for_cell(Arrival(NodeId(9), HERE, state, HERE, Form.BROADCAST), state, lambda: None)
        assert {to for to, _ in keeper.asked()} == {(HERE, 9)}
        keeper.cell.mode = mode
        keeper.reply(LARGE)
        assert keeper.cell.holdings.has_object(metadata.key) is kept


def test_who_settles_elsewhere_drops_the_cells_objects_and_takes_its_own_and_retrieved_ones_along() -> None:
    keeper = Keeper()
    own, foreign = metadata_of("own", "goal", owner=5, replicas=(ACTIVE,)), metadata_of("foreign", "goal")
    keeper.replicas.keep_own(own, b"data")
    keeper.cell.holdings.put_object(foreign, b"data")
    keeper.retrieve(ACTIVE)
    keeper.reply(b"data")
    keeper.cell.place = CellId(3)
    keeper.cell.discard()
    assert not keeper.cell.contents.has(foreign.key)
    assert keeper.cell.contents.has(own.key)
    assert sorted(m.key.oid for m in keeper.copies) == ["own", "photo"]
    assert list(keeper.cell.holdings.objects()) == []


def test_a_deleted_own_object_is_gone_from_its_owner_at_once() -> None:
    keeper = Keeper()
    own = metadata_of("own", "goal", owner=5, replicas=(ACTIVE,))
    keeper.replicas.keep_own(own, b"data")
    keeper.replicas.drop_own(own.key)
    assert keeper.copies.own("own") is None
    assert not keeper.cell.contents.has(own.key)
    assert not keeper.cell.holdings.has_object(own.key)


def test_a_proxy_keeps_silent_about_an_object_that_it_does_not_know() -> None:
    request = PartRequest(3, metadata_of("photo").key, 0, 100)
    for proxied, dynamic, answers in ((False, True, 1), (True, True, 0), (True, False, 1)):
        keeper = Keeper(dynamic_cells=dynamic)
        keeper.arrive(request, proxied=proxied)
        assert [reply.found for _, reply in keeper.take(PartReply)] == [False] * answers


def test_a_question_is_passed_on_once_and_only_where_the_cell_was_asked() -> None:
    request = PartRequest(3, metadata_of("photo", owner=7).key, 0, 100)
    keeper = Keeper()
    keeper.hear(6, 7)
    keeper.arrive(request)
    ((to, passed_on),) = keeper.take(PartFor)
    assert (to, passed_on) == ([(HERE, 7)], PartFor(request, NodeId(9), OTHER)), "to its owner, who is a member"
    keeper.arrive(passed_on, origin=7, form=Form.NODE)
    assert keeper.kinds() == ["PartReply"]
    ((to, reply),) = keeper.take(PartReply)
    assert (to, reply.found) == ([(OTHER, 9)], False)
    for lookups, form in ((0, Form.CELL), (3, Form.NODE)):
        keeper = Keeper(lookups=lookups)
        keeper.hear(6, 7)
        keeper.arrive(request, form=form)
        assert keeper.kinds() == ["PartReply"]


def test_parts_that_arrived_are_kept_when_the_next_source_is_asked() -> None:
    keeper = Keeper(retry=RetryOptions(timeout_s=0.5, retries=0), lookups=0)
    data = b"x" * 4_800
    keeper.retrieve(replica(20, 1), replica(21, 3), data=data)
    first = keeper.take(PartRequest)
    for _, request in first[:3]:
        part = data[request.offset : request.offset + request.size]
        keeper.arrive(PartReply(request.request, request.key, True, request.offset, len(data), part), form=Form.NODE)
    keeper.wait(1.0)
    assert [offset for _, offset in keeper.asked()] == [first[3][1].offset], "only what is missing is asked for again"
