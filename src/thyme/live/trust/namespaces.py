"""Namespaces: crowds that share a place and nothing else (Thyme FGCS §7.2).

A namespace has a name and a secret, from which the number follows that every datagram carries, and the key by which
datagrams are sealed. The secret of an open namespace follows from its name: everybody can join, and the key guards
against accidents only. That of a closed one comes from a passphrase (Argon2id) or is drawn, and is passed on in an
invitation: a line of text that fits a QR code, with the approach of the namespace and its area.
"""

from __future__ import annotations

import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from secrets import token_bytes
from typing import Any

import msgspec
from nacl import pwhash

from thyme.live.trust.sodium import PUBLIC_BYTES
from thyme.model.areas import Area
from thyme.model.errors import InputError

logger = logging.getLogger("thyme.live")

SECRET_BYTES = 32
CONTEXT_BYTES = 16
MAX_NAME_CHARS = 64
DEFAULT_NAME = "thyme"
SCHEME = "thyme:"
"""How an invitation begins."""
LEAST_PASSPHRASE_CHARS = 8
SHORT_PASSPHRASE_CHARS = 16
"""Below this, a warning: an attacker who recorded a datagram can try passphrases offline."""
STRETCH_PASSES, STRETCH_BYTES = 4, 128 * 2**20
"""Of Argon2id: 0.3 s of a laptop's time for each try, and memory that a small board has."""
MAX_INVITATION_CHARS = 2_000
"""Within what one QR code holds."""
MAX_DERIVED = 16
"""Secrets of passphrases that are remembered, since each takes long."""


class Namespace(msgspec.Struct, frozen=True):
    name: str
    secret: bytes
    closed: bool = False
    approach: str = ""
    """What members run; nothing if the invitation does not say."""
    settings: dict[str, Any] = {}
    """Of the approach; `trust.approach_choice` adds the grid that follows from the area."""
    origin: bytes = b""
    """What signatures named before the secret was changed, and still do."""
    area: Area | None = None
    """Where on Earth its members are; nothing in invitations of version 0.1, or if only metres are known."""
    creator: bytes = b""
    """Public key of the device that drew the first secret, or that excluded somebody: members take a new key from it
    (`renewals`). Nothing in invitations of version 0.2."""
    epoch: int = 0
    """How often the secret was changed."""

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > MAX_NAME_CHARS or not self.name.isprintable():
            raise InputError(f"namespace {self.name!r}: give a name of 1 to {MAX_NAME_CHARS} printable characters")

    @classmethod
    def open(cls, name: str = DEFAULT_NAME) -> Namespace:
        """A namespace that everyone can join who knows its name."""
        return cls(name, _derived(name.encode(), b"thyme open"))

    @classmethod
    def with_passphrase(cls, name: str, passphrase: str) -> Namespace:
        if len(passphrase) < LEAST_PASSPHRASE_CHARS:
            raise InputError(
                f"the passphrase of namespace {name!r} has {len(passphrase)} characters; give at least "
                f"{LEAST_PASSPHRASE_CHARS}, better four words that nobody would guess"
            )
        if len(passphrase) < SHORT_PASSPHRASE_CHARS:
            logger.warning(
                "the passphrase of namespace %r is short (%d characters): whoever records a datagram can guess it. "
                "Choose four words that nobody would guess, or an invitation (thyme namespace invite)",
                name,
                len(passphrase),
            )
        return cls(name, _stretched(name, passphrase), closed=True)

    @classmethod
    def drawn(cls, name: str, approach: str = "", settings: dict[str, Any] | None = None) -> Namespace:
        """A closed one with a new secret, to be joined by invitation."""
        return cls(name, token_bytes(SECRET_BYTES), True, approach, settings or {})

    @classmethod
    def invited(cls, text: str) -> Namespace:
        """The one that an invitation is about."""
        wrong = f"{text[:40]!r} is not an invitation; expected the line that `thyme namespace invite` prints"
        if not text.startswith(SCHEME) or len(text) > MAX_INVITATION_CHARS:
            raise InputError(wrong)
        try:
            coded = text.removeprefix(SCHEME).encode("ascii")
            namespace = msgspec.convert(msgspec.msgpack.decode(urlsafe_b64decode(coded + b"==")), _Invitation)
        except (ValueError, msgspec.MsgspecError) as error:
            raise InputError(f"{wrong} ({error})") from error
        sizes = (len(namespace.secret), len(namespace.origin), len(namespace.creator))
        if sizes not in product((SECRET_BYTES,), (0, CONTEXT_BYTES), (0, PUBLIC_BYTES)) or namespace.epoch < 0:
            raise InputError(wrong)
        return cls(*msgspec.structs.astuple(namespace))

    def invitation(self) -> str:
        """The invitation: a secret to show only to people who may join."""
        coded = msgspec.msgpack.encode(_Invitation(*msgspec.structs.astuple(self)))
        return SCHEME + urlsafe_b64encode(coded).decode().rstrip("=")

    def renewed(self, creator: bytes) -> Namespace:
        """The same with a new secret. Members take later ones from the device with this public key."""
        secret, epoch = token_bytes(SECRET_BYTES), self.epoch + 1
        return msgspec.structs.replace(
            self, secret=secret, closed=True, origin=self.context, creator=creator, epoch=epoch
        )

    def supersedes(self, other: Namespace) -> bool:
        """Whether it is the same namespace with a later secret."""
        return (self.name, self.context) == (other.name, other.context) and self.epoch > other.epoch

    @property
    def context(self) -> bytes:
        """What signatures of members name, also after the secret was changed."""
        return self.origin or _derived(self.secret, b"thyme signing")[:CONTEXT_BYTES]

    @property
    def number(self) -> int:
        """What every datagram carries; it says nothing about the secret."""
        return int.from_bytes(_derived(self.secret, b"thyme number")[:8], "big")

    @property
    def frame_key(self) -> bytes:
        return _derived(self.secret, b"thyme frames")

    @property
    def folder(self) -> str:
        """A file name that is unique to the namespace."""
        plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in self.name)[:24]
        return f"{plain}-{_derived(self.name.encode(), b'thyme folder')[:4].hex()}"


class _Invitation(msgspec.Struct, frozen=True, array_like=True):
    name: str
    secret: bytes
    closed: bool
    approach: str = ""
    settings: dict[str, Any] = {}
    origin: bytes = b""
    area: Area | None = None
    creator: bytes = b""
    epoch: int = 0


def namespace_of(text: str, passphrase: str = "") -> Namespace:
    """What a person named: an invitation, a closed namespace with its passphrase, or an open one."""
    if text.startswith(SCHEME):
        if passphrase:
            raise InputError("an invitation needs no passphrase; give one of the two")
        return Namespace.invited(text)
    return Namespace.with_passphrase(text, passphrase) if passphrase else Namespace.open(text)


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(secret, digest_size=SECRET_BYTES, person=purpose).digest()


@lru_cache(MAX_DERIVED)
def _stretched(name: str, passphrase: str) -> bytes:
    """No member could keep a salt for all others, so the name is the salt."""
    salt = blake2b(name.encode(), digest_size=pwhash.argon2id.SALTBYTES, person=b"thyme salt").digest()
    return bytes(
        pwhash.argon2id.kdf(
            SECRET_BYTES,
            passphrase.encode(),
            salt,
            opslimit=STRETCH_PASSES,
            memlimit=STRETCH_BYTES,
        )
    )
