"""Objects that were signed together: no proof but its own proves one of them."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from forged_proofs import ForgedProofs
from signatures import signed_together

from thyme.host import MemoryStore
from thyme.live.trust.authenticator import MAX_TREES, SigningAuthenticator
from thyme.live.trust.identity import Identity
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.wire.cells import CellState, Held
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Forged, SigningCodec
from thyme.wire.statements import object_statement
from thyme.wire.storage import Notification

OWNER, FORGER, READER = Identity.new(), Identity.new(), Identity.new()
SIZES = (3, 5, 8, 32, 33, 150)
DRAWS = 500
KINDS = list(ForgedProofs(Random(0), [[Metadata(ObjectKey("o", OWNER.node), (), b"", 0.0, 1)] * 3] * 2, FORGER).kinds)


def reader() -> SigningCodec:
    return SigningCodec(SigningAuthenticator(READER, MemoryStore()))


def batches() -> list[list[Metadata]]:
    codec = SigningCodec(SigningAuthenticator(OWNER, MemoryStore()))
    keys = [[ObjectKey(f"o{size}-{i}", OWNER.node) for i in range(size)] for size in SIZES]
    return [signed_together(codec, [Metadata.of(key, ("goal",), b"", 1.0, b"x") for key in some]) for some in keys]


def saying(told: list[Metadata]) -> list[Message]:
    """To a subscriber, and to a member of a cell that is to keep them."""
    key = SubscriptionKey(1, READER.node)
    return [Notification(key, tuple(told)), CellState(held=tuple(Held(1, one) for one in told))]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_no_forged_proof_is_believed_whatever_was_read_before(kind: str) -> None:
    genuine = batches()
    draw = Random(kind)
    forged = ForgedProofs(draw, genuine, FORGER)
    warm = reader()
    for batch in genuine:
        for message in saying(batch):
            assert warm.decode(PLAIN.encode(message)) == message
    for _ in range(DRAWS):
        batch = draw.choice(genuine)
        told = [*draw.sample(batch, draw.randrange(3)), forged.kinds[kind](draw.choice(batch))]
        draw.shuffle(told)
        for message in saying(told):
            for codec in (warm, reader()):
                with pytest.raises(Forged):
                    codec.decode(PLAIN.encode(message))
    for batch in genuine:
        for message in saying(batch):
            assert warm.decode(PLAIN.encode(message)) == message


def test_what_a_forger_sends_drives_no_tree_out_that_was_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = batches()
    warm = reader()
    for batch in genuine:
        warm.decode(PLAIN.encode(saying(batch)[0]))
    forged = ForgedProofs(Random(1), genuine, FORGER)
    for _ in range(4 * MAX_TREES):
        with pytest.raises(Forged):
            warm.decode(PLAIN.encode(saying(forged.draw()[1])[0]))
    monkeypatch.setattr("thyme.live.trust.authenticator.is_signed", lambda *_: pytest.fail("it was verified again"))
    for batch in genuine:
        assert warm.decode(PLAIN.encode(saying(batch)[0])) == saying(batch)[0]


def test_the_owner_may_say_the_same_twice_in_one_batch() -> None:
    """It is no forgery: two leaves that are the same have two ways to the root, and both prove it."""
    once = Metadata.of(ObjectKey("o", OWNER.node), ("goal",), b"", 1.0, b"x")
    proofs = SigningAuthenticator(OWNER, MemoryStore()).prove_objects([object_statement(once)] * 3)
    told = [msgspec.structs.replace(once, seal=(once.digest + once.proof) + proof) for proof in proofs]
    assert len({(one.digest + one.proof) for one in told}) == 3
    for message in saying(told):
        assert reader().decode(PLAIN.encode(message)) == message
