"""Signing: messages with the proofs of what they say.

A signing host has an `Authenticator`, which proves this node's own statements and verifies those of others. A message
is encoded with the proof of each statement in it: a new one for an own statement, else the one that it came with. A
message with a statement that has no valid proof is not decoded. So a statement is verified once by each node that acts
on it, however many nodes forwarded it. An object that its owner sends directly to a subscriber needs no signature where
the link identifies the sender, since it goes no further (`LAST`); it is signed when it is first sent to any other node
(`proving`).

A signed message has another version byte, the length of its proofs, the proofs in the order of the statements, and the
message. Where nothing is signed, and in messages without statements, the bytes are those of `codec`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol as Interface

from thyme.model.ids import NodeId
from thyme.model.objects import Metadata
from thyme.wire import codec
from thyme.wire.codec import DecodeError, FrameTooLarge
from thyme.wire.message import Message
from thyme.wire.proving import MOST_PROOF_BYTES, PROOF_BYTES, Authenticator, Proving, lacks_proof
from thyme.wire.statements import LAST, OBJECTS, STATEMENTS, Statement, object_statement
from thyme.wire.trees import HASH_BYTES, MOST

SIGNED_VERSION = 2
_SIGNED = bytes([SIGNED_VERSION])
MAX_STATEMENTS = 512
"""In one message: more than any message has whose statements fit a frame with their proofs."""
_LENGTH_BYTES = 2


class Forged(DecodeError):
    """The message holds a statement without a valid signature of its author."""


class Codec(Interface):
    """How a host encodes and decodes messages; DecodeError for bytes that are no message or have no valid proof."""

    speaker: NodeId | None
    """The authenticated sender of the frame that is being decoded, set by the link."""
    checked: int
    """How many signatures have been checked so far."""

    @property
    def signs(self) -> bool:
        """Whether messages carry proofs."""

    def encode(self, message: Message) -> bytes:
        """For any receiver, over any number of hops."""

    def encode_for_neighbour(self, message: Message) -> bytes:
        """For a neighbour that gets it from this node directly, by unicast."""

    def decode(self, frame: bytes) -> Message: ...
    def insert_together(self, objects: Sequence[Metadata]) -> None:
        """Own objects that are inserted together: they are signed together."""

    def missing_bytes(self, metadata: Metadata) -> int:
        """The size of the proof that is still to be added to an object, at most."""


class PlainCodec:
    """Nothing is signed."""

    signs = False

    def __init__(self) -> None:
        self.speaker: NodeId | None = None
        self.checked = 0
        self.encode = self.encode_for_neighbour = codec.encode
        self.decode = codec.decode

    def insert_together(self, objects: Sequence[Metadata]) -> None:
        """None of them will be signed."""

    def missing_bytes(self, metadata: Metadata) -> int:
        return 0


class SigningCodec:
    signs = True

    def __init__(self, authenticator: Authenticator) -> None:
        self.speaker: NodeId | None = None
        self.checked = 0
        self._authenticator = authenticator
        self._proving = Proving(authenticator)
        self.insert_together = self._proving.introduce

    def encode_for_neighbour(self, message: Message) -> bytes:
        return codec.encode(message) if type(message) in LAST else self.encode(message)

    def encode(self, message: Message) -> bytes:
        kind = type(message)
        if kind in OBJECTS:
            self._proving.prove(OBJECTS[kind](message))
        frame = codec.encode(message)
        statements = STATEMENTS.get(kind)
        if statements is None:
            return frame
        proofs = b"".join(
            self._authenticator.prove(statement).ljust(PROOF_BYTES, b"\0") for statement in statements(message)
        )
        if not proofs:
            return frame
        if len(frame) + len(proofs) > codec.MAX_FRAME_BYTES:
            raise FrameTooLarge(f"{type(message).__name__} takes {len(frame)} bytes and its proofs {len(proofs)}")
        return _SIGNED + len(proofs).to_bytes(_LENGTH_BYTES, "big") + proofs + frame

    def decode(self, frame: bytes) -> Message:
        proofs = b""
        if frame.startswith(_SIGNED):
            proofs, frame = split_proofs(frame)
        message = codec.decode(frame)
        kind = type(message)
        if kind in STATEMENTS:
            self._check_statements(message, proofs)
        if kind in OBJECTS:
            vouched = self.speaker if kind in LAST else None
            said = [(object_statement(m), m.proof) for m in OBJECTS[kind](message) if m.key.owner != vouched]
            if said and not self._believe(said):
                raise Forged("an object that its owner did not sign")
        return message

    def missing_bytes(self, metadata: Metadata) -> int:
        return MOST_PROOF_BYTES if lacks_proof(metadata) else 0

    def _believe(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        believed = self._authenticator.verify(said)
        self.checked = self._authenticator.checked
        return believed

    def _check_statements(self, message: Message, proofs: bytes) -> None:
        statements = list(STATEMENTS[type(message)](message))
        if len(proofs) != PROOF_BYTES * len(statements) or len(statements) > MAX_STATEMENTS:
            raise Forged("a statement without a proof")
        said = [(one, proofs[i * PROOF_BYTES : (i + 1) * PROOF_BYTES]) for i, one in enumerate(statements)]
        if not self._believe(said):
            raise Forged("a statement that its author did not sign")


def split_proofs(frame: bytes) -> tuple[bytes, bytes]:
    """The proofs of a message, if it has any, and the message itself."""
    if not frame.startswith(_SIGNED):
        return b"", frame
    begins = 1 + _LENGTH_BYTES
    ends = begins + int.from_bytes(frame[1:begins], "big")
    return frame[begins:ends], frame[ends:]


class Charging:
    """A simulated authenticator: proofs have their true size and are always valid."""

    checked = 0

    def has_key_of(self, node: NodeId) -> bool:
        return True

    def prove(self, statement: Statement) -> bytes:
        return bytes(PROOF_BYTES)

    def prove_objects(self, objects: Sequence[Statement]) -> list[bytes]:
        proofs: list[bytes] = []
        for first in range(0, len(objects), MOST):
            some = len(objects[first : first + MOST])
            way_bytes = 1 + HASH_BYTES * (some - 1).bit_length() if len(objects) > 1 else 0
            proofs += [bytes(PROOF_BYTES + way_bytes)] * some
        return proofs

    def verify(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        """A statement without a proof came from its owner directly."""
        return all(not proof or len(proof) >= PROOF_BYTES for _, proof in said)


PLAIN = PlainCodec()
CHARGING = SigningCodec(Charging())
