"""Proofs of a node's own objects, made when somebody first needs one.

A neighbour whom an owner itself tells of its object knows from the link who speaks, and most objects are told to nobody
else. So an object is signed when it is first told to somebody who could not know: a member of a cell that is to keep
it, a broker, a subscriber some hops away. Those that were inserted together are then signed together, whichever of them
is needed first, by one signature with a way to it for each (`trees`); and so are the others of one message.

The proof is put into the object where it lies, and nothing else is ever changed in one. A copy that was made before, or
comes back from the store, is without it, and gets it when it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol as Interface

import msgspec

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
"""The same with the way to what was signed."""
MAX_COMPANY = 4_096
"""Objects of which is remembered with which others they were inserted; beyond, those of one message are signed
together …"""
MAX_PROOFS = 4_096
"""… and proofs that were made because another object's was needed; beyond, one is made again."""


class Notary(Interface):
    """Proves and judges. Its memory of proofs is its own matter."""

    checked: int
    """How many signatures it has verified so far, or tried to."""

    def speaks_for(self, node: NodeId) -> bool:
        """Whether what this node says can be proved here."""

    def prove(self, statement: Statement) -> bytes:
        """The proof of this node's own statement, or of another's that was believed; nothing if there is none."""

    def prove_objects(self, objects: Sequence[Statement]) -> list[bytes]:
        """Proofs of some of this node's own objects, by as few signatures as possible."""

    def believe(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        """Whether the authors of all these statements said so, by the proof of each; proofs are kept for those who
        hear of it later."""


def lacks_proof(metadata: Metadata) -> bool:
    """An object without a digest, of a version that had none, can have no proof."""
    return len(metadata.seal) == DIGEST_BYTES


class Proving:
    def __init__(self, notary: Notary) -> None:
        self._notary = notary
        self._company: Bounded[ObjectKey, Sequence[Metadata]] = Bounded(MAX_COMPANY)
        """Those that are not signed yet, with all that were inserted together with each."""
        self._proofs: Bounded[bytes, bytes] = Bounded(MAX_PROOFS)
        """By what they prove."""

    def introduce(self, objects: Sequence[Metadata]) -> None:
        """They are about to be inserted together."""
        for metadata in objects:
            self._company[metadata.key] = objects

    def prove(self, objects: Iterable[Metadata]) -> None:
        """Put the proof into each of this node's own that has none."""
        mine = self._notary.speaks_for
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
                msgspec.structs.force_setattr(metadata, "seal", metadata.seal + proofs[statement.said])

    def _proofs_of_company(self, key: ObjectKey) -> dict[bytes, bytes]:
        """Those of all that were inserted together with an object, unless they were made before. What was drafted under
        its name may be something else, which was refused."""
        company = self._company.get(key, ())
        for metadata in company:
            self._company.pop(metadata.key, None)
        proofs = self._signed([object_statement(metadata) for metadata in company])
        for said, proof in proofs.items():
            self._proofs[said] = proof
        return proofs

    def _signed(self, statements: Sequence[Statement]) -> dict[bytes, bytes]:
        made = self._notary.prove_objects(statements) if statements else ()
        return {statement.said: proof for statement, proof in zip(statements, made, strict=True)}
