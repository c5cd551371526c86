"""Identity: an Ed25519 key is the node, and the node's number derives from it.

A key is drawn at the first start and kept in the node's folder, readable by its owner alone. The number is 2⁶² plus 62
bits of a hash of the public key: wide enough that nobody finds a second key for a number, and no wider than messages
carry. So a public key proves its number, and no directory of keys is needed.

A number that was given by hand (below 2³², for tests and emulations) has a key that everybody can compute: such nodes
use the same protocol, and anyone can impersonate them.
"""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes

from nacl import bindings

from thyme.live.trust.sodium import PUBLIC_BYTES, sign
from thyme.model.errors import InputError
from thyme.model.ids import NodeId

SEED_BYTES = 32
FIRST_DERIVED = 2**62
GIVEN_IDS = 2**32
"""Numbers that may be given by hand are below this."""
KEY_FILE = "identity.key"
MAX_GIVEN_KEYS = 1_024


class Identity:
    """A node's secret and what follows from it."""

    def __init__(self, seed: bytes, node: NodeId | None = None) -> None:
        self.public, self._secret = bindings.crypto_sign_seed_keypair(seed)
        self.node = node_of(self.public) if node is None else node
        self._exchange = bindings.crypto_sign_ed25519_sk_to_curve25519(self._secret)

    @classmethod
    def new(cls) -> Identity:
        return cls(token_bytes(SEED_BYTES))

    @classmethod
    def given(cls, node: int) -> Identity:
        """That of a number given by hand, which protects nothing."""
        return cls(_given_seed(node), NodeId(node))

    def sign(self, statement: bytes) -> bytes:
        return sign(statement, self._secret)

    def shared_with(self, public: bytes) -> bytes | None:
        """A secret that only this node and the one with that key know; None if that is no key."""
        try:
            theirs = bindings.crypto_sign_ed25519_pk_to_curve25519(public)
            return bytes(bindings.crypto_scalarmult(self._exchange, theirs))
        except (RuntimeError, ValueError, TypeError):  # a point of no use
            return None


def node_of(public: bytes) -> NodeId:
    """The node number that derives from a public key."""
    digest = blake2b(public, digest_size=8, person=b"thyme node").digest()
    return NodeId(FIRST_DERIVED + (int.from_bytes(digest, "big") >> 2))


def belongs(node: int, public: bytes) -> bool:
    """Whether a public key is that of a node."""
    if node >= FIRST_DERIVED:
        return len(public) == PUBLIC_BYTES and node_of(public) == node
    return 0 <= node < GIVEN_IDS and public == _given_public(node)


def kept_identity(folder: Path) -> Identity:
    """The identity in this folder; a new one if there is none. InputError if it cannot be read or kept."""
    path = folder / KEY_FILE
    try:
        if not path.exists():
            folder.mkdir(0o700, parents=True, exist_ok=True)
            _write_new(path)
        seed = path.read_bytes()
    except OSError as error:
        raise InputError(f"the key of this node cannot be saved in {path}: {error.strerror or error}") from error
    if len(seed) != SEED_BYTES:
        raise InputError(
            f"{path} is not a key: it has {len(seed)} bytes instead of {SEED_BYTES}. Restore the right one; with "
            f"another key, this device is another node and cannot delete what it inserted"
        )
    return Identity(seed)


def _write_new(path: Path) -> None:
    """Whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(token_bytes(SEED_BYTES))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _given_seed(node: int) -> bytes:
    return blake2b(str(node).encode(), digest_size=SEED_BYTES, person=b"thyme by hand").digest()


@lru_cache(MAX_GIVEN_KEYS)
def _given_public(node: int) -> bytes:
    return bytes(bindings.crypto_sign_seed_keypair(_given_seed(node))[0])
