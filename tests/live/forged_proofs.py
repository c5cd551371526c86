"""Forged proofs of objects that were signed together: what somebody makes of proofs that it has heard, and of its key.

Each kind is a method that draws one object with a proof that does not prove it; genuine ones are drawn beside it, so
that their signature is known, or not yet, when the forged one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec

from thyme.live.trust.authenticator import root_bytes
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.wire.proving import PROOF_BYTES
from thyme.wire.statements import object_statement
from thyme.wire.trees import HASH_BYTES, MAX_STEPS, grown, leaf

SOMEBODY = NodeId(4_000_000)
"""Who is neither the owner nor the forger."""
MOST_STEPS = 255
"""As many as a place of a byte could be thought to name, and more than any tree has."""


class ForgedProofs:
    """Of the objects of several batches, all by one owner, each signed by one signature."""

    def __init__(self, draw: Random, batches: Sequence[Sequence[Metadata]], forger: Identity) -> None:
        assert len(batches) > 1
        assert all(len(batch) > 2 for batch in batches)
        self._draw, self._batches, self._forger = draw, batches, forger
        self.kinds: dict[str, Callable[[Metadata], Metadata]] = {
            "none": self.bare,
            "altered": self.altered,
            "of another of its batch": self.neighbours,
            "of another batch": self.elsewhere,
            "signature of another batch": self.mixed,
            "cut": self.cut,
            "too deep": self.deep,
            "at another place": self.displaced,
            "for something else": self.reused,
            "leaf twice": self.doubled,
            "tree of the forger": self.own_tree,
        }

    def draw(self) -> tuple[str, list[Metadata]]:
        """A kind, and what a message of it tells of: a forged object among genuine ones of its batch."""
        kind = self._draw.choice(list(self.kinds))
        batch = self._draw.choice(self._batches)
        told = self._draw.sample(batch, self._draw.randrange(3))
        told.insert(self._draw.randrange(len(told) + 1), self.kinds[kind](self._draw.choice(batch)))
        return kind, told

    def bare(self, genuine: Metadata) -> Metadata:
        """As its owner itself tells it, and nobody else can."""
        return proved(genuine, b"")

    def altered(self, genuine: Metadata) -> Metadata:
        proof = bytearray(genuine.proof)
        proof[self._draw.randrange(len(proof))] ^= 1 << self._draw.randrange(8)
        return proved(genuine, bytes(proof))

    def neighbours(self, genuine: Metadata) -> Metadata:
        return proved(genuine, self._other(self._batch_of(genuine), genuine).proof)

    def elsewhere(self, genuine: Metadata) -> Metadata:
        return proved(genuine, self._draw.choice(self._other_batch(genuine)).proof)

    def mixed(self, genuine: Metadata) -> Metadata:
        signed = self._other_batch(genuine)[0].proof[:PROOF_BYTES]
        return proved(genuine, signed + genuine.proof[PROOF_BYTES:])

    def cut(self, genuine: Metadata) -> Metadata:
        steps = (len(genuine.proof) - PROOF_BYTES) // HASH_BYTES
        steps_bytes = HASH_BYTES * self._draw.randint(1, steps)
        return proved(genuine, genuine.proof[: -self._draw.choice([steps_bytes, self._draw.randrange(1, PROOF_BYTES)])])

    def deep(self, genuine: Metadata) -> Metadata:
        """With steps after the root, or a place and steps that no tree has."""
        more = self._draw.choice([1, 2, MAX_STEPS, self._draw.randrange(1, MOST_STEPS)])
        steps = self._draw.choice([bytes(HASH_BYTES), self._draw.randbytes(HASH_BYTES)]) * more
        place = self._draw.choice([genuine.proof[PROOF_BYTES], 255, 128, self._draw.randrange(256)])
        return proved(genuine, genuine.proof[:PROOF_BYTES] + bytes([place]) + genuine.proof[PROOF_BYTES + 1 :] + steps)

    def displaced(self, genuine: Metadata) -> Metadata:
        place = (genuine.proof[PROOF_BYTES] + self._draw.randrange(1, 256)) % 256
        return proved(genuine, genuine.proof[:PROOF_BYTES] + bytes([place]) + genuine.proof[PROOF_BYTES + 1 :])

    def reused(self, genuine: Metadata) -> Metadata:
        """Another object, or the same with something else said of it."""
        changes: list[dict[str, Any]] = [
            {"key": ObjectKey(f"fake{self._draw.randrange(99)}", genuine.key.owner)},
            {"key": ObjectKey(genuine.key.oid, SOMEBODY)},
            {"summary": self._draw.randbytes(4)},
            {"published_s": genuine.published_s + 1.0},
            {"size_bytes": genuine.size_bytes + 1},
            {"tags": (*genuine.tags, "zz")},
            {"seal": self._draw.randbytes(len(genuine.digest)) + genuine.proof},
        ]
        return msgspec.structs.replace(genuine, **self._draw.choice(changes))

    def doubled(self, genuine: Metadata) -> Metadata:
        """Beside itself, as the last of an odd number is in trees of another kind, by the signature of its batch."""
        hashed = leaf(object_statement(genuine).said)
        _, ways = grown([hashed] * self._draw.choice([2, 3, 4]))
        return proved(genuine, genuine.proof[:PROOF_BYTES] + self._draw.choice(ways))

    def own_tree(self, genuine: Metadata) -> Metadata:
        """Signed by the forger in the owner's name, some leaves twice; with its key, or with the owner's beside it."""
        fake = msgspec.structs.replace(genuine, key=ObjectKey(f"fake{self._draw.randrange(99)}", genuine.key.owner))
        batch = [fake, *self._draw.choices(self._batch_of(genuine), k=3), fake]
        root, ways = grown([leaf(object_statement(one).said) for one in batch])
        signature = self._forger.sign(root_bytes(Namespace.open().context, genuine.key.owner, root))
        public = self._draw.choice([self._forger.public, genuine.proof[: len(self._forger.public)]])
        return proved(fake, public + signature + self._draw.choice([ways[0], ways[-1]]))

    def _batch_of(self, genuine: Metadata) -> Sequence[Metadata]:
        return next(batch for batch in self._batches if genuine in batch)

    def _other_batch(self, genuine: Metadata) -> Sequence[Metadata]:
        return self._draw.choice([batch for batch in self._batches if genuine not in batch])

    def _other(self, batch: Sequence[Metadata], genuine: Metadata) -> Metadata:
        return self._draw.choice([one for one in batch if one != genuine])


def proved(metadata: Metadata, proof: bytes) -> Metadata:
    """The same with another proof."""
    return msgspec.structs.replace(metadata, seal=metadata.digest + proof)
