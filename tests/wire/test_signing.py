"""Messages with the proofs of what they say."""

from __future__ import annotations

import typing
from hashlib import blake2b
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from signatures import signed, signed_together

from thyme.host import MemoryStore
from thyme.live.trust import sodium
from thyme.live.trust.authenticator import KIND, MANY, SigningAuthenticator
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import DataObject, Expiring, Metadata, Replica
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.wire import codec
from thyme.wire.cells import CellState, Deleted, Held, InsertMetadata, Part, Revoked
from thyme.wire.codec import MESSAGES, DecodeError
from thyme.wire.drip import Interest, Registration
from thyme.wire.message import Message
from thyme.wire.proving import PROOF_BYTES
from thyme.wire.server import DeleteRequest
from thyme.wire.signing import CHARGING, PLAIN, Forged, SigningCodec
from thyme.wire.statements import OBJECTS, STATEMENTS, object_statement
from thyme.wire.storage import Notification, Subscribed, Unsubscribed
from thyme.wire.trees import MAX_STEPS, KnownTree, grown, leaf


def machine(identity: Identity, namespace: Namespace | None = None) -> SigningCodec:
    return SigningCodec(SigningAuthenticator(identity, MemoryStore(), namespace))


ME, OTHER = Identity.new(), Identity.new()
KEY = SubscriptionKey(3, ME.node)
SUBSCRIPTION = Subscription.to_query(KEY, parse_query("goal & !replay"), TimeFrame.always())
OBJECT = Metadata.of(ObjectKey("first", ME.node), ("goal",), b"", 1.0, b"content")
STATES = CellState(
    parts=(Part(1, SUBSCRIPTION, 2, 0.0, 0.0),),  # type: ignore[arg-type]
    deleted=(Deleted(1, ObjectKey("gone", ME.node)),),  # type: ignore[arg-type]
    revoked=(Revoked(1, SubscriptionKey(2, ME.node)),),  # type: ignore[arg-type]
)
SAID: list[Message] = [
    Subscribed(SUBSCRIPTION, 10),
    Unsubscribed(KEY, 2.0),
    DeleteRequest(1, ObjectKey("gone", ME.node)),
    Registration(1, Interest(ME.node, 1.0, 2.0, (), (SUBSCRIPTION,))),
    STATES,
]


@pytest.mark.parametrize("message", SAID, ids=lambda message: type(message).__name__)
def test_a_statement_is_believed_and_passed_on_by_whoever_heard_it(message: Message) -> None:
    member, third = machine(OTHER), machine(Identity.new())
    assert member.decode(machine(ME).encode(message)) == message
    assert third.decode(member.encode(message)) == message


@pytest.mark.parametrize("together", [1, 3])
def test_what_is_signed_in_one_namespace_is_not_believed_in_another(together: int) -> None:
    """The same device, with the same key; the member replays it on every path that it may come by."""
    here, there = Namespace.drawn("board"), Namespace.drawn("board")
    author, member, reader = machine(ME, here), machine(OTHER, here), machine(OTHER, there)
    keys = [ObjectKey(f"o{i}", ME.node) for i in range(together)]
    made = [Metadata.of(key, ("goal",), b"", 1.0, b"content") for key in keys]
    author.insert_together(made)
    objects = [InsertMetadata(1, made[0]), CellState(held=tuple(Held(CellId(0), one) for one in made))]
    for message in (*SAID, *objects):
        frame = author.encode(message)
        assert member.decode(frame) == message
        with pytest.raises(Forged):
            reader.decode(frame)


def test_a_changed_secret_leaves_what_was_signed_before_valid() -> None:
    here = Namespace.drawn("board")
    invited = Namespace.invited(here.renewed(b"").renewed(b"").invitation())
    assert invited.number != here.number
    message = Unsubscribed(KEY, 2.0)
    assert machine(OTHER, invited).decode(machine(ME, here).encode(message)) == message


@pytest.mark.parametrize("message", SAID, ids=lambda message: type(message).__name__)
def test_nobody_says_it_in_anothers_name(message: Message) -> None:
    with pytest.raises(Forged):
        machine(Identity.new()).decode(machine(OTHER).encode(message))
    with pytest.raises(Forged):
        machine(Identity.new()).decode(codec.encode(message))


def test_every_changed_byte_of_a_signed_message_is_noticed() -> None:
    frame = machine(ME).encode(DeleteRequest(1, ObjectKey("gone", ME.node)))
    for at in range(len(frame)):
        changed = frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1 :]
        try:
            message = machine(OTHER).decode(changed)
        except DecodeError:
            continue
        assert isinstance(message, DeleteRequest)
        assert message.key == ObjectKey("gone", ME.node)


def test_an_object_is_its_owners_wherever_it_is_kept() -> None:
    sealed = signed(machine(ME), OBJECT)
    kept = msgspec.structs.replace(sealed, replicas=(Replica(OTHER.node, 4),))  # type: ignore[arg-type]
    assert kept.describes(b"content")
    (by_another,) = SigningAuthenticator(OTHER, MemoryStore()).prove_objects([object_statement(OBJECT)])
    for said in (Notification(KEY, (kept,)), CellState(held=(Held(1, kept),), objects=(DataObject(kept, b""),))):  # type: ignore[arg-type]
        assert machine(OTHER).decode(machine(OTHER).encode(said)) == said
    for forged in (
        OBJECT,
        msgspec.structs.replace(OBJECT, seal=(OBJECT.digest + OBJECT.proof) + by_another),
        msgspec.structs.replace(sealed, published_s=2.0),
        msgspec.structs.replace(sealed, tags=("goal", "own")),
        msgspec.structs.replace(sealed, key=ObjectKey("second", ME.node)),
        msgspec.structs.replace(sealed, key=ObjectKey("first", OTHER.node)),
        msgspec.structs.replace(sealed, seal=bytes(32) + sealed.proof),
        msgspec.structs.replace(sealed, seal=Expiring(sealed.digest + sealed.proof, 5.0)),
    ):
        with pytest.raises(Forged):
            machine(OTHER).decode(codec.encode(Notification(KEY, (forged,))))


def test_when_an_object_expires_is_signed() -> None:
    brief = Metadata.of(OBJECT.key, OBJECT.tags, b"", 1.0, b"content", expires_s=5.0)
    said = machine(ME).encode(Notification(KEY, (brief,)))
    assert machine(OTHER).decode(said).matches[0].expires_s == 5.0  # type: ignore[attr-defined]
    for seal in (Expiring(brief.digest + brief.proof, 6.0), brief.digest + brief.proof):
        with pytest.raises(Forged):
            machine(OTHER).decode(codec.encode(Notification(KEY, (msgspec.structs.replace(brief, seal=seal),))))


def test_an_owner_who_surely_speaks_itself_is_believed_by_a_subscriber_but_by_nobody_who_passes_it_on() -> None:
    notified = Notification(KEY, (OBJECT,))  # without a proof
    kept = CellState(held=(Held(1, OBJECT),))  # type: ignore[arg-type]
    reader = machine(OTHER)
    for speaker, message in ((None, notified), (OTHER.node, notified), (ME.node, kept)):
        reader.speaker = speaker
        with pytest.raises(Forged):
            reader.decode(PLAIN.encode(message))
    reader.speaker = ME.node
    assert reader.decode(PLAIN.encode(notified)) == notified


def test_a_node_does_not_verify_what_it_signed_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = machine(ME)
    notified = Notification(KEY, (signed(mine, OBJECT),))
    monkeypatch.setattr("thyme.live.trust.authenticator.is_signed", lambda *_: pytest.fail("it was verified"))
    assert mine.decode(mine.encode(notified)) == notified


@pytest.mark.parametrize("forged", [0, 7, MANY])
def test_one_false_proof_among_many_is_noticed_and_nothing_of_them_is_remembered(forged: int) -> None:
    mine, other = machine(ME), machine(OTHER)
    objects = [signed(mine, msgspec.structs.replace(OBJECT, key=ObjectKey(f"o{i}", ME.node))) for i in range(MANY + 1)]
    false = [*objects]
    false[forged] = msgspec.structs.replace(objects[forged], published_s=2.0)
    for _ in range(2):
        with pytest.raises(Forged):
            other.decode(PLAIN.encode(Notification(KEY, tuple(false))))
    assert other.decode(PLAIN.encode(Notification(KEY, tuple(objects)))) == Notification(KEY, tuple(objects))


def named(number: int) -> Metadata:
    return msgspec.structs.replace(OBJECT, key=ObjectKey(f"o{number}", ME.node))


@pytest.mark.parametrize("number", [1, 2, 5, 32])
def test_objects_that_are_signed_together_are_proved_each_by_itself(number: int) -> None:
    sealed = signed_together(machine(ME), [named(i) for i in range(number)])
    for metadata in sealed:
        notified = Notification(KEY, (metadata,))
        assert machine(OTHER).decode(PLAIN.encode(notified)) == notified
    steps = max(0, number - 1).bit_length()
    assert {len(metadata.proof) for metadata in sealed} == {PROOF_BYTES + (1 + 16 * steps if number > 1 else 0)}


def test_of_objects_that_were_signed_together_one_signature_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[bytes] = []

    def is_signed(public: bytes, said: bytes, signature: bytes) -> bool:
        verified.append(said)
        return sodium.is_signed(public, said, signature)

    monkeypatch.setattr("thyme.live.trust.authenticator.is_signed", is_signed)
    mine, other = machine(ME), machine(OTHER)
    sealed = signed_together(mine, [named(i) for i in range(20)])
    for some in (sealed[:7], sealed[7:]):
        other.decode(PLAIN.encode(Notification(KEY, tuple(some))))
    mine.decode(PLAIN.encode(Notification(KEY, tuple(sealed))))
    assert len(verified) == 1


def test_no_way_leads_from_another_object_to_what_was_signed() -> None:
    first, second, third = signed_together(machine(ME), [named(i) for i in range(3)])
    alone = signed(machine(ME), named(4))
    root = blake2b(leaf(object_statement(named(0)).said), digest_size=16).digest()
    for forged in (
        msgspec.structs.replace(first, seal=(second.digest + second.proof)),
        msgspec.structs.replace(first, seal=first.digest + first.proof[:PROOF_BYTES]),
        msgspec.structs.replace(first, seal=(first.digest + first.proof)[:-16]),
        msgspec.structs.replace(first, seal=(first.digest + first.proof) + bytes(16)),
        msgspec.structs.replace(first, seal=(first.digest + first.proof) + b"x"),
        msgspec.structs.replace(first, seal=first.digest + first.proof[:PROOF_BYTES] + b"\x01" + first.proof[97:]),
        msgspec.structs.replace(first, summary=b"another"),
        msgspec.structs.replace(first, key=ObjectKey("o0", OTHER.node)),
        msgspec.structs.replace(third, tags=("goal", "own")),
        msgspec.structs.replace(alone, seal=(alone.digest + alone.proof) + b"\0"),
        msgspec.structs.replace(alone, seal=(alone.digest + alone.proof) + b"\0" + root),
        msgspec.structs.replace(first, seal=first.digest + first.proof * 40),
    ):
        reader = machine(OTHER)
        reader.decode(PLAIN.encode(Notification(KEY, (first, second, third, alone))))
        with pytest.raises(Forged):
            reader.decode(PLAIN.encode(Notification(KEY, (forged,))))


def root_by(hashed: bytes, way: bytes) -> bytes | None:
    """Where a way leads from a leaf, step by step; None if it is no way."""
    steps = [way[at : at + 16] for at in range(1, len(way), 16)]
    if len(way) % 16 != 1 or len(steps) > MAX_STEPS or way[0] >= 2 ** len(steps):
        return None
    for i, beside in enumerate(steps):
        both = beside + hashed if way[0] >> i & 1 else hashed + beside
        hashed = blake2b(both, digest_size=16, person=b"thyme within").digest()
    return hashed


@pytest.mark.parametrize("number", [1, 2, 3, 31, 32, 100, 256])
def test_a_tree_is_known_by_the_first_way_that_is_seen(number: int) -> None:
    leaves = [leaf(bytes([i])) for i in range(number)]
    root, ways = grown(leaves)
    for first in (0, number // 2, number - 1):
        tree = KnownTree.by(7, leaves[first], ways[first])
        assert tree is not None
        assert tree.root == root == root_by(leaves[first], ways[first])
        assert all(tree.leads(7, one, way) for one, way in zip(leaves, ways, strict=True))
    for wrong in (b"", ways[0][:-1], ways[0] + b"x", ways[0] + bytes(16 * (MAX_STEPS + 1)), b"\x80" + ways[0][1:17]):
        assert KnownTree.by(7, leaves[0], wrong) is None


def test_a_way_belongs_to_its_leaf_and_its_side() -> None:
    leaves = [leaf(bytes([i])) for i in range(11)]
    root, ways = grown(leaves)
    assert [root_by(one, way) for one, way in zip(leaves, ways, strict=True)] == [root] * 11
    for i, way in enumerate(ways):
        assert all(root_by(other, way) != root for other in leaves if other != leaves[i])
        for at in range(len(way)):
            changed = way[:at] + bytes([way[at] ^ 1]) + way[at + 1 :]
            assert root_by(leaves[i], changed) != root


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_a_known_tree_has_the_ways_that_lead_to_its_root_and_no_others(number: int, chance: Random) -> None:
    leaves = [leaf(bytes([i])) for i in range(number)]
    root, ways = grown(leaves)
    tree = KnownTree(7, root, len(ways[0]) // 16)
    for _ in range(3 * number):
        place, other = chance.randrange(number), chance.randrange(number)
        way = ways[chance.choice([place, place, other])]
        at = chance.randrange(len(way))
        if chance.random() < 0.3:
            way = way[:at] + bytes([way[at] ^ (1 << chance.randrange(8))]) + way[at + 1 :]
        assert tree.leads(7, leaves[place], way) == (root_by(leaves[place], way) == root)
        assert not tree.leads(8, leaves[place], ways[place])
        assert not tree.leads(7, leaves[place], ways[place] + bytes(16))


def test_what_was_believed_is_still_proved_after_a_restart() -> None:
    store = MemoryStore()
    member = SigningCodec(SigningAuthenticator(OTHER, store))
    member.decode(machine(ME).encode(Subscribed(SUBSCRIPTION, 10)))
    again = SigningCodec(SigningAuthenticator(OTHER, store))
    assert machine(ME).decode(again.encode(Subscribed(SUBSCRIPTION, 0))) == Subscribed(SUBSCRIPTION, 0)
    assert len(list(store.items(KIND))) == 1


def test_proofs_of_ones_own_numbers_by_hand_are_believed_too() -> None:
    by_hand = Unsubscribed(SubscriptionKey(1, NodeId(7)), 0.0)
    assert machine(ME).decode(machine(Identity.given(7)).encode(by_hand)) == by_hand
    with pytest.raises(Forged):
        machine(ME).decode(machine(Identity.given(8)).encode(by_hand))


def test_the_simulator_charges_what_live_nodes_send() -> None:
    for message in SAID:
        assert len(CHARGING.encode(message)) == len(machine(ME).encode(message))
        assert PLAIN.encode(message) == codec.encode(message)
        assert CHARGING.decode(CHARGING.encode(message)) == message
    assert len(signed(CHARGING, OBJECT).proof) == len(signed(machine(ME), OBJECT).proof) == PROOF_BYTES
    assert signed(PLAIN, OBJECT) == OBJECT
    for number in (2, 5, 64, 150):
        one, other = ([named(i) for i in range(number)] for _ in range(2))
        kept, as_kept = (CellState(held=tuple(Held(1, m) for m in some)) for some in (one, other))  # type: ignore[arg-type]
        assert len(CHARGING.encode(kept)) == len(machine(ME).encode(as_kept))
        assert CHARGING.decode(CHARGING.encode(kept)) == kept


def _mentions(kind: object, wanted: type) -> bool:
    if kind is wanted:
        return True
    inside = typing.get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        inside = tuple(typing.get_type_hints(kind).values())
    return any(_mentions(one, wanted) for one in inside)


def test_no_message_tells_of_objects_that_nobody_looks_at() -> None:
    unlooked = [m.__name__ for m in MESSAGES if _mentions(m, Metadata) and m not in OBJECTS]
    assert unlooked == []


def test_no_message_carries_a_subscription_that_nobody_looks_at() -> None:
    """These ask for what matches, and change nothing."""
    unlooked = [m.__name__ for m in MESSAGES if _mentions(m, Subscription) and m not in STATEMENTS]
    assert sorted(unlooked) == ["Compare", "MoreRequest"]
