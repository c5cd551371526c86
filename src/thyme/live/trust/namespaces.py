"""Namespaces: crowds that share a place and nothing else (Thyme FGCS §7.2).

A namespace has a name and a secret, from which the number follows that every datagram carries, and the key by which
datagrams are sealed. The secret of an open namespace follows from its name: everybody can join, and the key guards
against accidents only. That of a closed one comes from a passphrase (Argon2id) or is drawn, and is handed on in an
invitation: a line of text that fits a QR code, with the approach and the area that members go by.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from hashlib import blake2b
from secrets import token_bytes
from typing import Any

import msgspec
from nacl import pwhash

from thyme.model.errors import InputError

SECRET_BYTES = 32
MAX_NAME_CHARS = 64
DEFAULT_NAME = "thyme"
SCHEME = "thyme:"
"""How an invitation begins."""
LEAST_PASSPHRASE_CHARS = 8
MAX_INVITATION_CHARS = 2_000
"""Within what one QR code holds."""
MAX_DERIVED = 16
"""Secrets of passphrases that are remembered, since each takes a tenth of a second."""


class Namespace(msgspec.Struct, frozen=True):
    name: str
    secret: bytes
    closed: bool = False
    approach: str = ""
    """What members run; nothing if the invitation does not say."""
    settings: dict[str, Any] = {}
    """Of the approach: the area and the size of cells, for one that has cells."""

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > MAX_NAME_CHARS or not self.name.isprintable():
            raise InputError(f"namespace {self.name!r}: give a name of 1 to {MAX_NAME_CHARS} printable characters")

    @classmethod
    def open(cls, name: str = DEFAULT_NAME) -> Namespace:
        """One that everybody can join who knows its name."""
        return cls(name, _derived(name.encode(), b"thyme open"))

    @classmethod
    def with_passphrase(cls, name: str, passphrase: str) -> Namespace:
        if len(passphrase) < LEAST_PASSPHRASE_CHARS:
            raise InputError(
                f"the passphrase of namespace {name!r} has {len(passphrase)} characters; give at least "
                f"{LEAST_PASSPHRASE_CHARS}, better four words that nobody would guess"
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
            raise InputError(wrong) from error
        if len(namespace.secret) != SECRET_BYTES:
            raise InputError(wrong)
        return cls(namespace.name, namespace.secret, namespace.closed, namespace.approach, namespace.settings)

    def invitation(self) -> str:
        """What lets somebody in: to be shown to those who may come, and to nobody else."""
        coded = msgspec.msgpack.encode(_Invitation(self.name, self.secret, self.closed, self.approach, self.settings))
        return SCHEME + urlsafe_b64encode(coded).decode().rstrip("=")

    def changed(self) -> Namespace:
        """The same with a new secret, for all but who is shut out: invite the others again."""
        return msgspec.structs.replace(self, secret=token_bytes(SECRET_BYTES), closed=True)

    @property
    def number(self) -> int:
        """What every datagram carries; it says nothing about the secret."""
        return int.from_bytes(_derived(self.secret, b"thyme number")[:8], "big")

    @property
    def frame_key(self) -> bytes:
        return _derived(self.secret, b"thyme frames")

    @property
    def folder(self) -> str:
        """A name for files that tells namespaces apart."""
        plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in self.name)[:24]
        return f"{plain}-{_derived(self.name.encode(), b'thyme folder')[:4].hex()}"


class _Invitation(msgspec.Struct, frozen=True, array_like=True):
    name: str
    secret: bytes
    closed: bool
    approach: str = ""
    settings: dict[str, Any] = {}


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
    """There is nobody to keep a salt for all members, so the name is it."""
    salt = blake2b(name.encode(), digest_size=pwhash.argon2id.SALTBYTES, person=b"thyme salt").digest()
    return bytes(
        pwhash.argon2id.kdf(
            SECRET_BYTES,
            passphrase.encode(),
            salt,
            opslimit=pwhash.argon2id.OPSLIMIT_INTERACTIVE,
            memlimit=pwhash.argon2id.MEMLIMIT_INTERACTIVE,
        )
    )
