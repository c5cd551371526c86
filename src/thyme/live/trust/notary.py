"""The notary of a live node: signs what the node says, and believes what others signed.

A proof is a public key and a signature by it. The author's number derives from the key (`identity`), so a proof needs
no directory. What was verified is remembered by a digest, and not verified again. The proofs of subscriptions, their
ends and deletions are kept in the node's store, for whoever hears of them later; those of objects are in the objects.
"""

from __future__ import annotations

from hashlib import blake2b

from thyme.host import Store
from thyme.live.trust.identity import PUBLIC_BYTES, Identity, belongs, is_signed
from thyme.model.bounded import Bounded
from thyme.wire.signing import PROOF_BYTES
from thyme.wire.statements import Statement

KIND = "proof"
MAX_KEPT = 200_000
"""Proofs in the store: those of all deletions that are remembered, and as many others; the oldest makes room."""
MAX_VERIFIED = 100_000
CONTEXT = b"thyme statement 1\0"
"""What signatures are made over begins with this, so that none of them can be taken for something else."""


class Notary:
    def __init__(self, identity: Identity, store: Store) -> None:
        self._identity = identity
        self._store = store
        self._verified: Bounded[bytes, None] = Bounded(MAX_VERIFIED)
        self._kept: Bounded[str, None] = Bounded(MAX_KEPT, parting=lambda name, _: store.remove(KIND, name))
        for name, _ in store.items(KIND):
            self._kept[name] = None

    def prove(self, statement: Statement) -> bytes:
        if statement.is_object:
            return self._proof(statement)
        name = _name(statement)
        if kept := self._store.get(KIND, name):
            return kept
        if statement.author != self._identity.node:
            return b""
        proof = self._proof(statement)
        self._keep(name, proof)
        return proof

    def _proof(self, statement: Statement) -> bytes:
        said = _signed_bytes(statement)
        proof = self._identity.public + self._identity.sign(said)
        self._verified[_digest(proof, said)] = None  # it comes back, from one's own cell if from nowhere else
        return proof

    def believe(self, statement: Statement, proof: bytes) -> bool:
        said = _signed_bytes(statement)
        digest = _digest(proof, said)
        if digest in self._verified:
            return True
        if len(proof) != PROOF_BYTES:
            return False
        public, signature = proof[:PUBLIC_BYTES], proof[PUBLIC_BYTES:]
        if not belongs(statement.author, public) or not is_signed(public, said, signature):
            return False
        self._verified[digest] = None
        if not statement.is_object:
            self._keep(_name(statement), proof)
        return True

    def _keep(self, name: str, proof: bytes) -> None:
        if name not in self._kept:
            self._kept[name] = None
            self._store.put(KIND, name, proof)


def _signed_bytes(statement: Statement) -> bytes:
    return CONTEXT + statement.author.to_bytes(8, "big", signed=True) + statement.said


def _digest(proof: bytes, said: bytes) -> bytes:
    return blake2b(proof + said, digest_size=16).digest()


def _name(statement: Statement) -> str:
    return blake2b(_signed_bytes(statement), digest_size=16).hexdigest()
