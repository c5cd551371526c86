"""Proofs of a node's own objects, made when somebody first needs one.

A neighbour that gets an object from its owner knows the sender from the link, and most objects go no further. So an
object is signed when it is first sent to a node that cannot know the owner this way: a member of a cell that stores it,
a broker, a subscriber some hops away. Objects that were inserted together are then signed together, by one signature
over a hash tree, with a path to its root for each (`trees`); and so are the other objects of one message.

The proof is written into the metadata in memory; nothing else in it ever changes. A copy that was made before, or is
read from the store, lacks the proof and gets it when it is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol as Interface

from thyme.model.bounded import Bounded
from thyme.model.chunks import DIGEST_BYTES
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.wire.statements import Statement, object_statement
from thyme.wire.trees import HASH_BYTES, MAX_STEPS

PUBLIC_BYTES, SIGNATURE_BYTES = 32, 64
PROOF_BYTES = PUBLIC_BYTES + SIGNATURE_BYTES
"""A public key, and a signature by it."""
MOST_PROOF_BYTES = PROOF_BYTES + 1 + MAX_STEPS * HASH_BYTES
"""The same, with the path to the signed root."""
MAX_COMPANY = 4_096
"""Objects for which is remembered which others were inserted with them. Beyond that, only the objects of one message
are signed together."""
MAX_PROOFS = 4_096
"""Proofs that were made together with another object's and are kept until they are needed."""


class Authenticator(Interface):
    """Makes and verifies proofs."""

    checked: int
    """How many signatures it has verified so far, or tried to."""

    def has_key_of(self, node: NodeId) -> bool:
        """Whether this authenticator has the key of this node."""

    def prove(self, statement: Statement) -> bytes:
        """The proof of this node's own statement, or of another node's that was verified; empty if there is none."""

    def prove_objects(self, objects: Sequence[Statement]) -> list[bytes]:
        """Proofs of some of this node's own objects, by as few signatures as possible."""

    def verify(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        """Whether all these statements have valid proofs by their authors; the proofs are kept, to be sent on with the
        statements."""


def lacks_proof(metadata: Metadata) -> bool:
    """An object without a digest, of a version that had none, can have no proof."""
    return len(metadata.digest) == DIGEST_BYTES and not metadata.proof


class Proving:
    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._company: Bounded[ObjectKey, Sequence[Metadata]] = Bounded(MAX_COMPANY)
        """Those that are not signed yet, with all that were inserted together with each."""
        self._proofs: Bounded[bytes, bytes] = Bounded(MAX_PROOFS)
        """By what they prove."""

    def introduce(self, objects: Sequence[Metadata]) -> None:
        """These objects are inserted together."""
        for metadata in objects:
            self._company[metadata.key] = objects

    def prove(self, objects: Iterable[Metadata]) -> None:
        """Add the proof to each of this node's own objects that has none."""
        mine = self._authenticator.has_key_of
        lacking = [(one, object_statement(one)) for one in objects if lacks_proof(one) and mine(one.key.owner)]
        if not lacking:
            return
        proofs: dict[bytes, bytes] = {}
        alone: dict[bytes, Statement] = {}
        for metadata, statement in lacking:
            said = statement.said
            if said in proofs or said in alone:
                continue
            if known := self._proofs.get(said) or self._proofs_of_company(metadata.key).get(said):
                proofs[said] = known
            else:
                alone[said] = statement
        proofs |= self._signed(list(alone.values()))
        for metadata, statement in lacking:
            if lacks_proof(metadata):  # a message may tell of one twice
                metadata.add_proof(proofs[statement.said])

    def _proofs_of_company(self, key: ObjectKey) -> dict[bytes, bytes]:
        """Proofs of all objects that were inserted together with this one, unless they were made before. An object that
        was refused may have had this key, with another content."""
        company = self._company.get(key, ())
        for metadata in company:
            self._company.pop(metadata.key, None)
        proofs = self._signed([object_statement(metadata) for metadata in company])
        for said, proof in proofs.items():
            self._proofs[said] = proof
        return proofs

    def _signed(self, statements: Sequence[Statement]) -> dict[bytes, bytes]:
        made = self._authenticator.prove_objects(statements) if statements else ()
        return {statement.said: proof for statement, proof in zip(statements, made, strict=True)}
