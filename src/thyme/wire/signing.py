"""Signing: messages with the proofs of what they say.

A machine that signs has a `Notary`, who proves this node's own statements and judges others'. A message is encoded with
the proof of each statement in it: one's own, made then, or the one that came with it, since whoever believed a
statement keeps its proof for those who hear of it later. A message with a statement that is not proved cannot be read.
So what is signed is verified once, where it is first acted on, however many members passed it on. An object that its
owner itself tells a subscriber needs no signature where the link knows who speaks: it goes no further (`LAST`). So an
object is signed when it is first told to anybody else (`proving`).

A signed message has another version byte, the length of its proofs, the proofs in the order of the statements, and the
message. Where nothing is signed, and in messages without statements, the bytes are those of `codec`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol as Interface

from thyme.model.chunks import DIGEST_BYTES
from thyme.model.ids import NodeId
from thyme.model.objects import Metadata
from thyme.wire import codec
from thyme.wire.codec import DecodeError, FrameTooLarge
from thyme.wire.message import Message
from thyme.wire.proving import MOST_PROOF_BYTES, PROOF_BYTES, Notary, Proving, lacks_proof
from thyme.wire.statements import LAST, OBJECTS, STATEMENTS, Statement, object_statement
from thyme.wire.trees import HASH_BYTES, MOST

SIGNED_VERSION = 2
_SIGNED = bytes([SIGNED_VERSION])
MAX_STATEMENTS = 512
"""In one message: more than any message has whose statements fit a frame with their proofs."""
_LENGTH_BYTES = 2


class Forged(DecodeError):
    """The message says something that its author did not sign."""


class Codec(Interface):
    """How a machine turns messages into bytes and back; what cannot be read or believed is a DecodeError."""

    speaker: NodeId | None
    """The neighbour that surely said what is being read; the link that knows says so."""
    checked: int
    """How many signatures have been verified so far, or tried to: asked for with every frame."""

    @property
    def signs(self) -> bool:
        """Whether what is said has proofs."""

    def encode(self, message: Message) -> bytes:
        """For whoever gets it, on whatever way."""

    def encode_for_neighbour(self, message: Message) -> bytes:
        """For one whom it reaches from this node itself, by a frame to it alone."""

    def decode(self, frame: bytes) -> Message: ...
    def insert_together(self, objects: Sequence[Metadata]) -> None:
        """Objects of this node's own that are about to be inserted: if one is to be signed, all are."""

    def missing_bytes(self, metadata: Metadata) -> int:
        """What is still to be added to an object before others see it, at most."""


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

    def __init__(self, notary: Notary) -> None:
        self.speaker: NodeId | None = None
        self.checked = 0
        self._notary = notary
        self._proving = Proving(notary)
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
        proofs = b"".join(self._notary.prove(statement).ljust(PROOF_BYTES, b"\0") for statement in statements(message))
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
            said = [
                (object_statement(m), m.seal[DIGEST_BYTES:]) for m in OBJECTS[kind](message) if m.key.owner != vouched
            ]
            if said and not self._believe(said):
                raise Forged("an object that its owner did not sign")
        return message

    def missing_bytes(self, metadata: Metadata) -> int:
        return MOST_PROOF_BYTES if lacks_proof(metadata) else 0

    def _believe(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        believed = self._notary.believe(said)
        self.checked = self._notary.checked
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
    """A simulated notary: proofs take their room, and everybody is believed."""

    checked = 0

    def speaks_for(self, node: NodeId) -> bool:
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

    def believe(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        """What has no proof was said by its owner itself."""
        return all(not proof or len(proof) >= PROOF_BYTES for _, proof in said)


PLAIN = PlainCodec()
CHARGING = SigningCodec(Charging())
