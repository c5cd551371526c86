"""Casting: contents that are broadcast once, and what those who hear them still ask for (FGCS §8)."""

from __future__ import annotations

from pathlib import Path

from cell_world import CellWorld
from lone_cell import LoneCell, metadata_of, replica

from thyme.approaches.dcs.casting import BACKLOG_S, MAX_HEARD, MAX_HEARD_BYTES, Casting
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.replicas import Replicas
from thyme.approaches.interface import Outcome
from thyme.model.chunks import CHUNK_BYTES, ChunkDigests, content_digest, part_offsets
from thyme.model.ids import NodeId
from thyme.model.objects import Content, InStore, Metadata
from thyme.wire.geographic import CastPart
from thyme.wire.storage import PartReply, PartRequest

PART_BYTES = 1_200
SMALL = bytes(range(250)) * 40
LARGE = bytes(range(250)) * 700


def described(data: bytes) -> Metadata:
    replicas = (replica(20, 3),)
    return metadata_of("photo", "goal", owner=20, size=len(data), replicas=replicas, seal=content_digest(data))


def cast_parts(data: bytes) -> list[CastPart]:
    key = described(data).key
    return [CastPart(key, len(data), at, data[at : at + n]) for at, n in part_offsets(len(data), PART_BYTES)]


class Hearer(LoneCell):
    def __init__(self) -> None:
        super().__init__(cast=True)
        self.replicas = Replicas(self.cell, Copies(self.host))
        self.fetched: list[tuple[Outcome, Content]] = []

    def overhear(self, *parts: CastPart) -> None:
        for part in parts:
            self.cell.frames[CastPart](NodeId(20), part)

    def retrieve(self, data: bytes) -> None:
        self.replicas.retrieve(described(data), lambda outcome, content: self.fetched.append((outcome, content)))

    def reply(self, data: bytes) -> list[int]:
        """Answer all requests so far; returns the offsets that were asked for."""
        digests = ChunkDigests()
        digests.add(data)
        served = data + digests.listed()
        asked = [request for _, request in self.take(PartRequest)]
        for request in asked:
            part = served[request.offset : request.offset + request.size]
            self.arrive(PartReply(request.request, request.key, True, request.offset, len(data), part))
        return [request.offset for request in asked]


def test_the_owner_broadcasts_each_part_once_and_one_content_after_the_other() -> None:
    lone = LoneCell(cast=True)
    casting = Casting(lone.cell)
    first, second = (metadata_of(oid, "goal", owner=5, size=len(SMALL)) for oid in ("first", "second"))
    for metadata in (first, second):
        lone.cell.contents.keep_own(metadata, SMALL)
        casting.cast(metadata)
    lone.wait(1.0)
    said = [message for _, _, message in lone.net.frames if isinstance(message, CastPart)]
    assert [message.key.oid for message in said] == ["first"] * 9 + ["second"] * 9
    assert b"".join(message.part for message in said) == SMALL + SMALL


def test_what_was_deleted_meanwhile_is_not_broadcast_further() -> None:
    lone = LoneCell(cast=True)
    casting = Casting(lone.cell)
    metadata = metadata_of("photo", "goal", owner=5, size=len(SMALL))
    lone.cell.contents.keep_own(metadata, SMALL)
    casting.cast(metadata)
    lone.wait(0.005)
    lone.cell.contents.drop(metadata.key)
    lone.wait(1.0)
    assert 0 < sum(isinstance(message, CastPart) for _, _, message in lone.net.frames) < 9


def test_who_heard_a_content_asks_for_nothing_and_who_missed_parts_asks_for_those() -> None:
    for data, whole in ((SMALL, SMALL), (LARGE, InStore(len(LARGE), content_digest(LARGE)))):
        parts = cast_parts(data)
        for missed in ([], [1, 3]):
            hearer = Hearer()
            hearer.overhear(*(part for i, part in enumerate(parts) if i not in missed))
            hearer.retrieve(data)
            asked = []
            for _ in range(20):
                hearer.wait(0.1)
                asked += hearer.reply(data)
            assert hearer.fetched == [(Outcome(), whole)]
            contents = [offset for offset in asked if offset < len(data)]
            assert contents == [parts[i].offset for i in missed], "besides the list of chunks"
    assert len(LARGE) > CHUNK_BYTES


def test_parts_that_are_not_the_objects_are_replaced_by_those_of_its_replica() -> None:
    hearer = Hearer()
    hearer.overhear(*cast_parts(bytes(len(SMALL))))
    key = described(SMALL).key
    assert key == described(bytes(len(SMALL))).key
    hearer.retrieve(SMALL)
    for _ in range(20):
        hearer.wait(0.1)
        hearer.reply(SMALL)
    assert hearer.fetched == [(Outcome(), SMALL)]


def test_who_retrieves_what_a_neighbour_just_inserted_waits_for_its_turn_but_not_for_long() -> None:
    hearer = Hearer()
    hearer.hear(20)
    hearer.retrieve(SMALL)
    hearer.wait(1.0)
    assert hearer.take(PartRequest) == []
    hearer.wait(BACKLOG_S)
    assert len(hearer.take(PartRequest)) == 4


def test_of_what_is_heard_the_latest_is_kept_within_its_bounds() -> None:
    lone = LoneCell(cast=True)
    casting = Casting(lone.cell)
    keys = [metadata_of(f"o{i}", owner=20).key for i in range(2 * MAX_HEARD)]
    for key in keys:
        lone.cell.frames[CastPart](NodeId(20), CastPart(key, 1, 0, b"x"))
    assert [bool(casting.heard(key, 0)) for key in keys] == [False] * MAX_HEARD + [True] * MAX_HEARD
    size_bytes = MAX_HEARD_BYTES // 4
    for key in keys[:5]:
        for offset in range(0, size_bytes, PART_BYTES):
            part = bytes(min(PART_BYTES, size_bytes - offset))
            lone.cell.frames[CastPart](NodeId(20), CastPart(key, size_bytes, offset, part))
    assert [bool(casting.heard(key, 0)) for key in keys[:5]] == [False, True, True, True, True]


def test_a_few_neighbours_keep_a_copy_at_the_price_of_one_broadcast(tmp_path: Path) -> None:
    world = CellWorld(tmp_path, [(0, 0)] * 4 + [(1, 0)] * 4, {"cast": True})
    metadata = world.insert(0, "photo", "goal", data=b"x" * 100_000, wait_s=10.0)
    holders = [node for node in range(8) if world.store(node).cell.contents.has(metadata.key)]
    assert holders == [0, 1, 2]
