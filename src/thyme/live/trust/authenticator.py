"""The authenticator of a live node: signs this node's statements, and verifies those of others.

A proof is a public key and a signature by it; where several objects were signed together, followed by the path to what
was signed (`trees`). The author's number derives from the key (`identity`), so a proof needs no directory. A signature
covers the namespace, the author, the purpose of the statement and its contents: a device has one key in all its
namespaces, and what it says in one must not be accepted in another. A verified proof is cached by its digest and not
verified again; objects that were signed together need one verification. The proofs of subscriptions, their ends and
deletions are kept in the node's store, for nodes that learn of them later; those of objects are in the objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

from thyme.host import Store
from thyme.live.trust.identity import Identity, belongs
from thyme.live.trust.namespaces import Namespace
from thyme.live.trust.sodium import PUBLIC_BYTES, is_signed
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.wire.proving import PROOF_BYTES
from thyme.wire.statements import Statement
from thyme.wire.trees import MOST, KnownTree, grown, leaf

KIND = "proof"
MAX_KEPT = 200_000
"""Proofs in the store: those of all deletions that are remembered, and as many others; the oldest makes room."""
MAX_VERIFIED = 100_000
MAX_TREES = 64
"""Of objects that were signed together; one of 128 takes 54 kB, and none over 115 kB. Of one that is met again later,
the signature is still known."""
MANY = 16
"""Signatures in one message that are worth sharing among cores."""
CORES = min(8, os.cpu_count() or 1)
CONTEXT = b"thyme statement 2\0"
"""Signed bytes begin with this, so that a signature cannot be taken for one of something else …"""
TOGETHER = b"thyme statements 2\0"
"""… or with this, if it is the root of several statements."""


_Claim = tuple[bytes, bytes, bytes]
"""A public key, what was said, and its signature by that key."""


class SigningAuthenticator:
    def __init__(self, identity: Identity, store: Store, namespace: Namespace | None = None) -> None:
        self._identity = identity
        self._namespace = (namespace or Namespace.open()).context
        self._store = store
        self.checked = 0
        self._verified: Bounded[bytes, None] = Bounded(MAX_VERIFIED)
        self._trees: Bounded[bytes, KnownTree] = Bounded(MAX_TREES)
        """By the signature of each, which was verified."""
        self._threads: ThreadPoolExecutor | None = None
        self._kept: Bounded[str, None] = Bounded(MAX_KEPT, parting=lambda name, _: store.remove(KIND, name))
        for name, _ in store.items(KIND):
            self._kept[name] = None

    def has_key_of(self, node: NodeId) -> bool:
        return node == self._identity.node

    def prove(self, statement: Statement) -> bytes:
        name = self._name(statement)
        if kept := self._store.get(KIND, name):
            return kept
        if statement.author != self._identity.node:
            return b""
        proof = self._proof(statement)
        self._keep(name, proof)
        return proof

    def _proof(self, statement: Statement) -> bytes:
        said = self._signed_bytes(statement)
        proof = self._identity.public + self._identity.sign(said)
        self._verified[_digest(proof, said)] = None  # it comes back, from one's own cell if from nowhere else
        return proof

    def prove_objects(self, objects: Sequence[Statement]) -> list[bytes]:
        if len(objects) == 1:
            return [self._proof(objects[0])]
        proofs: list[bytes] = []
        for first in range(0, len(objects), MOST):
            some = objects[first : first + MOST]
            root, ways = grown([leaf(statement.said) for statement in some])
            text = root_bytes(self._namespace, some[0].author, root)
            proof = self._identity.public + self._identity.sign(text)
            self._verified[_digest(proof, text)] = None
            proofs += [proof + way for way in ways]
        return proofs

    def verify(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        claims: dict[bytes, _Claim] = {}
        trees: dict[bytes, KnownTree] = {}
        last, tree = b"", None
        for statement, proof in said:
            author, signed, way = statement.author, proof[:PROOF_BYTES], proof[PROOF_BYTES:]
            if len(signed) != PROOF_BYTES or (way and not statement.is_object):
                return False
            if not way:
                if not self._claim(author, signed, self._signed_bytes(statement), claims):
                    return False
                continue
            hashed = leaf(statement.said)
            if signed != last:
                last, tree = signed, self._trees.get(signed) or trees.get(signed)
            if tree is None:
                tree = KnownTree.by(author, hashed, way)
                if tree is None or not self._claim(
                    author, signed, root_bytes(self._namespace, author, tree.root), claims
                ):
                    return False
                trees[signed] = tree
            elif not tree.leads(author, hashed, way):
                return False
        if not self._are_signed(list(claims.values())):
            return False
        for digest in claims:
            self._verified[digest] = None
        for signed, tree in trees.items():
            self._trees[signed] = tree
        for statement, proof in said if claims else ():
            if not statement.is_object:
                self._keep(self._name(statement), proof)
        return True

    def _claim(self, author: NodeId, signed: bytes, text: bytes, claims: dict[bytes, _Claim]) -> bool:
        """Add what has to be verified, unless it was; False if the key is not the author's."""
        digest = _digest(signed, text)
        if digest not in self._verified and digest not in claims:
            public = signed[:PUBLIC_BYTES]
            if not belongs(author, public):
                return False
            claims[digest] = (public, text, signed[PUBLIC_BYTES:])
        return True

    def _are_signed(self, claims: list[_Claim]) -> bool:
        """Many are shared among all cores: a signature is verified without the interpreter."""
        self.checked += len(claims)
        if len(claims) < MANY or CORES < 2:
            return _all_signed(claims)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(CORES - 1, thread_name_prefix="authenticator")
        shares = [claims[i::CORES] for i in range(CORES)]
        others = [self._threads.submit(_all_signed, share) for share in shares[1:]]
        mine = _all_signed(shares[0])
        theirs = [other.result() for other in others]
        return mine and all(theirs)

    def _signed_bytes(self, statement: Statement) -> bytes:
        return CONTEXT + self._namespace + statement.author.to_bytes(8, "big", signed=True) + statement.said

    def _name(self, statement: Statement) -> str:
        return blake2b(self._signed_bytes(statement), digest_size=16).hexdigest()

    def _keep(self, name: str, proof: bytes) -> None:
        if name not in self._kept:
            self._kept[name] = None
            self._store.put(KIND, name, proof)


def _all_signed(claims: Iterable[_Claim]) -> bool:
    return all(is_signed(public, text, signature) for public, text, signature in claims)


def root_bytes(namespace: bytes, author: NodeId, root: bytes) -> bytes:
    """What is signed for several objects of an author."""
    return TOGETHER + namespace + author.to_bytes(8, "big", signed=True) + root


def _digest(proof: bytes, said: bytes) -> bytes:
    return blake2b(proof + said, digest_size=16).digest()
