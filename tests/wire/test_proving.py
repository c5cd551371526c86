"""Proofs of a node's own objects: made when they are needed, once, and always the right ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from random import Random

import pytest
from signatures import noted

from thyme.approaches.past import pieces_of
from thyme.host import MemoryStore
from thyme.live.trust.authenticator import SigningAuthenticator
from thyme.live.trust.identity import Identity
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import DataObject, Metadata
from thyme.wire.cells import CellNotification, CellState, Held, InsertMetadata
from thyme.wire.local import Told
from thyme.wire.message import Message
from thyme.wire.proving import MAX_COMPANY, PROOF_BYTES
from thyme.wire.signing import PLAIN, Forged, SigningCodec
from thyme.wire.storage import Notification, PastMatches

ME, OTHER = Identity.new(), Identity.new()
KEY = SubscriptionKey(3, OTHER.node)


def machine(identity: Identity) -> SigningCodec:
    return SigningCodec(SigningAuthenticator(identity, MemoryStore()))


def objects(number: int, summary: bytes = b"") -> list[Metadata]:
    return [Metadata.of(ObjectKey(f"o{i}", ME.node), ("goal",), summary, 1.0, b"x") for i in range(number)]


def kept(*some: Metadata) -> CellState:
    return CellState(held=tuple(Held(1, one) for one in some))  # type: ignore[arg-type]


@pytest.fixture
def signatures(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was signed."""
    return noted(monkeypatch)


@pytest.mark.parametrize(
    "tell",
    [
        lambda one: Told(1, KEY, (one,)),
        lambda one: Notification(KEY, (one,)),
        lambda one: PastMatches(KEY, (one,), None, 0, 1, True),
        lambda one: CellNotification((KEY,), (one,)),
    ],
)
def test_a_neighbour_is_told_without_a_signature_and_believes_nobody_else_who_says_the_same(
    tell: Callable[[Metadata], Message], signatures: list[bytes]
) -> None:
    mine, reader = machine(ME), machine(OTHER)
    message = tell(*objects(1))
    frame = mine.encode_for_neighbour(message)
    assert not signatures
    assert frame == PLAIN.encode(message)
    reader.speaker = ME.node
    assert reader.decode(frame) == message
    for speaker in (None, OTHER.node):
        reader.speaker = speaker
        with pytest.raises(Forged):
            reader.decode(frame)
    assert reader.decode(mine.encode(message)) == message
    assert len(signatures) == 1


def test_who_is_to_keep_an_object_is_given_its_proof_though_it_is_a_neighbour(signatures: list[bytes]) -> None:
    mine = machine(ME)
    for message in (kept(*objects(1)), InsertMetadata(1, *objects(1))):
        reader = machine(OTHER)
        reader.speaker = ME.node
        assert reader.decode(mine.encode_for_neighbour(message)) == message
    assert len(signatures) == 2


def test_an_object_is_signed_once_and_has_its_proof_from_then_on(signatures: list[bytes]) -> None:
    mine = machine(ME)
    (one,) = objects(1)
    for _ in range(3):
        mine.encode(kept(one))
    assert len(signatures) == 1
    assert len(one.proof) == PROOF_BYTES


def test_a_copy_that_was_made_before_is_proved_as_well() -> None:
    mine = machine(ME)
    some = objects(5)
    mine.insert_together(some)
    before = [copy(one) for one in some]
    for message in (kept(*some), kept(*before), kept(*[copy(one) for one in objects(5)])):
        assert machine(OTHER).decode(mine.encode(message)) == message


def test_what_was_inserted_together_is_signed_together_whichever_is_told_first(signatures: list[bytes]) -> None:
    mine, reader = machine(ME), machine(OTHER)
    some = objects(20)
    mine.insert_together(some)
    Random(3).shuffle(some)
    for one in some:
        reader.decode(mine.encode(kept(one)))
    assert len(signatures) == 1


def test_an_object_that_one_message_tells_of_twice_has_one_proof() -> None:
    mine, (one, other) = machine(ME), objects(2)
    message = CellState(
        held=tuple(Held(home, one) for home in (1, 2)),  # type: ignore[arg-type]
        objects=(DataObject(one, b"x"), DataObject(other, b"x")),
    )
    assert machine(OTHER).decode(mine.encode(message)) == message


def test_what_one_message_tells_of_is_signed_together(signatures: list[bytes]) -> None:
    message = kept(*objects(20))
    assert machine(OTHER).decode(machine(ME).encode(message)) == message
    assert len(signatures) == 1


def test_of_more_than_are_remembered_every_one_is_proved() -> None:
    mine, reader = machine(ME), machine(OTHER)
    some = objects(MAX_COMPANY + 300)
    for first in range(0, len(some), 128):
        mine.insert_together(some[first : first + 128])
    Random(4).shuffle(some)
    for first in range(0, len(some), 50):
        message = kept(*some[first : first + 50])
        assert reader.decode(mine.encode(message)) == message


def test_a_draft_that_was_refused_does_not_prove_what_was_inserted_under_its_name() -> None:
    mine = machine(ME)
    refused = objects(3)
    mine.insert_together(refused)
    inserted = Metadata.of(refused[1].key, ("goal",), b"", 2.0, b"something else")
    for message in (kept(refused[0]), kept(inserted), kept(refused[2])):
        assert machine(OTHER).decode(mine.encode(message)) == message


def test_nobody_proves_what_another_told_it_without_a_proof(signatures: list[bytes]) -> None:
    message = kept(*objects(1))
    with pytest.raises(Forged):
        machine(Identity.new()).decode(machine(OTHER).encode(message))
    assert not signatures


def test_an_object_of_a_time_without_digests_stays_as_it_is(signatures: list[bytes]) -> None:
    old = Metadata(ObjectKey("old", ME.node), ("goal",), b"", 1.0, 1)
    machine(ME).encode(kept(old))
    assert old.seal == b""
    assert not signatures


@pytest.mark.parametrize("together", [1, 2, 100, 256])
@pytest.mark.parametrize("size", [0, 100, 1_000])
def test_pieces_have_room_for_the_proofs_that_are_made_when_they_are_told(together: int, size: int) -> None:
    mine, piece_bytes = machine(ME), 8_000
    some = objects(256, bytes(size))
    for first in range(0, len(some), together):
        mine.insert_together(some[first : first + together])
    pieces = list(pieces_of(tuple(some), 256, mine.missing_bytes, piece_bytes))
    assert sum(map(len, pieces)) == len(some)
    assert len(pieces) > 1
    for piece in pieces:
        assert sum(len(PLAIN.encode(kept(one))) for one in piece) < 2 * piece_bytes
        assert len(mine.encode(Notification(KEY, piece))) <= piece_bytes + 60
