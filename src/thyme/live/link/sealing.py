"""Seals: every datagram names its namespace and is encrypted with the namespace's key (XChaCha20-Poly1305).

A datagram is a magic word, the link's version, the namespace's number, a random nonce and the sealed rest. Nobody
outside a closed namespace can read, make or alter it; it shows only its size and its time. Everybody knows the key of
an open namespace: there the seal detects accidents, and sessions and signatures protect what members say.

After a renewal of the key (`trust.renewals`), a node also accepts the key before it for a while, and uses it towards
addresses that are behind, which do not have the new one yet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from os import urandom

from thyme.live.link.addresses import Address
from thyme.live.trust.namespaces import Namespace
from thyme.live.trust.sodium import RANDOM_NONCE_BYTES, TAG_BYTES, seal, unseal
from thyme.model.bounded import Bounded

MAGIC = b"TL"
LINK_VERSION = 9
VERSION_AT = len(MAGIC)
"""Where a datagram says its version."""
_OUTSIDE = struct.Struct("!2sBQ")
_SEALED_FROM = _OUTSIDE.size + RANDOM_NONCE_BYTES
SEAL_BYTES = _SEALED_FROM + TAG_BYTES
MAX_BEHIND = 4_096
"""Addresses that still use the key before the last renewal."""


class FrameError(ValueError):
    """The datagram is not a frame of this link."""


class Seal:
    """Of one namespace."""

    def __init__(self, namespace: int, key: bytes, entropy: Callable[[int], bytes] = urandom) -> None:
        """`entropy` draws nonces."""
        self._entropy = entropy
        self._outside = _OUTSIDE.pack(MAGIC, LINK_VERSION, namespace)
        self._key = key

    def close(self, frame: bytes) -> bytes:
        outside, nonce = self._outside, self._entropy(RANDOM_NONCE_BYTES)
        return outside + nonce + seal(frame, outside, nonce, self._key)

    def is_of(self, datagram: bytes) -> bool:
        """Whether the datagram names this namespace and this key."""
        return datagram.startswith(self._outside)

    def open(self, datagram: bytes) -> bytes:
        """FrameError says in a few fixed words why it cannot be read."""
        if not datagram.startswith(self._outside):
            raise FrameError(_why(datagram, self._outside))
        if len(datagram) < SEAL_BYTES:
            raise FrameError("too short")
        nonce, sealed = datagram[_OUTSIDE.size : _SEALED_FROM], datagram[_SEALED_FROM:]
        frame = unseal(sealed, self._outside, nonce, self._key)
        if frame is None:
            raise FrameError("a broken seal")
        return frame


class Seals:
    """Of one namespace, whose key may be renewed."""

    def __init__(self, namespace: Namespace, entropy: Callable[[int], bytes] = urandom) -> None:
        self._entropy = entropy
        self._latest = Seal(namespace.number, namespace.frame_key, entropy)
        self._former: Seal | None = None
        self._behind: Bounded[Address, None] = Bounded(MAX_BEHIND)
        """They are sent the former seal."""

    def close(self, frame: bytes, address: Address | None) -> bytes:
        """For an address, or for everybody."""
        if self._former is not None and address in self._behind:
            return self._former.close(frame)
        return self._latest.close(frame)

    def open(self, datagram: bytes) -> tuple[bytes, bool]:
        """What is in it, and whether it was sealed with the former key. FrameError says in a few fixed words why it
        cannot be read."""
        if self._former is not None and self._former.is_of(datagram):
            return self._former.open(datagram), True
        return self._latest.open(datagram), False

    def is_behind(self, address: Address) -> bool:
        return address in self._behind

    def note(self, address: Address, *, behind: bool) -> None:
        if not behind:
            self._behind.pop(address, None)
        elif self._former is not None:
            self._behind[address] = None

    def renew(self, namespace: Namespace, behind: Iterable[Address]) -> None:
        """Take the namespace's new key, and use the one so far towards these addresses."""
        self._former = self._latest
        self._latest = Seal(namespace.number, namespace.frame_key, self._entropy)
        self._behind.clear()
        for address in behind:
            self._behind[address] = None

    def forget_former(self) -> None:
        self._former = None
        self._behind.clear()


def _why(datagram: bytes, expected: bytes) -> str:
    if len(datagram) < SEAL_BYTES:
        return "too short"
    if not datagram.startswith(MAGIC):
        return "not a frame"
    return "another link version" if datagram[VERSION_AT] != expected[VERSION_AT] else "another namespace"
